"""Computes the results of a window: throughput, response times and errors, by transaction and by request (step)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from towtank.analysis import laws
from towtank.analysis.measurement import DRAIN_STAGE, RAMPS, Floats, Mask, MeasuredColumn, Measurement
from towtank.analysis.merged_percentiles import HISTOGRAM, QUANTILES
from towtank.analysis.statistics import (
    design_effect,
    effective_ranks,
    estimates,
    likely_design_effect,
    ratio_along_trend,
    ratio_of_sums,
)
from towtank.analysis.statistics.estimates import CONFIDENCE, NO_ESTIMATE, Estimate
from towtank.analysis.statistics.histograms import Histogram, encode, rank_of
from towtank.analysis.timed_histograms import TimedHistograms
from towtank.documents import Sparse

# No rate is computed for the last recorded interval if it is shorter than this, because the rate would be mostly
# chance. All other intervals last one second. [s]
_REMNANT_S = 0.5
STEP_QUANTILES = {"p50": 0.5, "p95": 0.95}
_MEDIAN = 0.5
# An interval that is too short for an estimate leads to a recommended length. `_SPARE` multiplies the length that is
# expected to suffice. The recommended length is at least `_LONGER` times the present length.
_SPARE, _LONGER = 4.0, 1.5


Distribution = Mapping[str, Estimate | float | str | None]
"""Statistics of times in a run summary: mean and quantiles by name, `min`, `max` [s], and the encoded `histogram`."""


def estimate_in(times: Distribution, name: str) -> Estimate:
    """Return the mean or a quantile of times; `NO_ESTIMATE` if it is missing. [s]"""
    found = times.get(name)
    return found if isinstance(found, Estimate) else NO_ESTIMATE


def throughput(counts: Floats, measurement: Measurement, chosen: Mask) -> Estimate:
    """Return the rate of the counted events over the chosen bins of time, with an interval. [1/s]"""
    return ratio_of_sums(counts[chosen], measurement.lengths[chosen], bin_s=measurement.bin_s)[0]


def quantile(
    timed: TimedHistograms, merged: Histogram, probability: float, chosen: Mask, bin_s: float = 1.0
) -> Estimate:
    """Return a quantile of times over the chosen bins, with an interval that allows for correlation between seconds.
    [s]

    Notes
    -----
    Values above a high quantile occur in clusters of consecutive seconds. If a window contains only a few of these
    clusters, the design effect at the quantile is unreliable. The design effect at the median is more reliable, because
    the window contains far more clusters above the median, and these last at least as long. The interval therefore uses
    the larger of the two design effects. It is given only if there are enough data for both, so a few extreme values
    hardly decide whether the quantile has an interval.
    """
    count = merged.total
    value = merged.quantile(probability)
    shares = dict.fromkeys((probability, _MEDIAN))
    effects = [design_effect(*_below(timed, merged, share, chosen), share) for share in shares]
    needs = max((needed for _, needed in effects if needed is not None), default=None)
    effect = max(size for size, _ in effects)
    ranks = effective_ranks(count, probability, effect)
    if needs is not None or ranks is None:
        # Number of independent values that are needed for an interval: fewer have no rank for one of its two limits.
        worth = math.log((1 - CONFIDENCE) / 2) / math.log(max(probability, 1 - probability))
        likely = max(likely_design_effect(*_below(timed, merged, share, chosen), share) for share in shares)
        longer = math.ceil(float(chosen.sum()) * max(_LONGER, _SPARE * worth * likely / count))
        return Estimate(value, n=count, needs_s=estimates.needed_s(max(longer, needs or 0), bin_s))
    low, high = (merged.value_at_rank(rank) for rank in ranks)
    return Estimate(value, low, high, estimates.ORDER_STATISTICS, count, CONFIDENCE)


def _below(timed: TimedHistograms, merged: Histogram, probability: float, chosen: Mask) -> tuple[Floats, Floats]:
    """Return two arrays with one number for each chosen bin: values at or below the quantile, and all values. [1]"""
    index = merged.index_at_rank(rank_of(probability, merged.total))
    return timed.below(index)[chosen], timed.counts[chosen]


def distribution(
    timed: TimedHistograms,
    sums: Floats,
    chosen: Mask,
    quantiles: dict[str, float] | None = None,
    extremes: bool = True,
    *,
    bin_s: float,
    alike: Floats | None = None,
    keep: bool = False,
) -> Distribution:
    """Return mean, quantiles, minimum and maximum of times in the chosen bins, as an entry of a run summary. [s]

    Parameters
    ----------
    timed : TimedHistograms
    sums : ndarray of shape (n_bins,)
        Exact sums of the times. [s]
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.
    quantiles : dict, default `QUANTILES`
        Quantiles to compute: names, and shares of values below them, in (0, 1).
    extremes : bool, default True
        True to include minimum and maximum.
    bin_s : float
        Length of a bin. [s]
    alike : ndarray of shape (n_bins,), optional
        Sums with nearly the same total as `sums`, such as `response_by_users`. If given, the error of the mean is
        computed from these sums. [s]
    keep : bool, default False
        True to include the histogram of all values, from which percentiles over several runs are computed.
    """
    quantiles = QUANTILES if quantiles is None else quantiles
    merged = timed.merged(chosen)
    found: dict[str, Estimate | float | str | None] = {"mean": mean_of(timed, sums, chosen, bin_s, alike)[0]}
    for name, probability in quantiles.items():
        found[name] = NO_ESTIMATE if merged is None else quantile(timed, merged, probability, chosen, bin_s)
    if extremes:
        found["min"] = None if merged is None else merged.minimum_s
        found["max"] = None if merged is None else merged.maximum_s
    if keep:
        found[HISTOGRAM] = None if merged is None else encode(merged)
    return found


def mean_of(
    timed: TimedHistograms, sums: Floats, chosen: Mask, bin_s: float = 1.0, alike: Floats | None = None
) -> tuple[Estimate, float | None]:
    """Return two values for times in the chosen bins: the mean, computed from exact sums, and its standard error.
    [s]
    """
    same = None if alike is None else alike[chosen]
    return ratio_of_sums(sums[chosen], timed.counts[chosen], bin_s=bin_s, alike=same)


def response_by_users(measurement: Measurement, chosen: Mask) -> Floats | None:
    """Return user seconds minus pauses for each bin. By Little's law, their total equals that of the response times.
    [s]

    The array has shape (n_bins,). Return None for an open load, if a transaction ended without a response time, or if
    the law does not hold in the chosen bins; see `laws.response_by_users`.
    """
    every = measurement.transactions
    is_timed = every.ended[chosen].sum() == every.response.counts[chosen].sum()
    if measurement.arrivals[chosen].any() or not is_timed:
        return None
    unpaused = np.asarray(measurement.user_s - measurement.think_s, dtype=float)
    sums, ended, user_s = every.response_sum_s[chosen], every.ended[chosen], float(measurement.user_s[chosen].sum())
    return None if laws.response_by_users(unpaused[chosen], sums, ended, user_s) is None else unpaused


def effective_samples(measurement: Measurement, chosen: Mask) -> float:
    """Return the effective sample size: a mean of this many independent response times would be as precise as the mean
    of the recorded times. [1]

    Notes
    -----
    The effective sample size is the variance of the values, divided by the squared standard error of their mean. It is
    at most the number of values. If the series is too short for a standard error, the number of values is returned.
    """
    column = measurement.transactions
    merged = column.response.merged(chosen)
    if merged is None:
        return 0.0
    alike = response_by_users(measurement, chosen)
    error = mean_of(column.response, column.response_sum_s, chosen, alike=alike)[1]
    if not error:
        return float(merged.total)
    return min(float(merged.total), merged.variance_s2 / error**2)


@dataclass(frozen=True)
class Errors:
    """Failures in a run summary: their number, their share of all that ended in [0, 1], and their number by kind."""

    count: int = 0
    share: float = 0.0
    by_kind: dict[str, int] = field(default_factory=dict)


def errors(column: MeasuredColumn, chosen: Mask) -> Errors:
    """Return the failures in the chosen bins."""
    ended, failed = float(column.ended[chosen].sum()), float(column.failed[chosen].sum())
    return Errors(int(failed), failed / ended if ended else 0.0, failed_by_kind(column, chosen))


def failed_by_kind(column: MeasuredColumn, chosen: Mask) -> dict[str, int]:
    """Return the number of failures in the chosen bins by kind. Kinds that did not occur are not included."""
    counted = {kind: int(counts[chosen].sum()) for kind, counts in sorted(column.failed_by_kind.items())}
    return {kind: count for kind, count in counted.items() if count}


def status_codes(column: MeasuredColumn, chosen: Mask) -> dict[str, int] | None:
    """Return the number of complete responses in the chosen bins by status code; None if the engine did not count
    status codes.
    """
    if not column.codes_recorded:
        return None
    counted = {str(code): int(counts[chosen].sum()) for code, counts in sorted(column.status_codes.items())}
    return {code: count for code, count in counted.items() if count}


@dataclass(frozen=True)
class PhaseEstimates:
    """Mean response time of a transaction in a ramp, with its interval. [s]"""

    mean_s: Estimate


@dataclass(frozen=True)
class TransactionInPhase(Sparse):
    """Number [1], mean and p95 [s] of a transaction's response times in a phase of the load; `estimates` only in a
    ramp.
    """

    count: int
    mean_s: float
    p95_s: float
    histogram: str | None = None
    estimates: PhaseEstimates | None = None


@dataclass(frozen=True)
class Transaction:
    """Results of a transaction in the window of a run. `share` is its share of all ended transactions, in [0, 1]."""

    count: int = 0
    errors: int = 0
    status_codes: dict[str, int] | None = None
    throughput_per_s: Estimate = NO_ESTIMATE
    response_time_s: Distribution = field(default_factory=dict)
    phases: dict[str, TransactionInPhase] = field(default_factory=dict)
    share: float = 0.0


@dataclass(frozen=True)
class Step:
    """Results of a request of a transaction in the window of a run."""

    count: int = 0
    errors: int = 0
    status_codes: dict[str, int] | None = None
    response_time_s: Distribution = field(default_factory=dict)


def transactions(measurement: Measurement, chosen: Mask, phases: dict[str, Mask]) -> dict[str, Transaction]:
    """Return the results of each transaction in the window."""
    total = float(measurement.transactions.ended[chosen].sum())
    found = {}
    for name, column in measurement.columns("transaction").items():
        ended = float(column.ended[chosen].sum())
        found[name] = Transaction(
            int(column.ok[chosen].sum()),
            int(column.failed[chosen].sum()),
            status_codes(measurement.steps_of(name), chosen),
            throughput(column.ok, measurement, chosen),
            distribution(column.response, column.response_sum_s, chosen, bin_s=measurement.bin_s, keep=True),
            {phase: brief for phase, mask in phases.items() if (brief := _brief(column, phase, mask)) is not None},
            ended / total if total else 0.0,
        )
    return found


def _brief(column: MeasuredColumn, phase: str, chosen: Mask) -> TransactionInPhase | None:
    merged = column.response.merged(chosen)
    if merged is None:
        return None
    sums, counts = column.response_sum_s[chosen], column.response.counts[chosen]
    estimates = PhaseEstimates(ratio_along_trend(sums, counts)) if phase in RAMPS else None
    mean_s = float(sums.sum()) / merged.total
    return TransactionInPhase(merged.total, mean_s, merged.quantile(0.95), encode(merged), estimates)


def steps(measurement: Measurement, chosen: Mask) -> dict[str, Step]:
    """Return counts, status codes and response times in the window for each request of a transaction (step)."""
    return {
        name: Step(
            int(column.ok[chosen].sum()),
            int(column.failed[chosen].sum()),
            status_codes(column, chosen),
            distribution(
                column.response, column.response_sum_s, chosen, STEP_QUANTILES, extremes=False, bin_s=measurement.bin_s
            ),
        )
        for name, column in measurement.columns("step").items()
    }


def timeline(measurement: Measurement) -> dict[str, object]:
    """Return users, rates and response times of each second of the whole run.

    `t_s` is the middle of the second, in run time.
    """
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
        "stages": [
            {"name": stage.name, "phase": stage.phase, "start_s": stage.start_s, "end_s": stage.end_s}
            for stage in measurement.stages
        ],
    }


def _is_remnant(measurement: Measurement) -> Mask:
    """Return a mask of the last bins of the drain stage that are too short for a rate."""
    lengths = measurement.lengths
    drain = next((number for number, stage in enumerate(measurement.stages) if stage.name == DRAIN_STAGE), None)
    return np.asarray((measurement.stage == drain) & (lengths < _REMNANT_S))


def numbers(values: Floats) -> list[float | None]:
    """Return an array as a list of numbers for JSON, rounded to nine decimals; NaN and infinity become None."""
    return [round(float(value), 9) if np.isfinite(value) else None for value in values]
