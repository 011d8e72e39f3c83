"""Reads the configurations of a study from a results folder, with the measurements at each load level."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from towtank.analysis import (
    SET_ASIDE_SUFFIX,
    STUDY_SUMMARY_FILE,
    Estimate,
    LoadPoint,
    ObjectiveAnswer,
    RunSummary,
    StudySummary,
    configurations_of,
    describe_study,
    standard_error_of,
    summaries_of,
)
from towtank.documents import malformed, record_of
from towtank.errors import MeasurementError, StudyError
from towtank.model.demand_file import ExcludedRun
from towtank.model.fitting.audit import Finding, Quantities, audit
from towtank.model.fitting.observations import Floats, Observations, observations, pooled_errors
from towtank.model.fitting.summary_points import read_point
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder, RunManifest, TierForm, read_object
from towtank.units import shown


@dataclass(frozen=True)
class Resource:
    """CPUs that one or several tiers share, or a disk, which has one server and no tiers.

    Attributes
    ----------
    name : str
        Names of the tiers, joined by `+`.
    servers : int
        Number of CPUs; rounded up if a quota allows a fraction of a CPU. [1]
    part : float
        Share of each server that a CPU quota allows, in (0, 1]. With a quota of a tenth of a CPU, the resource is one
        server at which a transaction takes ten times its CPU time. The busy time of the servers is CPU time divided by
        this share. [ratio]
    """

    name: str
    servers: int
    tiers: tuple[str, ...]
    part: float = 1.0

    @property
    def capacity(self) -> float:
        """Highest number of busy servers that the CPU quota allows. [1]"""
        return self.servers * self.part

    @property
    def kind(self) -> str:
        """Kind of the resource: `cpu` or `disk`."""
        return "cpu" if self.tiers else "disk"


@dataclass
class Configuration:
    """Configuration of a study with the measurements at each load level.

    Attributes
    ----------
    key : dict
        Levels of the factors other than the load.
    points : list of LoadPoint
        Load points of runs that passed the audit, in ascending order of load.
    findings : list of Finding
        Audit findings of all runs.
    excluded : list of ExcludedRun
        Runs that are not modelled.
    objectives : list of ObjectiveAnswer
        Objectives of the study summary, with measured values.
    runs : list of RunSummary
        Summaries of the runs that passed the audit.
    folders : list of RunFolder
        Folders of these runs; empty if only a study summary is available.
    """

    label: str
    key: dict[str, str]
    points: list[LoadPoint]
    findings: list[Finding] = field(default_factory=list)
    excluded: list[ExcludedRun] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    objectives: list[ObjectiveAnswer] = field(default_factory=list)
    runs: list[RunSummary] = field(default_factory=list)
    folders: list[RunFolder] = field(default_factory=list)

    @property
    def observations(self) -> Observations:
        """Measured points for the fit of a curve: one point with standard errors for each load level."""
        rate = [point.throughput_per_s for point in self.points]
        response = [point.response_time_s.mean for point in self.points]
        think = [point.think_time_s for point in self.points]
        timed = all(estimate.value for estimate in response)
        busy, busy_error = self._busy()
        return observations(
            np.array([point.level for point in self.points]),
            _values(rate),
            error=_errors(rate),
            response=_values(response) if timed else None,
            response_error=_errors(response) if timed else None,
            think=np.array(think, dtype=float) if all(time is not None for time in think) else None,
            busy=busy,
            busy_error=busy_error,
            others=self._others(),
            names=tuple(", ".join(point.runs) for point in self.points),
        )

    def _others(self) -> Floats | None:
        """Return the number of the bottleneck's CPUs that other programs use at each load level; None if this number is
        unknown for any run. [1]

        The CPU use of other programs is measured over all CPUs to which tiers are pinned, and assumed to be
        equal on each of them.
        """
        bottleneck = self.bottleneck()
        shares = {run.run: run.host.foreign_share for run in self.runs}
        if bottleneck is None or not shares:
            return None
        rows = [[shares.get(run) for run in point.runs] for point in self.points]
        if any(share is None for row in rows for share in row):
            return None
        return np.array(
            [bottleneck.servers * float(np.mean([share for share in row if share is not None])) for row in rows]
        )

    def _busy(self) -> tuple[Floats | None, Floats | None]:
        """Return the number of used CPUs of the bottleneck at each load level, and their standard errors. [1]

        Both results are None if the CPU use at any level is unknown or zero. Only the second is None if a standard
        error is unknown.
        """
        bottleneck = self.bottleneck()
        # The fit weights CPU use by its relative error, which is undefined for zero CPU use.
        if bottleneck is None or not (used := self.cpus(bottleneck)).all() or not np.isfinite(used).all():
            return None, None
        squares = np.zeros(len(self.points))
        for tier in bottleneck.tiers:
            errors = _errors([point.cpus_of(tier) for point in self.points])
            if errors is None:
                return used, None
            squares += (errors / bottleneck.part) ** 2
        return used, np.sqrt(squares)

    @property
    def think_s(self) -> float:
        """Mean think time over the measured points; 0 if think time was not measured. [s]"""
        known = [
            (float(point.think_time_s), point.throughput_per_s.value, point.level)
            for point in self.points
            if point.think_time_s is not None
        ]
        found = mean_by_cycle(known)
        return 0.0 if found is None else found

    def cpus(self, resource: Resource) -> Floats:
        """Return the number of busy servers of a resource at each load level; NaN if a tier was not observed. [1]"""
        rows = []
        for point in self.points:
            used = [point.cpus_of(tier).value for tier in resource.tiers]
            rows.append(
                np.nan if any(cpus is None for cpus in used) else sum(cpus for cpus in used if cpus is not None)
            )
        return np.array(rows, dtype=float) / resource.part

    def bottleneck(self) -> Resource | None:
        """Return the resource with the highest utilization at any load; None if no tier used CPU time."""
        found: list[tuple[float, Resource]] = []
        for resource in self.resources:
            used = self.cpus(resource)
            if (used > 0).any():
                found.append((float(np.nanmax(used)) / resource.servers, resource))
        return max(found, key=lambda pair: pair[0])[1] if found else None


def mean_by_cycle(rows: Iterable[tuple[float, float | None, float]]) -> float | None:
    """Return the weighted mean of a quantity over runs of closed systems; None without usable rows.

    Each row is (value, throughput X [1/s], users N). The cycle of a user (think time and response time) takes N / X. In
    a window of fixed length, a longer cycle makes think times and counts of ended transactions less certain. Each value
    therefore has the weight (X / N)^2.
    """
    weighted = [(value, (rate / users) ** 2) for value, rate, users in rows if rate and users]
    if not weighted:
        return None
    values, weights = zip(*weighted, strict=True)
    return float(np.average(values, weights=weights))


def _values(rows: list[Estimate]) -> Floats:
    return np.array([np.nan if estimate.value is None else estimate.value for estimate in rows], dtype=float)


def _errors(rows: list[Estimate]) -> Floats | None:
    """Return the standard errors of estimates; None if any of them is unknown."""
    errors = [standard_error_of(estimate) for estimate in rows]
    if any(error is None or error <= 0 for error in errors):
        return None
    runs = np.array([estimate.n if estimate.method == "runs" else 1 for estimate in rows], dtype=float)
    return pooled_errors(_values(rows), np.array(errors, dtype=float), runs)


def is_results(path: Path) -> bool:
    """Return True if a path is a results folder or a study summary."""
    return (path / STUDY_MANIFEST).is_file() or (path / STUDY_SUMMARY_FILE).is_file() or path.name == STUDY_SUMMARY_FILE


def read_configurations(path: Path) -> list[Configuration]:
    """Read the configurations of a study and audit their runs.

    For a study summary instead of a results folder, only the verdicts on the runs are checked.

    Raises
    ------
    MeasurementError
        If no run is good enough to be modelled.
    """
    if (path / STUDY_MANIFEST).is_file():
        found = _from_runs(ResultsFolder.open(path))
    else:
        found = _from_summary(path if path.name == STUDY_SUMMARY_FILE else path / STUDY_SUMMARY_FILE)
    _refuse_unusable(f"{path}: no run", found)
    return found


def usable_configurations(path: Path, wanted: str | None) -> list[Configuration]:
    """Read the configurations that have a usable run and a label that contains `wanted`; None selects every label. The
    list is empty if no label contains the text.

    Raises
    ------
    MeasurementError
        If no run of the selected configurations is good enough to be modelled.
    """
    named = [each for each in read_configurations(path) if wanted is None or wanted in each.label]
    if named:
        _refuse_unusable(f"{path}: no run of {'; '.join(each.label for each in named)}", named)
    return [each for each in named if each.points]


def _refuse_unusable(head: str, configurations: Sequence[Configuration]) -> None:
    """Raise an error with the reasons if no run of any of the configurations can be modelled."""
    if not any(configuration.points for configuration in configurations):
        reasons = [f"  {run.run}: {run.why}" for configuration in configurations for run in configuration.excluded]
        raise MeasurementError(
            "\n".join([f"{head} can be modelled:", *reasons]),
            hint="remove the causes that these messages state, and repeat the runs",
        )


def _from_summary(path: Path) -> list[Configuration]:
    """Read a study summary. A malformed point is excluded with the reason, and all other points are modelled."""
    try:
        document = read_object(path)
    except (OSError, ValueError) as error:
        seen = getattr(error, "strerror", None) or error
        raise StudyError.at(path, f"must be a study summary, got {seen}") from None
    if document.get("load_factor") == "rate":
        raise StudyError.at(path, _CLOSED_ONLY)
    if faults := malformed(_SummaryForm, document):
        schema = f"the schema {shown(document['schema'])}" if "schema" in document else "no schema"
        message = f"must be a study summary, got a document with {schema}: {'; '.join(faults.values())}"
        raise StudyError.at(path, message)
    found, entries = [], record_of(_SummaryForm, document).configurations
    named = configurations_of({"configurations": [{"key": entry.key, "label": entry.label} for entry in entries]})
    for configuration, entry in zip(named, entries, strict=True):
        read = [(f"point {number}", *read_point(point)) for number, point in enumerate(entry.points, start=1)]
        usable = [point for _, point, why in read if why is None]
        left = [
            ExcludedRun(", ".join(point.runs) or name, _known(point.level), why) for name, point, why in read if why
        ]
        tiers = dict.fromkeys(tier for point in usable for tier in point.tiers)
        resources = [
            _resource([tier], float(allotted))
            for tier in tiers
            if (allotted := next((p.tiers[tier].cpus_allotted for p in usable if tier in p.tiers), None))
        ]
        found.append(Configuration(configuration.label, configuration.key, usable, [], left, resources))
    return found


def _known(load: float) -> float | None:
    return load if load > 0 and math.isfinite(load) else None


@dataclass(frozen=True)
class _ConfigurationForm:
    points: list[object]
    key: object = None
    label: object = None


@dataclass(frozen=True)
class _SummaryForm:
    configurations: list[_ConfigurationForm]


_CLOSED_ONLY = (
    "must be a study with numbers of users, got a study of arrival rates: with a given rate, the throughput is always "
    "that rate"
)


def _from_runs(results: ResultsFolder) -> list[Configuration]:
    manifest = results.manifest
    folders = [run for run in results.runs() if SET_ASIDE_SUFFIX not in run.run_id]
    summaries = summaries_of(folders)
    whole = describe_study(manifest, list(summaries.values()))
    if whole["load_factor"] == "rate" or any(summary.get("rate") for summary in summaries.values()):
        raise StudyError.at(results.path, _CLOSED_ONLY)
    study, found = StudySummary.model_validate(whole), []
    for configuration in study.configurations:
        loads = {name: point.level for point in configuration.points for name in point.runs}
        names = list(loads)
        records = {name: RunSummary.read(summaries[name]) for name in names}
        findings, excluded = _judged(records, loads)
        bad = {run.run for run in excluded}
        good = [summaries[name] for name in names if name not in bad]
        described = configurations_of(describe_study(manifest, good)) if good else ()
        points = [point for entry in described if entry.key == configuration.key for point in entry.points]
        objectives = [answer for answer in study.objectives if answer.configuration == configuration.key]
        usable = [record for name, record in records.items() if name not in bad]
        shared = _resources([run for run in folders if run.run_id in set(names)], usable)
        found.append(
            Configuration(
                configuration.label,
                configuration.key,
                points,
                findings,
                excluded,
                shared,
                objectives,
                usable,
                [run for run in folders if run.run_id in names and run.run_id not in bad],
            )
        )
    return found


def _judged(runs: dict[str, RunSummary], loads: dict[str, float]) -> tuple[list[Finding], list[ExcludedRun]]:
    """Return the audit findings of all runs, and the excluded runs. A run is excluded if it is invalid, contains no
    throughput, or contradicts an operational law.
    """
    excluded = []
    usable = {}
    for name, run in runs.items():
        if run.verdict.level == "invalid":
            why = "; ".join(doubt["message"] for doubt in run.verdict.reasons if doubt["level"] == "invalid")
            excluded.append(ExcludedRun(name, run.users.asked, f"invalid: {why}"))
        else:
            usable[name] = run
    findings = audit([quantities for name, run in usable.items() if (quantities := _quantities(name, run)) is not None])
    for name, run in usable.items():
        broken = [finding for finding in findings if finding.name == name and finding.suspect]
        if broken:
            why = "; ".join(finding.message for finding in broken)
            excluded.append(ExcludedRun(name, run.users.asked, f"fails the audit: {why}"))
        elif empty := _empty(run, loads[name]):
            excluded.append(ExcludedRun(name, run.users.asked, empty))
    return findings, excluded


def _empty(run: RunSummary, load: float) -> str | None:
    """Return the reason why a run provides no point of a curve; None if the run provides a point."""
    if run.laws.little is None:
        return "no transaction ended in its window"
    if not run.throughput_per_s.value:
        return "no transaction succeeded in its window"
    return None if load > 0 else "its load is unknown"


def _quantities(name: str, run: RunSummary) -> Quantities | None:
    little = run.laws.little
    if little is None:
        return None
    return Quantities(
        name,
        little.n,
        little.x_per_s,
        little.r_s,
        little.z_s,
        run.users.asked,
        little.limit,
        {tier: use.cpus_used.value for tier, use in run.tiers.items() if use.cpus_used.value},
        {law.tier: (law.residual, law.limit) for law in run.laws.utilization if law.holds is False},
        little.holds is not None,
    )


def _resources(folders: list[RunFolder], summaries: list[RunSummary]) -> list[Resource]:
    """Group the tiers by the CPUs that they share.

    Tiers that are pinned to the same CPUs share these CPUs. Tiers without pinning share the CPU quota of their control
    group. If no control group limits them, they share all other CPUs.
    """
    allotted = {
        tier: float(use.cpus_allotted) for run in summaries for tier, use in run.tiers.items() if use.cpus_allotted
    }
    limited = {tier: use.cpu_control_group for run in summaries for tier, use in run.tiers.items()}
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    declared = {tier: form for run in folders for tier, form in _tiers(run).items()}
    for tier in allotted:
        form = declared.get(tier)
        cpus = tuple((form and form.cpus) or ())
        groups[form and form.host, cpus, None if cpus else limited.get(tier)].append(tier)
    return [_resource(tiers, max(allotted[tier] for tier in tiers)) for tiers in groups.values()]


def _resource(tiers: list[str], allotted: float) -> Resource:
    """Return the CPUs that the given tiers share as a resource. A quota of 1.5 CPUs, for example, becomes two servers
    of three quarters of a CPU each.
    """
    servers = max(1, math.ceil(allotted - 1e-9))
    return Resource("+".join(tiers), servers, tuple(tiers), min(1.0, allotted / servers))


def _tiers(run: RunFolder) -> Mapping[str, TierForm]:
    """Return the tiers in the manifest of a run; an empty dict if the manifest is incomplete."""
    return RunManifest.model_validate(run.usable_manifest()[0]).tiers or {}
