"""Reads the load levels of a configuration, evaluates objectives at them, and describes load levels without a
verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.merged_percentiles import percentile, share_of
from towtank.analysis.objective import Objective
from towtank.analysis.objective_runs import TIMES
from towtank.analysis.objective_scopes import ScopedValue
from towtank.analysis.objective_stored import worst_count
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate, estimate_of
from towtank.digging import dig

_EXTREMES = ("min", "max")
Document = Mapping[str, object]
Runs = Mapping[str, Document]
"""Summaries of runs by name."""


@dataclass(frozen=True)
class Gap:
    """Load level at which no run decides an objective. The names of the fields are those of the keys in a study
    summary.

    Attributes
    ----------
    load : float
        Level of the load. [1] or [1/s]
    runs : list of str
        Runs at this level.
    kind : str
        `invalid`, `missing` or `not_measured`.
    why : str
        Reason as text.
    """

    load: float
    runs: list[str]
    kind: str
    why: str


@dataclass(frozen=True, eq=False)
class Level:
    """Load level of a configuration, with its runs.

    Attributes
    ----------
    point : dict
        Entry of the study summary, with the values over all runs.
    load : float
        Level of the load. [1] or [1/s]
    runs : tuple of str
        Names of all runs at this level.
    verdicts : tuple of str
        Verdict on each run, in the order of `runs`; empty if unknown.
    summaries : tuple of dict
        Run summaries, for the runs that have one.
    """

    point: Document
    load: float
    runs: tuple[str, ...]
    verdicts: tuple[str, ...]
    summaries: tuple[Document, ...]

    @classmethod
    def read(cls, point: Document, runs: Runs) -> Level:
        """Read a load level from an entry `points` of a study summary. `runs` contains the run summaries."""
        names, verdicts = (tuple(map(str, dig(point, key) or ())) for key in ("runs", "verdicts"))
        return cls(
            point, float(dig(point, "load")), names, verdicts, tuple(runs[name] for name in names if name in runs)
        )

    @property
    def counting(self) -> list[Document]:
        """Summaries of the runs that count: all that are not invalid, or all if every run is invalid."""
        names = [name for name, verdict in zip(self.runs, self.verdicts, strict=False) if verdict != "invalid"]
        return [run for run in self.summaries if not names or str(dig(run, "run")) in names]

    @property
    def suspects(self) -> list[str]:
        return [name for name, verdict in zip(self.runs, self.verdicts, strict=False) if verdict == "suspect"]

    def decides(self, objective: Objective) -> bool:
        """Return True if the runs at this level can decide whether an objective is met.

        A run that is not invalid decides every objective. An invalid run decides an objective if its doubts do not
        affect the value that the objective limits. Every run decides objectives about stored data, because a
        disturbance of the measurement does not explain lost data.
        """
        if any(verdict != "invalid" for verdict in self.verdicts or ("unknown",)):
            return True
        if objective.is_about_stored:
            return bool(self.summaries)
        invalid_kinds = ({str(dig(doubt, "kind")) for doubt in _invalidating(run)} for run in self.summaries)
        return bool(self.summaries) and all(kinds <= _harmless(objective) for kinds in invalid_kinds)

    def value_of(self, objective: Objective) -> float | None:
        """Return the measured value that an objective limits; None if it was not measured.

        If the objective applies to a phase, percentiles cover all requests of the runs, and any other metric is the
        mean over the runs. If it applies to windows, the value is that of the worst window.
        """
        if objective.is_about_stored:
            return worst_count(objective, self.summaries)
        if not objective.is_scoped:
            return value_at(self.point, objective)
        judged = list(self.scoped(objective))
        if objective.every_s is None:
            known = [each for each in judged if each.value is not None]
            share = share_of(objective.quantity)
            together = None if share is None else percentile([each.histogram for each in known], share)
            if together is not None or not known:
                return together
            return sum(each.value or 0.0 for each in known) / len(known)
        worst = [each.windows.worst.value for each in judged if each.windows is not None and each.windows.worst]
        return (min if objective.is_upward else max)(worst, default=None)

    def scoped(self, objective: Objective) -> Iterator[ScopedValue]:
        """Yield the value of an objective about a phase or about windows, for each run that counts (`counting`)."""
        for run in self.counting:
            found = ScopedValue.read(run, objective)
            if found is not None:
                yield found

    def gap(self, kind: str, why: str, runs: Sequence[str] | None = None) -> Gap:
        """Return the reason why this load level has no verdict, for the list `not_judged` of a study summary. `runs`
        are all runs of the level by default.
        """
        return Gap(self.load, list(self.runs if runs is None else runs), kind, why)


def value_at(point: Document, objective: Objective) -> float | None:
    """Return the measured value that an objective limits, at one load level; None if it was not measured."""
    metric, transaction = objective.quantity, objective.transaction
    about = ("transactions", transaction) if transaction else ()
    if objective.is_share:
        share = dig(point, *about, "errors_share")
        return None if share is None else float(share)
    if metric in _EXTREMES:
        extreme = dig(point, *about, f"{metric}_s") if transaction else dig(point, "response_time_s", metric)
        return None if extreme is None else float(extreme)
    return estimate_of_objective(point, objective).value


def estimate_of_objective(point: Document, objective: Objective) -> Estimate:
    """Return the estimate of the metric of an objective at one load level. It is empty for the metrics minimum, maximum
    and share of failures, which have no interval.
    """
    metric, transaction = objective.quantity, objective.transaction
    if metric in ("throughput", "throughput_per"):
        about = ("transactions", transaction) if transaction else ()
        return estimate_of(point, *about, "throughput_per_s")
    if metric not in TIMES:
        return NO_ESTIMATE
    if transaction:
        return estimate_of(point, "transactions", transaction, f"{metric}_s")
    return estimate_of(point, "response_time_s", metric)


def _harmless(objective: Objective) -> set[DoubtKind]:
    """Return the kinds of doubts that make a run invalid but do not affect the value that an objective limits.

    Too many errors distort response times, but not the share of errors. A changing system distorts the mean over the
    steady state, but not the values of single windows and phases.
    """
    of_errors = {DoubtKind.ERRORS_ABOVE_LIMIT} if objective.metric.startswith("err") else set()
    return of_errors | ({DoubtKind.NO_STEADY_STATE, DoubtKind.NOT_SETTLED} if objective.is_scoped else set())


def _invalidating(run: Document | None) -> list[Document]:
    reasons = dig(run, "verdict", "reasons") or ()
    return [doubt for doubt in reasons if dig(doubt, "level") == DoubtLevel.INVALID]


def first_reason(run: Document | None) -> str:
    """Return the message of the first doubt that makes a run invalid, in brackets; empty if no doubt does."""
    return next((f" ({dig(doubt, 'message')})" for doubt in _invalidating(run)), "")
