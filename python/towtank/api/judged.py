"""Judgements: objectives, claims and comparisons of a study, and results of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.api.measured import Doubt, Times
from towtank.api.quantity import COUNT, PER_SECOND, SECONDS, Quantity, estimate, number

if TYPE_CHECKING:
    import os

    from towtank.analysis import Judged as FileJudged
    from towtank.report.source import Results as Source

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Objective:
    """Objective of a study, judged in one configuration.

    Attributes
    ----------
    text : str
        Text of the objective, for example `p95 of search < 1 s`.
    configuration : str
        Label of the configuration; empty if there is only one.
    met : bool or None
        True if the objective is met; None if the objective could not be judged.
    seen : Quantity or None
        Worst value over the loads, with its interval. [s], [1/s] or [ratio]
    limit : Quantity or None
        Limit of the objective, in the unit of `seen`.
    at : str
        Load and configuration of `seen`.
    verdict : str
        Verdict of the whole measurement.
    """

    text: str
    configuration: str
    met: bool | None
    seen: Quantity | None
    limit: Quantity | None
    at: str
    verdict: str

    def __str__(self) -> str:
        outcome = {True: "met", False: "missed", None: "not judged"}[self.met]
        value = "" if self.seen is None else f", {self.seen} at {self.at}"
        where = f" ({self.configuration})" if self.configuration else ""
        return f"{self.text}{where}: {outcome}{value}; the measurement is {self.verdict}"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class Comparison:
    """Comparison of two configurations at the same load.

    Attributes
    ----------
    metric : str
        Name of the compared metric, for example `throughput_per_s` or `cpu_demand_s of TIER`.
    factor, base, other : str
        The factor, the first level of the factor, and the level compared with the first.
    load : float
        Number of users [1], or arrival rate [1/s].
    ratio : Quantity or None
        Value at `other` divided by the value at `base`, with its interval. [1]
    differs : bool or None
        True if the interval over repeated runs excludes 1; None if either level has a single run.
    assumed_differs : bool or None
        True if the interval of single runs excludes 1, with an assumed difference from run to run; None for repeated
        runs.
    """

    metric: str
    factor: str
    base: str
    other: str
    load: float
    ratio: Quantity | None
    differs: bool | None
    assumed_differs: bool | None


@dataclass(frozen=True)
class Claim:
    """Claim of a study with its verdict.

    Attributes
    ----------
    says : str
        The claim in words.
    verdict : str
        `confirmed`, `refuted`, `undecided` or `not_testable`.
    measured : Quantity or None
        Value that decides the claim, in the unit of the claim.
    holds : str
        Condition that the measured value must meet.
    why : str
        Reason why the claim is refuted or undecided, or cannot be tested.
    do : str
        Step that would decide the claim; empty if the claim is decided.
    doubts : tuple of str
        Doubts about the runs behind the verdict; empty if all are valid.
    """

    says: str
    verdict: str
    measured: Quantity | None
    holds: str
    why: str
    do: str = ""
    doubts: tuple[str, ...] = ()


class Judged:
    """Judgement of a result file of any tool, as `towtank judge` prints it."""

    def __init__(self, judged: FileJudged) -> None:
        self._judged = judged

    @property
    def document(self) -> Mapping[str, object]:
        """Complete judgement, an entry of `files` of `towtank judge --json`."""
        return self._judged.document()

    @property
    def file(self) -> str:
        """Name of the file."""
        return str(self._judged.file)

    @property
    def form(self) -> str:
        """Form of the file, for example `k6 JSON`."""
        return self._judged.form

    @property
    def verdict(self) -> str:
        """`valid`, `suspect` or `invalid`."""
        return self._judged.verdict

    @property
    def valid(self) -> bool:
        """True if the figures may be used: they are valid, or suspect with named doubts."""
        return self.verdict != "invalid"

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts that the data show."""
        return tuple(Doubt.of(doubt.document()) for doubt in self._judged.doubts)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """Analysed window, from the first start; None for a file of summaries. [s]"""
        return self._judged.window_s

    @property
    def requests(self) -> int | None:
        """Number of requests of the whole file; None if it is not known. [1]"""
        return self._judged.requests

    @property
    def errors(self) -> int | None:
        """Number of failed requests of the whole file; None if it is not known. [1]"""
        return self._judged.errors

    @property
    def throughput_per_s(self) -> Quantity | None:
        """Rate of successful requests in the window. [1/s]"""
        return estimate(self._judged.figures.throughput_per_s.document(), PER_SECOND, f"throughput of {self.file}")

    @property
    def response_time_ms(self) -> Times:
        """Response times of the requests that started in the window, in milliseconds. [ms]"""
        return Times.of(
            {name: found.document() for name, found in self._judged.figures.response_time_s.items()}, f" of {self.file}"
        ).in_ms()

    def __repr__(self) -> str:
        figures = f"{self.throughput_per_s}, p95 {self.response_time_ms.p95}"
        return f"<Judged {self.file}: {self.form}, {self.verdict}, {figures}>"


