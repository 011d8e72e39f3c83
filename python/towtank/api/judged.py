"""Verdicts on the objectives, claims and comparisons of a study, and on result files of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from towtank import units
from towtank.api import notebook
from towtank.api.measured import Doubt, Times, Verdict
from towtank.api.quantity import COUNT, PER_SECOND, SECONDS, Quantity, estimate, number
from towtank.digging import dig
from towtank.errors import StudyError

if TYPE_CHECKING:
    from towtank.analysis import Compared, Finding
    from towtank.analysis import Judged as FileJudged
    from towtank.api.results import Results
    from towtank.report import Results as Source

Json = Mapping[str, Any]
Side: TypeAlias = "str | PathLike[str] | Results | Sequence[str | PathLike[str]]"


@dataclass(frozen=True)
class Objective:
    """Objective of a study, and whether one configuration meets it.

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
        The factor, the first level of the factor, and the level compared with the first.
    load : float
        Number of users [1], or arrival rate [1/s].
    ratio : Quantity or None
        Value at `other` divided by the value at `base`, with its interval. [1]
    differs : bool or None
        True if the interval over repeated runs excludes 1; None if either level has a single run.
    assumed_differs : bool or None
        For levels with a single run: true if the interval, widened by an assumed difference between runs, excludes 1.
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
    """Verdict on a result file of any tool, as `towtank judge` prints it."""

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
        """True if the results may be used: they are valid, or suspect with named doubts."""
        return self.verdict.valid

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about the results in the file."""
        return tuple(Doubt.of(doubt.document()) for doubt in self._judged.doubts)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """Start and end of the analysed window, counted from the first request; None if the file contains only
        summaries. [s]
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
    """Judge a result file of any tool: find the steady window, compute confidence intervals, and report doubts.

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


@dataclass(frozen=True)
class ComparedMetric:
    """Comparison of one metric between two results, A and B.

    Attributes
    ----------
    name : str
        `throughput`, `response_time_mean`, `response_time_p50`, `response_time_p95`, `response_time_p99`,
        `cpu_per_transaction` or `errors`.
    transaction : str or None
        Name of the transaction; None for all transactions together.
    ratio : Quantity or None
        Value of B divided by value of A, with its 95 % interval over runs; None for `errors` if A has no failures. [1]
    verdict : str
        `same`, `better`, `worse` or `undecided`.
    least_detectable : float or None
        Smallest relative change that this number of runs detects with a probability of 80 %; None if neither result
        has repeated runs. [1]
    """

    name: str
    transaction: str | None
    ratio: Quantity | None
    verdict: str
    least_detectable: float | None


class Difference(NamedTuple):
    """Property of configuration or environment that differs between two compared results, A and B.

    Attributes
    ----------
    what : str
        Name of the property.
    a, b : str or None
        Its values; None if a result lacks the property.
    """

    what: str
    a: str | None
    b: str | None


class ComparedResults:
    """Comparison of two results, A and B, as `towtank compare` prints it."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared

    @property
    def document(self) -> Mapping[str, object]:
        """Complete comparison, as `towtank compare --json` prints it."""
        return self._compared.document()

    @property
    def verdict(self) -> str:
        """Verdict on result B compared with result A: `better` or `worse` (significantly, and by at least the
        threshold), `same` or `undecided`.
        """
        return str(self._compared.verdict)

    @property
    def valid(self) -> bool:
        """True if each of the two results has at least one run that may be used."""
        return not self._compared.is_invalid

    @property
    def metrics(self) -> tuple[ComparedMetric, ...]:
        """Comparisons of all metrics."""
        return tuple(
            ComparedMetric(
                str(found.name), found.transaction, _ratio_of(found), str(found.verdict), found.least_detectable
            )
            for found in self._compared.findings
        )

    @property
    def least_detectable(self) -> float | None:
        """Smallest relative change of the mean response time that these runs detect with a probability of 80 %. [1]"""
        return self._compared.least_detectable

    @property
    def runs_needed(self) -> int | None:
        """Number of runs of each result that would probably suffice to decide all metrics; None if all metrics are
        decided, or if the number is unknown. [1]
        """
        return self._compared.runs_needed

    @property
    def differs_in(self) -> tuple[Difference, ...]:
        """Differences between A and B in configuration and environment."""
        return tuple(Difference(*each) for each in self._compared.differs_in)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Suspect runs, and invalid runs that the comparison leaves out, each with the reason."""
        return tuple(self._compared.doubts)

    def __repr__(self) -> str:
        return f"<ComparedResults of {self._compared.a.name} and {self._compared.b.name}: {self.verdict}>"

    def _repr_html_(self) -> str:
        metrics = [
            (each.name, each.transaction or "all", notebook.text(each.ratio), each.verdict) for each in self.metrics
        ]
        return notebook.page(
            notebook.heading(f"{self._compared.b.name} compared with {self._compared.a.name}"),
            notebook.verdict(self.verdict, self.doubts),
            notebook.table(("metric", "transaction", "ratio B / A", "verdict"), metrics),
            notebook.table(("differs in", "A", "B"), self.differs_in) if self.differs_in else "",
        )


def _ratio_of(found: Finding) -> Quantity | None:
    document = {"value": found.ratio, "low": found.low, "high": found.high}
    return estimate(document, COUNT, f"{found.name}: B over A")


def compare(a: Side, b: Side, *, threshold: str | float = "2 %") -> ComparedResults:
    """Compare two results: ratios with confidence intervals over runs, a verdict, and the smallest detectable change.

    Parameters
    ----------
    a, b : path, Results, or sequence of paths
        Results folder, `FOLDER:CONFIGURATION`, run folder, or result files of any tool, with one file for each run.
    threshold : str or float, default "2 %"
        Smallest change that matters, for example `2 %` or 0.02, in (0, 1). [1]

    Returns
    -------
    ComparedResults
        Verdict, compared metrics and doubts.

    Raises
    ------
    StudyError
        If `a` or `b` contains no result, or the threshold is not between 0 and 1.
    """
    from towtank.analysis import compare as compare_sides  # noqa: PLC0415 - imports the analysis
    from towtank.analysis import side_of  # noqa: PLC0415

    try:
        share = units.share(threshold) if isinstance(threshold, str) else float(threshold)
    except (TypeError, ValueError) as error:
        raise StudyError.at("compare", str(error), where="threshold") from None
    return ComparedResults(compare_sides(side_of(_names(a)), side_of(_names(b)), share))


def _names(side: Side) -> tuple[str, ...]:
    """Return the paths that were given for one of the two compared results."""
    if isinstance(side, str | PathLike):
        return (str(side),)
    folder = getattr(side, "folder", None)
    return (str(folder),) if folder is not None else tuple(map(str, side))  # type: ignore[arg-type]


def objective_of(source: Source, found: Json) -> Objective:
    """Read an objective, with its outcome, from a study summary."""
    from towtank.report import objective_unit  # noqa: PLC0415 - imports the analysis

    declared = source.study.get("objectives") or ()
    asked: Json = next((each for each in declared if each.get("text") == found.get("text")), {})
    unit = objective_unit(asked.get("metric") or found.get("metric")) or COUNT
    label, at = str(found.get("label") or ""), found.get("at") or {}
    return Objective(
        str(found.get("text", "")),
        label if found.get("configuration") else "",
        found.get("met"),
        _seen(source, {**asked, **found}, unit),
        number(found.get("limit"), unit),
        ", ".join(f"{name} {value}" for name, value in at.items()),
        Verdict.of(dig(source.summary, "verdict")),
    )


def _seen(source: Source, objective: Json, unit: str) -> Quantity | None:
    """Return the measured value that decided an objective, with the confidence interval at the load where it was
    measured.
    """
    from towtank.analysis import estimate_at, is_scoped  # noqa: PLC0415 - imports the analysis

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
