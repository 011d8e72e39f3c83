"""Objectives, claims and comparisons of a study, and verdicts on result files of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.api import notebook
from towtank.api.measured import Doubt, Times, Verdict
from towtank.api.quantity import COUNT, PER_SECOND, SECONDS, Quantity, estimate, number
from towtank.digging import dig

if TYPE_CHECKING:
    from towtank.analysis import ClaimVerdict, ObjectiveAnswer
    from towtank.analysis import Comparison as ComparedLevels
    from towtank.analysis import Judged as FileJudged
    from towtank.report import Results as Source


@dataclass(frozen=True)
class Objective:
    """Objective of a study, with its outcome in one configuration.

    Attributes
    ----------
    text : str
        Text of the objective, for example `p95 of search < 1 s`.
    configuration : str
        Label of the configuration; empty if there is only one.
    met : bool or None
        True if the objective is met; None if this could not be decided.
    seen : Quantity or None
        Worst value over all loads, with its confidence interval. [s], [1/s] or [ratio]
    limit : Quantity or None
        Limit of the objective, in the unit of `seen`.
    at : str
        Load and configuration at which `seen` was measured.
    verdict : Verdict
        Verdict on the whole measurement.
    """

    text: str
    configuration: str
    met: bool | None
    seen: Quantity | None
    limit: Quantity | None
    at: str
    verdict: Verdict

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
        Name of the factor, its base level, and the level that is compared with the base level.
    load : float
        Number of users [1], or arrival rate [1/s].
    ratio : Quantity or None
        Value at the level `other` divided by the value at the level `base`, with its interval. [1]
    differs : bool or None
        True if the interval over repeated runs excludes 1; None if either level has a single run.
    assumed_differs : bool or None
        For levels with a single run: True if the interval, widened by an assumed variation between runs, excludes 1.
        None for repeated runs.
    """

    metric: str
    factor: str
    base: str
    other: str
    load: float
    ratio: Quantity | None
    differs: bool | None
    assumed_differs: bool | None

    def _repr_html_(self) -> str:
        outcome = {True: "differs", False: "same within its interval", None: "not decided"}[self.differs]
        row = (self.metric, f"{self.load:g}", notebook.text(self.ratio), outcome)
        return notebook.page(
            notebook.heading(f"{self.factor}: {self.other} compared with {self.base}"),
            notebook.table(("metric", "load", "ratio", "outcome"), [row]),
        )


@dataclass(frozen=True)
class Claim:
    """Claim of a study with its verdict.

    Attributes
    ----------
    says : str
        Text of the claim.
    verdict : str
        `confirmed`, `refuted`, `undecided` or `not_testable`.
    measured : Quantity or None
        Measured value on which the verdict is based, in the unit of the claim; None if it was not measured.
    holds : str
        Condition on the measured value, for example `< 1 s`.
    why : str
        Reason for a verdict other than `confirmed`.
    do : str
        Advice on how to decide the claim; empty if it is confirmed or refuted.
    doubts : tuple of str
        Doubts about the runs on which the verdict is based; empty if all runs are valid.
    """

    says: str
    verdict: str
    measured: Quantity | None
    holds: str
    why: str
    do: str = ""
    doubts: tuple[str, ...] = ()


