"""Selects the runs at given factor levels, and computes a measured quantity from these runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from towtank.analysis.combining import combined, counting
from towtank.analysis.elasticity import elasticity_of
from towtank.analysis.factors import Factor
from towtank.analysis.merged_percentiles import of_all_requests
from towtank.analysis.recovery import RESOLUTION_S
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import estimates, ratio_interval
from towtank.analysis.statistics.estimates import BINOMIAL, CONFIDENCE, EXACT, Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, with_run_to_run
from towtank.analysis.stored import not_read_back
from towtank.analysis.system.disks import disks_counted_once
from towtank.digging import dig
from towtank.distributions import binomial_interval
from towtank.documents import plain
from towtank.study import ALL_LEVELS, EACH_NAME, PER_LOAD, read_metric

COUNTED = "stored"
"""Key of the counts of stored documents in a run summary. A count is exact unless documents could not be read back."""
ESTIMATES = "estimates"
"""Key, in each phase of a run summary, of the estimates that have intervals."""
RECOVERY = "recovery_s"
"""Key, in each event of a run summary, of the time until the system recovered."""
_RESOLUTIONS = {RECOVERY: RESOLUTION_S, "free_inodes_least": 1.0}
"""Resolution of readings that are whole numbers of seconds [s] or of inodes [1]."""
PHASE_NUMBERS = ("cpus_used", "parts", "mean_s")
DISKS = "disks"
INVALID_ONLY, INVALID_AND_SUSPECT = ("invalid",), ("invalid", "suspect")
"""Runs with these verdicts are not used for a claim."""
Levels = dict[str, str]
# Recommended next steps for claims that the runs cannot decide.
NOT_IN_PRESET = " is not in this preset"
OTHER_PRESET = "run a preset that contains it (--preset), or name factors and levels of this preset"
INVALID = "remove the cause that the verdicts of these runs give, and run the study again"
MISSING = "make the missing runs (towtank run --resume), or name levels that the design combines"
LONGER = "make the steady stage longer, so that the system recovers within the stage"
NOT_RECORDED = "name a quantity that the summaries of these runs contain, or record this quantity"


class UntestableError(Exception):
    """Raised if the runs cannot decide a claim. The message gives the reason, and `remedy` the next step."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.remedy = remedy


class NotRecoveredError(UntestableError):
    """Raised if a run ended before the system recovered. No other level may decide the claim in its place, because the
    time of recovery at this level is longer than could be measured.
    """


