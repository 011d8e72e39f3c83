"""What the load did in a window: throughput, response times, errors, by transaction and by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towtank.analysis.measurement import DRAIN, Column, Floats, Mask, Measurement, TimedHistograms
from towtank.analysis.statistics import design_effect, effective_ranks, estimates, ratio_of_sums
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.analysis.statistics.histograms import Histogram, rank_of

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Quantiles that every distribution is described by."""
# An interval of the engine lasts a second; the rate over less than half of that is dominated by chance. [s]
_REMNANT_S = 0.5
STEP_QUANTILES = {"p50": 0.5, "p95": 0.95}
_MEDIAN = 0.5


def throughput(counts: Floats, measurement: Measurement, chosen: Mask) -> Estimate:
    """Completions per second over the chosen bins. [1/s]"""
    return ratio_of_sums(counts[chosen], measurement.lengths[chosen], bin_s=measurement.bin_s)[0]


def quantile(
    timed: TimedHistograms, merged: Histogram, probability: float, chosen: Mask, bin_s: float = 1.0
) -> Estimate:
    """Quantile of the chosen bins, with an interval that allows for seconds that resemble each other. [s]

    Notes
    -----
    Seconds with values above a high quantile come in clusters, and a window with few of them shows too little of that.
    The clusters last no longer than those above the median, of which there are far more: the larger of both design
    effects counts, so that whether a tail has an interval hardly depends on what the tail looked like by chance.
    """
    count = merged.total
    value = merged.quantile(probability)
    effects = [_effect(timed, merged, one, chosen) for one in dict.fromkeys((probability, _MEDIAN))]
    needs = max((one for _, one in effects if one is not None), default=None)
    effect = max(one for one, _ in effects)
    ranks = effective_ranks(count, probability, effect)
    if needs is not None or ranks is None:
        # A binomial needs so many values for the farther of both ranks.
        worth = math.log((1 - CONFIDENCE) / 2) / math.log(max(probability, 1 - probability))
        longer = math.ceil(float(chosen.sum()) * worth * effect / count)
        return Estimate(value, n=count, needs_s=estimates.needed_s(max(longer, needs or 0), bin_s))
    low, high = (merged.value_at_rank(rank) for rank in ranks)
    return Estimate(value, low, high, estimates.ORDER_STATISTICS, count, CONFIDENCE)


def _effect(timed: TimedHistograms, merged: Histogram, probability: float, chosen: Mask) -> tuple[float, int | None]:
    index = merged.index_at_rank(rank_of(probability, merged.total))
    return design_effect(timed.below(index)[chosen], timed.counts[chosen], probability)


def distribution(
    timed: TimedHistograms,
    sums: Floats,
    chosen: Mask,
    quantiles: dict[str, float] | None = None,
    extremes: bool = True,
    *,
    bin_s: float,
) -> dict[str, Any]:
    """Mean, quantiles and extremes of times, as they stand in a summary.

    Parameters
    ----------
    timed : TimedHistograms
    sums : ndarray of shape (n_bins,)
        Exact sums of the values. [s]
    chosen : ndarray of bool of shape (n_bins,)
    quantiles : dict, default `QUANTILES`
    extremes : bool, default True
        Whether minimum and maximum belong to it.
    bin_s : float
        Length of a bin. [s]
    """
    quantiles = QUANTILES if quantiles is None else quantiles
    merged = timed.merged(chosen)
    found: dict[str, Any] = {"mean": mean_of(timed, sums, chosen, bin_s)[0].document()}
    for name, probability in quantiles.items():
        one = estimates.NOTHING if merged is None else quantile(timed, merged, probability, chosen, bin_s)
        found[name] = one.document()
    if extremes:
        found["min"] = None if merged is None else merged.minimum_s
        found["max"] = None if merged is None else merged.maximum_s
    return found


def mean_of(timed: TimedHistograms, sums: Floats, chosen: Mask, bin_s: float = 1.0) -> tuple[Estimate, float | None]:
    """Mean of the chosen bins from exact sums, with its standard error. [s]"""
    return ratio_of_sums(sums[chosen], timed.counts[chosen], bin_s=bin_s)