def judge(path: str | os.PathLike[str]) -> Judged:
    """Judge a result file of any tool: steady window, intervals that hold, doubts that the data show.

    Parameters
    ----------
    path : path
        Result file of k6, JMeter, Locust, Gatling, hey, oha, vegeta, wrk2, fio or pgbench, or a CSV with the columns
        `start_s` and `elapsed_ms`. The content decides the form.

    Returns
    -------
    Judged

    Raises
    ------
    StudyError
        If the file cannot be read, or its form is not recognised.
    """
    from towtank.analysis import judge as judge_file  # noqa: PLC0415 - imports the analysis

    return Judged(judge_file(Path(path)))


def objective_of(source: Source, found: Json) -> Objective:
    """Read an objective, with its outcome, from a study summary."""
    from towtank.report.objectives import unit_of  # noqa: PLC0415 - imports the analysis

    declared = source.study.get("objectives") or ()
    asked: Json = next((each for each in declared if each.get("text") == found.get("text")), {})
    unit = unit_of(asked.get("metric") or found.get("metric")) or COUNT
    label, at = str(found.get("label") or ""), found.get("at") or {}
    level = str((source.summary.get("verdict") or {}).get("level") or "none")
    return Objective(
        str(found.get("text", "")),
        label if found.get("configuration") else "",
        found.get("met"),
        _seen(source, {**asked, **found}, unit),
        number(found.get("limit"), unit),
        ", ".join(f"{name} {value}" for name, value in at.items()),
        level,
    )


def _seen(source: Source, objective: Json, unit: str) -> Quantity | None:
    """Return the value that decided an objective, with the interval at the load of that value."""
    from towtank.analysis.objective_scopes import is_scoped  # noqa: PLC0415 - imports the analysis
    from towtank.analysis.objectives import estimate_at  # noqa: PLC0415

    seen, at = objective.get("seen"), objective.get("at") or {}
    load = next((at[name] for name in ("users", "rate") if name in at), None)
    for configuration in source.configurations:
        for point in configuration["points"] if configuration.get("label") == objective.get("label") else ():
            if point.get("load") == load and not is_scoped(dict(objective)):
                found = estimate_at(point, dict(objective))
                if found.value == seen:
                    return estimate(found.document(), unit, str(objective.get("text", "")))
    return number(seen, unit, str(objective.get("text", "")))


def claim_of(found: Json) -> Claim:
    """Read a claim and its verdict from `claims.json`."""
    units = {"s": SECONDS, "/s": PER_SECOND, "B": "byte"}
    unit = units.get(str(found.get("unit") or ""), str(found.get("unit") or COUNT))
    measured = estimate(found.get("measured"), unit, str(found.get("says", "")))
    holds, why, remedy = (str(found.get(key) or "") for key in ("holds", "why", "do"))
    doubts = tuple(map(str, found.get("doubts") or ()))
    return Claim(str(found.get("says", "")), str(found.get("verdict", "")), measured, holds, why, remedy, doubts)


def comparison_of(found: Json) -> Comparison:
    """Read a comparison of two configurations from a study summary."""
    assumed = found.get("assumed") or {}
    return Comparison(
        str(found["metric"]),
        str(found["factor"]),
        str(found["from"]),
        str(found["to"]),
        float(found["load"]),
        estimate(found.get("ratio"), COUNT, f"{found['metric']}: {found['to']} over {found['from']}"),
        found.get("differs"),
        assumed.get("differs"),
    )