@dataclass
class Places:
    """Runs of a study, selected by factor levels. Records which runs a claim uses.

    Attributes
    ----------
    factors : sequence of Factor
    runs : sequence of RunSummary
        Summaries of all runs.
    run_to_run : float
        Relative standard deviation of the system's speed from run to run. It is assumed for combinations of levels with
        a single run. [1]
    confidence : float
        Confidence of all intervals, in (0, 1).
    excluded : tuple of str
        Runs with these verdicts are not used.
    assumed : bool
        True if `run_to_run` was used, because a combination of levels has a single run.
    used : dict of str to RunSummary
        Summaries of the runs that the claim uses, by name.
    left_out : list of str
        Reasons why combinations of levels that the claim names could not be used.
    """

    factors: Sequence[Factor]
    runs: Sequence[RunSummary]
    run_to_run: float = ASSUMED_SHARE
    confidence: float = CONFIDENCE
    excluded: tuple[str, ...] = INVALID_ONLY
    assumed: bool = False
    used: dict[str, RunSummary] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def levels_of(self, factor: str) -> list[str]:
        """Return the levels of a factor, in the order of the study file."""
        for declared in self.factors:
            if declared.name == factor:
                return list(declared.levels)
        raise UntestableError(f"this preset has no factor {factor}", OTHER_PRESET)

    def resolved(self, factor: str, written: str | list[str]) -> list[str]:
        """Return the levels of a factor that a claim names, either directly or by a word such as `highest`."""
        if isinstance(written, list):
            return list(dict.fromkeys(level for text in written for level in self.resolved(factor, text)))
        levels = self.levels_of(factor)
        if written in levels:
            return [written]
        by_value = self._by_value(factor, levels)
        words = {
            "first": levels[:1],
            "last": levels[-1:],
            "lowest": by_value[:1],
            "highest": by_value[-1:],
            ALL_LEVELS: levels,
        }
        if written not in words:
            raise UntestableError(f"{factor} {written}{NOT_IN_PRESET}", OTHER_PRESET)
        return words[written]

    def _by_value(self, factor: str, levels: list[str]) -> list[str]:
        """Sort the levels of a factor by their numeric values. If the levels have no numeric values, keep their
        order.
        """
        numeric = next((declared.numeric for declared in self.factors if declared.name == factor), None)
        if not numeric:
            return levels
        return [level for _, level in sorted(zip(numeric, levels, strict=True))]

    def one_place(self, written: Mapping[str, str | list[str]]) -> Levels:
        """Return one level for each factor that a claim names: the first, if the claim names several levels of a
        factor.
        """
        return {factor: self.resolved(factor, level)[0] for factor, level in written.items()}

    def quantity(self, of: str, per: str | None, place: Levels) -> Estimate:
        """Return a measured quantity at given factor levels, combined over the runs that are not excluded.

        Raises
        ------
        UntestableError
            If no usable run has these levels, or if no such run contains the quantity.
        """
        where = ", ".join(f"{name} {level}" for name, level in place.items()) or "any level"
        there = [run for run in self.runs if all(str(run.factors.get(name)) == place[name] for name in place)]
        usable = {run.run: run for run in there if run.verdict.level not in self.excluded}
        if not there:
            raise UntestableError(f"no run at {where}", MISSING)
        if not usable:
            names = ", ".join(run.run for run in there)
            raise UntestableError(f"every run at {where} is {' or '.join(self.excluded)} ({names})", INVALID)
        measured = {name: found for name, run in usable.items() if (found := in_run(run, of, per)).value is not None}
        if not measured:
            raise UntestableError(f"{of}{f' per {per}' if per else ''} was not measured at {where}", NOT_RECORDED)
        path = read_metric(of)
        if disturbed := [name for name, run in usable.items() if _is_disturbed(run, path)]:
            raise NotRecoveredError(f"in {', '.join(disturbed)} the stage ended before the system recovered", LONGER)
        having = [usable[name] for name in measured]
        pooled = None if per else of_all_requests(having, *path)
        together = combined(list(measured.values()), pooled, _counting(having, path, per))
        # Runs differ, so the interval of a single run is widened. The method `EXACT` is an exception: it counts all
        # documents instead of a sample.
        if len(measured) == 1 and together.method != EXACT and together.low is not None:
            together = with_run_to_run(together, self.run_to_run * _elasticity(having[0], of, per))
            self.assumed = True
        self.used |= {name: usable[name] for name in measured}
        found = together if self.confidence == together.confidence else together.at(self.confidence)
        found = found.read_to(max(_resolution(run, path, per) for run in having))
        return found.of_quantity() if together.low is not None and together.low >= 0 else found

    @property
    def suspects(self) -> list[str]:
        """Names of the suspect runs that the claim uses."""
        return sorted(name for name, run in self.used.items() if run.verdict.level == "suspect")


def in_run(run: RunSummary, of: str, per: str | None) -> Estimate:
    """Return a measured quantity of one run. If `per` is given, the quantity is divided by another quantity or by the
    load.
    """
    path = read_metric(of)
    found = _sum(_leaves_of(run, path))
    if path[0] == COUNTED and found.value is not None:
        unknown = sum(not_read_back(about, path[-1]).high or 0.0 for about in _leaves_of(run, path[:-1]))
        exact = Estimate(found.value, found.value, found.value, EXACT, 1) if found.low is None else found
        found = replace(exact, high=(exact.high or 0.0) + unknown)
    if per is None or found.value is None:
        return found
    if per == PER_LOAD:
        asked = run.load
        return found.scaled(1 / asked.level) if asked is not None and asked.level else estimates.NO_ESTIMATE
    return ratio_interval(found, _sum(_leaves_of(run, read_metric(per))))


def _counting(runs: Sequence[RunSummary], path: Sequence[str], per: str | None) -> tuple[float, ...]:
    """Return a factor for each run that converts a throughput, or a throughput per load, into a number of events. Empty
    for other quantities. [s], [s * load]
    """
    if per not in (None, PER_LOAD):
        return ()
    loads = [1.0 if per is None else run.load.level if run.load is not None else 0.0 for run in runs]
    return tuple(length * load for length, load in zip(counting(runs, path), loads, strict=False))