class Judged:
    """Evaluation of a result file of any tool, as `towtank judge` prints it."""

    def __init__(self, judged: FileJudged) -> None:
        self._judged = judged

    @property
    def document(self) -> Mapping[str, object]:
        """Complete result for one file: an entry of `files` of `towtank judge --json`."""
        return self._judged.document()

    @property
    def file(self) -> str:
        """Name of the result file."""
        return str(self._judged.file)

    @property
    def form(self) -> str:
        """Format of the result file, for example `k6 JSON`."""
        return self._judged.form

    @property
    def verdict(self) -> Verdict:
        """Verdict on the results, with the doubts that led to the verdict."""
        return Verdict(self._judged.verdict, self.doubts)

    @property
    def valid(self) -> bool:
        """True if the results are valid or suspect, so that they may be used."""
        return self.verdict.valid

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about the results in the file."""
        return tuple(Doubt.of(doubt.document()) for doubt in self._judged.doubts)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """Start and end of the analysed window, relative to the first request; None if the file contains no individual
        requests. [s]
        """
        return self._judged.window_s

    @property
    def requests(self) -> int | None:
        """Number of requests in the whole file; None if the number is not known. [1]"""
        return self._judged.requests

    @property
    def errors(self) -> int | None:
        """Number of failed requests in the whole file; None if the number is not known. [1]"""
        return self._judged.errors

    @property
    def throughput_per_s(self) -> Quantity | None:
        """Rate of successful requests in the analysed window. [1/s]"""
        return estimate(self._judged.figures.throughput_per_s.document(), PER_SECOND, f"throughput of {self.file}")

    @property
    def response_time_ms(self) -> Times:
        """Response times of the requests that started in the analysed window, in milliseconds. [ms]"""
        return Times.of(
            {name: found.document() for name, found in self._judged.figures.response_time_s.items()}, f" of {self.file}"
        ).in_ms()

    def __repr__(self) -> str:
        figures = f"{self.throughput_per_s}, p95 {self.response_time_ms.p95}"
        return f"<Judged {self.file}: {self.form}, {self.verdict}, {figures}>"

    def _repr_html_(self) -> str:
        counts = f"{notebook.text(self.errors)} of {notebook.text(self.requests)} failed"
        return notebook.page(
            notebook.heading(f"{self.file} ({self.form}): {notebook.text(self.throughput_per_s)}, {counts}"),
            notebook.verdict(self.verdict, (doubt.message for doubt in self.doubts)),
            notebook.times(self.response_time_ms),
        )


def judge(path: str | PathLike[str]) -> Judged:
    """Evaluate a result file of any tool: find the steady window, compute confidence intervals, and report doubts.

    Parameters
    ----------
    path : path
        Result file of k6, JMeter, Locust, Gatling, hey, oha, vegeta, wrk2, fio or pgbench, or a CSV file with the
        columns `start_s` and `elapsed_ms`. The format is detected from the content.

    Returns
    -------
    Judged
        Verdict, doubts and results of the file.

    Raises
    ------
    StudyError
        If the file cannot be read, or its format is not recognised.
    """
    from towtank.analysis import judge_file  # noqa: PLC0415 - imports the analysis

    return Judged(judge_file(Path(path)))


def objective_of(source: Source, found: ObjectiveAnswer) -> Objective:
    """Convert an objective in a study summary, with its outcome."""
    from towtank.report import objective_unit  # noqa: PLC0415 - imports the analysis

    declared = source.study.get("objectives") or ()
    asked: Mapping[str, object] = next((each for each in declared if each.get("text") == found.text), {})
    unit = objective_unit(asked.get("metric") or found.metric) or COUNT
    return Objective(
        found.text,
        found.label if found.configuration else "",
        found.met,
        _seen(source, {**asked, **found.model_dump(exclude_unset=True)}, found, unit),
        number(found.limit, unit),
        ", ".join(f"{name} {value}" for name, value in found.at.items()),
        Verdict.of(dig(source.summary, "verdict")),
    )


def _seen(source: Source, objective: Mapping[str, object], answer: ObjectiveAnswer, unit: str) -> Quantity | None:
    """Return the measured value that decided an objective, with its confidence interval."""
    from towtank.analysis import estimate_at, is_scoped  # noqa: PLC0415 - imports the analysis

    load = next((answer.at[name] for name in ("users", "rate") if name in answer.at), None)
    for configuration in source.summary.get("configurations") or ():
        for point in configuration["points"] if configuration.get("label") == answer.label else ():
            if point.get("load") == load and not is_scoped(objective):
                found = estimate_at(point, objective)
                if found.value == answer.seen:
                    return estimate(found.document(), unit, answer.text)
    return number(answer.seen, unit, answer.text)


def claim_of(found: ClaimVerdict) -> Claim:
    """Return a claim with its verdict."""
    unit = {"s": SECONDS, "/s": PER_SECOND, "B": "byte", "": COUNT}.get(found.unit, found.unit)
    measured = None if found.measured is None else estimate(found.measured.document(), unit, found.says)
    return Claim(found.says, found.verdict, measured, found.holds, found.why, found.do, found.doubts)


def comparison_of(found: ComparedLevels) -> Comparison:
    """Convert a comparison of two configurations in a study summary."""
    about = f"{found.metric}: {found.to_level} over {found.from_level}"
    return Comparison(
        found.metric,
        found.factor,
        found.from_level,
        found.to_level,
        found.level,
        estimate(found.ratio.document(), COUNT, about),
        found.differs,
        None if found.assumed is None else found.assumed.differs,
    )
