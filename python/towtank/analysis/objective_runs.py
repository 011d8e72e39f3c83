"""Judges objectives on the single runs of a level, because a run may miss by far an objective that all runs together
meet.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.objective_scopes import Compare, is_scoped
from towtank.analysis.objective_stored import is_about_stored
from towtank.analysis.statistics.estimates import CONFIDENCE, estimate_of
from towtank.distributions import binomial_interval

FAR = 2.0
"""If the value of a run exceeds the limit by this factor, the level misses the objective. [1]"""
_TIMES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
Json = Mapping[str, Any]


def far_misses(
    objective: Json, load: float, runs: Sequence[Json], compare: Compare, limit: float
) -> list[dict[str, Any]]:
    """Return the runs of a level that miss an objective by a factor of `FAR` or more.

    Parameters
    ----------
    objective : dict
        Objective from the manifest of the study. Objectives about stored data and about windows are not judged here,
        because the worst run decides them anyway.
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
        `load`, `run` and `value`. A share of failures counts only if its exact binomial interval excludes the limit,
        because a single failure may double the share of a short run.
    """
    if is_about_stored(dict(objective)) or objective.get("every_s") is not None or limit <= 0:
        return []
    upward = compare in (operator.gt, operator.ge)
    found = []
    for run in runs:
        value = value_in(objective, run)
        if value is None or (value * FAR > limit if upward else value < FAR * limit):
            continue
        if is_share(objective) and not is_scoped(dict(objective)) and not _excludes(objective, run, limit):
            continue
        found.append({"load": load, "run": str(run["run"]), "value": value})
    return found


def value_in(objective: Json, run: Json) -> float | None:
    """Return the value of an objective in one run; None if not measured, and for minimum and maximum."""
    if is_scoped(dict(objective)):
        judged = (each for each in run.get("objectives") or () if each.get("text") == objective.get("text"))
        value = next((each.get("value") for each in judged), None)
        return None if value is None else float(value)
    metric, transaction = metric_name(objective), objective.get("transaction")
    if is_share(objective):
        failed, ended = _counts(objective, run)
        return failed / ended if ended else None
    about = ("transactions", str(transaction)) if transaction else ()
    if metric.startswith("throughput"):
        return estimate_of(dict(run), *about, "throughput_per_s").value
    return estimate_of(dict(run), *about, "response_time_s", metric).value if metric in _TIMES else None


def metric_name(objective: Json) -> str:
    """Return the name of the metric without unit and path: `p95` for `response_time.p95_s`."""
    return str(objective.get("metric", "")).removesuffix("_s").removeprefix("response_time.")


def is_share(objective: Json) -> bool:
    """Return True if an objective limits the share of failed transactions."""
    return metric_name(objective) in ("errors", "errors_share", "error_rate", "error_share")


def _counts(objective: Json, run: Json) -> tuple[int, int]:
    """Return the number of failed transactions, and of all transactions that ended. [1]"""
    transactions, name = run.get("transactions") or {}, objective.get("transaction")
    counted = [transactions.get(name) or {}] if name else list(transactions.values())
    failed = sum(int(each.get("errors", 0)) for each in counted)
    return failed, failed + sum(int(each.get("count", 0)) for each in counted)


def _excludes(objective: Json, run: Json, limit: float) -> bool:
    failed, ended = _counts(objective, run)
    low, high = binomial_interval(failed, ended, CONFIDENCE)
    return not low <= limit <= high
