"""Judges objectives on single runs: a single run may miss an objective by far although all runs together meet it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.merged_percentiles import HISTOGRAM, count_above, share_of
from towtank.analysis.objective_scopes import Compare, is_scoped
from towtank.analysis.objective_stored import is_about_stored
from towtank.analysis.statistics.estimates import CONFIDENCE, NO_ESTIMATE, Estimate, estimate_of
from towtank.distributions import binomial_interval

FAR_FROM_LIMIT = 2.0
"""A load level misses an objective if a single run misses the limit by this factor. [1]"""
_TIMES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
Json = Mapping[str, Any]


def far_misses(
    objective: Json, load: float, runs: Sequence[Json], compare: Compare, limit: float
) -> list[dict[str, Any]]:
    """Return the runs of a load level whose value violates the limit of an objective by a factor of `FAR_FROM_LIMIT` or
    more.

    Parameters
    ----------
    objective : dict
        Objective from the manifest of the study. Objectives about stored data and about windows give no result here,
        because their worst run always decides.
    load : float
        Level of the load. [1] or [1/s]
    runs : sequence of dict
        Summaries of the runs that count at this level.
    compare : callable
    limit : float
        Limit of the objective, in the base unit of its quantity.

    Returns
    -------
    list of dict
        `load`, `run`, `value` and `certain`. `certain` is True if the interval of the run excludes the limit. For a
        value without an interval, it is True if the counts of the run exclude the limit, and None without counts.

    Notes
    -----
    One more slow request or failure may double the value of a short run. A percentile p therefore counts only if
    significantly more requests than the share 1 - p exceed `FAR_FROM_LIMIT` times the limit: the exact binomial
    interval [1]_ of their share lies above 1 - p. A share of failures counts only if its interval excludes the limit.
    With n runs, each interval has the confidence 1 - (1 - c) / n (Bonferroni), so that the probability of an error in
    any run is at most 1 - c = 0.05. Both intervals assume independent requests. For a mean, a throughput, or a
    percentile whose histogram cannot be read, only the value is compared.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.
    """
    if is_about_stored(dict(objective)) or objective.get("every_s") is not None or limit <= 0:
        return []
    upward = compare in (operator.gt, operator.ge)
    found = []
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(runs))
    for run in runs:
        value = value_in(objective, run)
        if value is None or (value * FAR_FROM_LIMIT > limit if upward else value < FAR_FROM_LIMIT * limit):
            continue
        excludes = _excludes(objective, run, limit, confidence, upward=upward)
        if excludes is False:
            continue
        own = _certain(_estimate_in(objective, run), compare, limit)
        certain = excludes if own is None else own
        found.append({"load": load, "run": str(run["run"]), "value": value, "certain": certain})
    return found


def value_in(objective: Json, run: Json) -> float | None:
    """Return the measured value that an objective limits, in one run. None if the run did not measure it, or if the
    objective limits a minimum or maximum.
    """
    if is_scoped(dict(objective)):
        judged = (each for each in run.get("objectives") or () if each.get("text") == objective.get("text"))
        value = next((each.get("value") for each in judged), None)
        return None if value is None else float(value)
    if is_share(objective):
        failed, ended = _counts(objective, run)
        return failed / ended if ended else None
    return _estimate_in(objective, run).value


def _estimate_in(objective: Json, run: Json) -> Estimate:
    """Return the estimate of an objective's metric in one run. It has no value for shares of failures, for minimum and
    maximum, and for objectives of phases or windows.
    """
    metric, transaction = metric_name(objective), objective.get("transaction")
    if is_scoped(dict(objective)):
        return NO_ESTIMATE
    about = ("transactions", str(transaction)) if transaction else ()
    if metric.startswith("throughput"):
        return estimate_of(dict(run), *about, "throughput_per_s")
    return estimate_of(dict(run), *about, "response_time_s", metric) if metric in _TIMES else NO_ESTIMATE


def _certain(estimate: Estimate, compare: Compare, limit: float) -> bool | None:
    """Return True if the whole interval of an estimate misses the limit, False otherwise; None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return not compare(estimate.low, limit) and not compare(estimate.high, limit)


def metric_name(objective: Json) -> str:
    """Return the metric of an objective without path and unit: `p95` for `response_time.p95_s`."""
    return str(objective.get("metric", "")).removesuffix("_s").removeprefix("response_time.")


def is_share(objective: Json) -> bool:
    """Return True if an objective limits the share of failed transactions."""
    return metric_name(objective) in ("errors", "errors_share", "error_rate", "error_share")


def _counts(objective: Json, run: Json) -> tuple[int, int]:
    """Return two numbers of transactions in a run: those that failed, and all that ended. If an objective names a
    transaction, only transactions of that name count. [1]
    """
    transactions, name = run.get("transactions") or {}, objective.get("transaction")
    counted = [transactions.get(name) or {}] if name else list(transactions.values())
    failed = sum(int(each.get("errors", 0)) for each in counted)
    return failed, failed + sum(int(each.get("count", 0)) for each in counted)


def _excludes(objective: Json, run: Json, limit: float, confidence: float, *, upward: bool) -> bool | None:
    """Return True if the counts of a run show that the objective is missed by more than chance explains.

    None without counts.
    """
    if is_share(objective):
        if is_scoped(dict(objective)):
            return None
        low, high = binomial_interval(*_counts(objective, run), confidence)
        return not low <= limit <= high
    share = share_of(metric_name(objective))
    counted = (
        None
        if share is None
        else count_above(_histogram(objective, run), limit / FAR_FROM_LIMIT if upward else limit * FAR_FROM_LIMIT)
    )
    if share is None or counted is None:
        return None
    above, ended = counted
    beyond, allowed = (ended - above, share) if upward else (above, 1 - share)
    return binomial_interval(beyond, ended, confidence)[0] > allowed


def _histogram(objective: Json, run: Json) -> Any:
    """Return the encoded histogram of those requests of one run to which an objective about a percentile applies."""
    if is_scoped(dict(objective)):
        judged = (each for each in run.get("objectives") or () if each.get("text") == objective.get("text"))
        return next((each.get(HISTOGRAM) for each in judged), None)
    transaction = objective.get("transaction")
    about = (run.get("transactions") or {}).get(transaction) or {} if transaction else run
    return (about.get("response_time_s") or {}).get(HISTOGRAM)