def _resolution(run: RunSummary, path: Sequence[str], per: str | None) -> float:
    """Return the resolution of a reading of one run, in the unit of the claim; 0 if it is negligible.

    Percentiles and counts of events have intervals that contain their resolution. Recovery times and numbers of free
    inodes have none.
    """
    resolution = _RESOLUTIONS.get(path[-1], 0.0)
    if not resolution:
        return 0.0
    asked = run.load if per == PER_LOAD else None
    if asked is not None:
        divisor: float | None = asked.level
    else:
        divisor = 1.0 if per is None else _sum(_leaves_of(run, read_metric(per))).value
    return resolution / divisor if divisor else 0.0


def _is_disturbed(run: RunSummary, path: Sequence[str]) -> bool:
    """Return True if `path` is a recovery time, and the system was still disturbed at the end of the stage.

    Without these runs, the mean recovery time over the other runs would be too short.
    """
    return path[-1] == RECOVERY and any(
        dig(event, "disturbed") is True and dig(event, RECOVERY) is None for event in _leaves_of(run, path[:-1])
    )


def _elasticity(run: RunSummary, of: str, per: str | None) -> float:
    divisor = None if per is None else (PER_LOAD,) if per == PER_LOAD else read_metric(per)
    return elasticity_of(run).of(read_metric(of), divisor)


def _leaves_of(run: RunSummary, path: Sequence[str]) -> list[Any]:
    """Return all values at a path of keys in a run summary, as `leaves` does."""
    return leaves({key: plain(dig(run, key)) for key in (path[0], "transactions")}, path)


def leaves(found: Any, path: Sequence[str]) -> list[Any]:
    """Return all values at a path of keys in a run summary. The key `*` matches any key. Empty if there is no such
    value.
    """
    if not path:
        return [found]
    if not isinstance(found, Mapping):
        return []
    if path == ("errors_share",):
        return [_share_failed([found])]
    if path == ("errors", "share") and "transactions" in found:
        return [_share_failed(list(found["transactions"].values()))]
    if path[0] in PHASE_NUMBERS and found.get(ESTIMATES):
        found = found[ESTIMATES]
    names = list(found) if path[0] == EACH_NAME else [path[0]]
    if tuple(path[:2]) == (DISKS, EACH_NAME) and DISKS in found:
        found = {DISKS: disks_counted_once(found[DISKS])}
    return [leaf for name in names if name in found for leaf in leaves(found[name], path[1:])]


def _share_failed(transactions: Sequence[Mapping[str, Any]]) -> Estimate:
    """Return the share of failed transactions with the exact (Clopper-Pearson) interval of `binomial_interval`, which
    assumes independent failures.
    """
    failed = sum(transaction.get("errors", 0) for transaction in transactions)
    ended = failed + sum(transaction.get("count", 0) for transaction in transactions)
    if not ended:
        return estimates.NO_ESTIMATE
    low, high = binomial_interval(failed, ended, estimates.CONFIDENCE)
    return Estimate(failed / ended, low, high, BINOMIAL, ended)


def _sum(found: Sequence[Any]) -> Estimate:
    """Return the sum of several estimates. The interval extends from the sum of the lower bounds to the sum of the
    upper bounds, so it holds for any correlation between the errors.
    """
    read = [_read(leaf) for leaf in found]
    if len(read) == 1:
        return read[0]
    values = [estimate.value for estimate in read if estimate.value is not None]
    if not read or len(values) < len(read):
        return estimates.NO_ESTIMATE
    lows = [estimate.low for estimate in read if estimate.low is not None]
    highs = [estimate.high for estimate in read if estimate.high is not None]
    if len(lows) < len(read) or len(highs) < len(read):
        return Estimate(sum(values), n=1)
    return Estimate(sum(values), sum(lows), sum(highs), read[0].method, min(estimate.n for estimate in read))


def _read(leaf: Any) -> Estimate:
    if isinstance(leaf, Estimate):
        return leaf
    if isinstance(leaf, Mapping):
        return estimates.estimate_from_document(dict(leaf))
    is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return Estimate(float(leaf), n=1) if is_number else estimates.NO_ESTIMATE