def effective_samples(column: Column, chosen: Mask) -> float:
    """How many independent values would give a mean as exact as this one.

    Notes
    -----
    Variance of the values over the square of the standard error of their mean, at most their number. Where
    the series is too short for a standard error it is the number of values.
    """
    merged = column.response.merged(chosen)
    if merged is None:
        return 0.0
    error = mean_of(column.response, column.response_sum_s, chosen)[1]
    if not error:
        return float(merged.total)
    return min(float(merged.total), merged.variance_s2 / error**2)


def errors(column: Column, chosen: Mask) -> dict[str, Any]:
    """Failures in the chosen bins: number, share of all that ended, by kind."""
    ended, failed = float(column.ended[chosen].sum()), float(column.failed[chosen].sum())
    kinds = {kind: int(counts[chosen].sum()) for kind, counts in sorted(column.failed_by_kind.items())}
    return {
        "count": int(failed),
        "share": failed / ended if ended else 0.0,
        "by_kind": {kind: count for kind, count in kinds.items() if count},
    }


def transactions(measurement: Measurement, chosen: Mask, phases: dict[str, Mask]) -> dict[str, Any]:
    """Every transaction in the window and, briefly, in each phase."""
    total = float(measurement.transactions.ended[chosen].sum())
    found = {}
    for name, column in measurement.columns("transaction").items():
        ended = float(column.ended[chosen].sum())
        found[name] = {
            "count": int(column.ok[chosen].sum()),
            "errors": int(column.failed[chosen].sum()),
            "throughput_per_s": throughput(column.ok, measurement, chosen).document(),
            "response_time_s": distribution(column.response, column.response_sum_s, chosen, bin_s=measurement.bin_s),
            "phases": {phase: brief for phase, mask in phases.items() if (brief := _brief(column, mask)) is not None},
            "share": ended / total if total else 0.0,
        }
    return found


def _brief(column: Column, chosen: Mask) -> dict[str, Any] | None:
    merged = column.response.merged(chosen)
    if merged is None:
        return None
    total = float(column.response_sum_s[chosen].sum())
    return {"count": merged.total, "mean_s": total / merged.total, "p95_s": merged.quantile(0.95)}


def steps(measurement: Measurement, chosen: Mask) -> dict[str, Any]:
    """Every request of the window."""
    return {
        name: {
            "count": int(column.ok[chosen].sum()),
            "errors": int(column.failed[chosen].sum()),
            "response_time_s": distribution(
                column.response,
                column.response_sum_s,
                chosen,
                STEP_QUANTILES,
                extremes=False,
                bin_s=measurement.bin_s,
            ),
        }
        for name, column in measurement.columns("step").items()
    }


def timeline(measurement: Measurement) -> dict[str, Any]:
    """The whole run second by second; `t_s` is the middle of each second."""
    column = measurement.transactions
    rated = np.where(_is_remnant(measurement), np.nan, measurement.lengths_of_rates)
    return {
        "t_s": numbers(measurement.middles),
        "users": numbers(measurement.mean_users),
        "throughput_per_s": numbers(column.ok / rated),
        "response_mean_s": numbers(column.response_means_s),
        "p50_s": column.response.quantile_by_bin(0.5),
        "p95_s": column.response.quantile_by_bin(0.95),
        "errors_per_s": numbers(column.failed / rated),
        "stages": [{key: stage[key] for key in ("name", "phase", "start_s", "end_s")} for stage in measurement.stages],
    }


def _is_remnant(measurement: Measurement) -> Mask:
    """Short bins at the end of the drain, whose counts give no usable rate."""
    lengths = measurement.lengths
    drain = next((number for number, stage in enumerate(measurement.stages) if stage.get("name") == DRAIN), None)
    return np.asarray((measurement.stage == drain) & (lengths < _REMNANT_S))


def numbers(values: Floats) -> list[float | None]:
    """As JSON: None for what is not a number, nine digits after the point for the rest."""
    return [round(float(value), 9) if np.isfinite(value) else None for value in values]
