"""Judges objectives on single runs of a level: all requests together may meet what one run misses by far."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.objective_scopes import Compare, is_scoped
from towtank.analysis.objective_stored import is_about_stored
from towtank.analysis.statistics.estimates import CONFIDENCE, estimate_of
from towtank.distributions import binomial_interval

FAR = 2.0
"""Factor between the value of a run and the limit from which on the level does not meet the objective. [1]"""
_TIMES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
Json = Mapping[str, Any]


def far_misses(
    objective: Json, load: float, runs: Sequence[Json], compare: Compare, limit: float
) -> list[dict[str, Any]]:
    """Return the runs of one level that miss an objective by a factor of `FAR` or more.

    Parameters
    ----------
    objective : dict
        As the manifest of the study has it. Those about stored data and about windows are judged by the worst run
        anyway.
    load : float
        Level of the load. [1] or [1/s]
    runs : sequence of dict
        Summaries of the runs that judge the level.
    compare : callable
    limit : float
        In the base unit of the quantity.

    Returns
    -------
    list of dict
        `load`, `run` and `value`. A share of failures counts only if its exact binomial interval excludes the limit,
        since one failure more may double the share of a short run.
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
    """Return the number of an objective in one run; None if it was not measured, and for minimum and maximum."""
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
    """Return the name of the quantity without unit and place: `p95` of `response_time.p95_s`."""
    return str(objective.get("metric", "")).removesuffix("_s").removeprefix("response_time.")


def is_share(objective: Json) -> bool:
    """Return True if an objective is about the share of transactions that failed."""
    return metric_name(objective) in ("errors", "errors_share", "error_rate", "error_share")


def _counts(objective: Json, run: Json) -> tuple[int, int]:
    """Return the transactions that failed, and all that ended. [1]"""
    transactions, name = run.get("transactions") or {}, objective.get("transaction")
    counted = [transactions.get(name) or {}] if name else list(transactions.values())
    failed = sum(int(each.get("errors", 0)) for each in counted)
    return failed, failed + sum(int(each.get("count", 0)) for each in counted)


def _excludes(objective: Json, run: Json, limit: float) -> bool:
    failed, ended = _counts(objective, run)
    low, high = binomial_interval(failed, ended, CONFIDENCE)
    return not low <= limit <= high
