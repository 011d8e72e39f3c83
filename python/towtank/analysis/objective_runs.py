"""Evaluates objectives for single runs. A single run may miss an objective by far although all runs together meet
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towtank.analysis.merged_percentiles import HISTOGRAM, count_above, share_of
from towtank.analysis.objective import Compare, Objective
from towtank.analysis.objective_scopes import ScopedValue
from towtank.analysis.statistics.estimates import CONFIDENCE, NO_ESTIMATE, Estimate, estimate_of
from towtank.digging import dig
from towtank.distributions import binomial_interval

FAR_FROM_LIMIT = 2.0
"""A load level misses an objective if a single run is beyond the limit by at least this factor. [1]"""
TIMES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
"""Metrics of response times whose values have an interval."""
Run = Mapping[str, object]


@dataclass(frozen=True)
class FarMiss:
    """Run that misses an objective by far. The names of the fields are those of the keys in a study summary.

    Attributes
    ----------
    load : float
        Level of the load. [1] or [1/s]
    run : str
    value : float
        Value in this run, in the base unit of the metric.
    certain : bool or None
        True if the interval of the value excludes the limit. If the value has no interval: True if the counts of the
        run exclude the limit, and None if no counts are known.
    """

    load: float
    run: str
    value: float
    certain: bool | None = None


def far_misses(objective: Objective, load: float, runs: Sequence[Run], limit: float) -> list[FarMiss]:
    """Return the runs at a load level that are beyond the limit of an objective by a factor of `FAR_FROM_LIMIT` or
    more.

    Parameters
    ----------
    objective : Objective
        For an objective about stored data or about windows the result is empty, because the worst run always decides.
    load : float
        Level of the load. [1] or [1/s]
    runs : sequence of dict
        Summaries of the runs that count at this level.
    limit : float
        Limit of the objective, in the base unit of its metric.

    Notes
    -----
    One more slow request or failure may double the value of a short run. A percentile p therefore counts only if
    significantly more requests than the share 1 - p exceed `FAR_FROM_LIMIT` times the limit: the exact binomial
    interval [1]_ of the share of these requests lies above 1 - p. A share of failures counts only if its interval
    excludes the limit.

    With n runs, each interval has the confidence 1 - (1 - c) / n (Bonferroni), so the probability of an error in any
    run is at most 1 - c = 0.05. Both intervals assume independent requests. A mean, a throughput, and a percentile
    whose histogram cannot be read are compared with the limit without an interval.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.
    """
    if objective.is_about_stored or objective.every_s is not None or limit <= 0:
        return []
    found = []
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(runs))
    for run in runs:
        value = value_in(objective, run)
        if value is None or not _is_far(value, limit, upward=objective.is_upward):
            continue
        excludes = _excludes(objective, run, limit, confidence)
        if excludes is False:
            continue
        own = _certain(_estimate_in(objective, run), objective.compare, limit)
        found.append(FarMiss(load, str(dig(run, "run")), value, excludes if own is None else own))
    return found


def _is_far(value: float, limit: float, *, upward: bool) -> bool:
    return value * FAR_FROM_LIMIT <= limit if upward else value >= FAR_FROM_LIMIT * limit


def value_in(objective: Objective, run: Run) -> float | None:
    """Return the value of the limited metric in one run. Return None if the run did not measure it, or if the metric is
    a minimum or maximum.
    """
    if objective.is_scoped:
        judged = ScopedValue.read(run, objective)
        return None if judged is None else judged.value
    if objective.is_share:
        failed, ended = _counts(objective, run)
        return failed / ended if ended else None
    return _estimate_in(objective, run).value


def _estimate_in(objective: Objective, run: Run) -> Estimate:
    """Return the estimate of the limited metric in one run. It is empty for shares of failures, for minimum and
    maximum, and for objectives about phases or windows.
    """
    if objective.is_scoped:
        return NO_ESTIMATE
    about = ("transactions", objective.transaction) if objective.transaction else ()
    if objective.quantity.startswith("throughput"):
        return estimate_of(run, *about, "throughput_per_s")
    is_known = objective.quantity in TIMES
    return estimate_of(run, *about, "response_time_s", objective.quantity) if is_known else NO_ESTIMATE


def _certain(estimate: Estimate, compare: Compare, limit: float) -> bool | None:
    """Return True if the whole interval of an estimate misses the limit, and False otherwise; None if it has no
    interval.
    """
    if estimate.low is None or estimate.high is None:
        return None
    return not compare(estimate.low, limit) and not compare(estimate.high, limit)


def _counts(objective: Objective, run: Run) -> tuple[int, int]:
    """Return two numbers of transactions in a run: failed transactions, and all transactions that ended. If the
    objective names a transaction, only transactions of that name count. [1]
    """
    transactions, name = dig(run, "transactions") or {}, objective.transaction
    counted = [transactions.get(name) or {}] if name else list(transactions.values())
    failed, done = (sum(int(dig(each, key) or 0) for each in counted) for key in ("errors", "count"))
    return failed, failed + done


def _excludes(objective: Objective, run: Run, limit: float, confidence: float) -> bool | None:
    """Return True if the counts of a run show that it misses the objective by more than chance explains. Return None if
    the run has no counts for this metric.
    """
    if objective.is_share:
        if objective.is_scoped:
            return None
        low, high = binomial_interval(*_counts(objective, run), confidence)
        return not low <= limit <= high
    share = share_of(objective.quantity)
    if share is None:
        return None
    upward = objective.is_upward
    counted = count_above(_histogram(objective, run), limit / FAR_FROM_LIMIT if upward else limit * FAR_FROM_LIMIT)
    if counted is None:
        return None
    above, ended = counted
    beyond, allowed = (ended - above, share) if upward else (above, 1 - share)
    return binomial_interval(beyond, ended, confidence)[0] > allowed


def _histogram(objective: Objective, run: Run) -> str | None:
    """Return the encoded histogram of the response times to which an objective applies, in one run."""
    if objective.is_scoped:
        judged = ScopedValue.read(run, objective)
        return None if judged is None else judged.histogram
    about = ("transactions", objective.transaction) if objective.transaction else ()
    found = dig(run, *about, "response_time_s", HISTOGRAM)
    return found if isinstance(found, str) else None
