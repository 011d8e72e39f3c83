"""Throughput and response times of a window, with intervals where they hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.judgement.observations import Observations
from towtank.analysis.statistics.estimates import NOTHING, Estimate
from towtank.analysis.statistics.nominal import quantile_of_long, ratio_of_long
from towtank.analysis.windows.relaxation import memory_of
from towtank.foreign import Requests, Summary

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""Percentiles of a judgement."""
MEAN = "mean"
# Lengthening c of intervals of correlated times, see `of_requests`, by M/M/1 at 50 to 90 % with 3,000 and 10,000
# requests, 500 files each. Of the intervals of p95 at 80 %, 96 % hold (92.5 % without), of the mean at 90 %, 94.4 %
# (92.4 % without). Without intervals are p95 at 90 % and p99 at 70 %, of which 67 and 75 % held. [1]
_LONGER = {MEAN: 8.0, "p50": 4.0, "p90": 25.0, "p95": 40.0, "p99": 300.0}
_LONGEST = 1.5
# Response times of which so many are worth one independent time are correlated. [1]
_CORRELATED = 2.0
_MS = 1e3


@dataclass(frozen=True)
class Figures:
    """Figures of a result.

    Attributes
    ----------
    throughput_per_s : Estimate
        Successful requests. [1/s]
    response_time_s : dict of Estimate
        `mean` and the percentiles. [s]
    """

    throughput_per_s: Estimate
    response_time_s: dict[str, Estimate]

    @property
    def mean_s(self) -> Estimate:
        """Mean response time. [s]"""
        return self.response_time_s[MEAN]

    def document(self) -> dict[str, object]:
        """Return the figures as JSON: value, low and high of each, times in milliseconds."""
        return {
            "throughput_per_s": plain(self.throughput_per_s),
            "response_time_ms": {name: plain(found.scaled(_MS)) for name, found in self.response_time_s.items()},
        }


def plain(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate as `value`, `low` and `high`; None for what is not known."""
    found = estimate.document()
    return {name: found[name] for name in ("value", "low", "high")}


def of_requests(requests: Requests, observed: Observations) -> Figures:
    """Return the figures of the requests of a window.

    Notes
    -----
    A queue near saturation has a rare long busy period in which its mean and tail are made. A window of few relaxation
    times r may have none of these, and then looks calmer and less correlated than it is. Intervals of correlated times
    are therefore longer by 1 + c / r, with c from simulated M/M/1 queues; beyond a factor of 1.5 there is none.
    """
    mean = ratio_of_long(observed.response_sum_s, observed.started)
    relaxations = memory_of(observed.response_sum_s, observed.started, observed.lengths_s).relaxations
    is_correlated = _effect(mean, requests) > _CORRELATED
    times = {}
    for name, share in {MEAN: None, **QUANTILES}.items():
        factor = 1 + _LONGER[name] / relaxations if is_correlated else 1.0
        if share is None:
            times[name] = _longer(mean, factor)
        else:
            times[name] = quantile_of_long(requests.elapsed_s, observed.places, len(observed.started), share, factor)
        if factor > _LONGEST:
            times[name] = Estimate(times[name].value, n=times[name].n)
    return Figures(ratio_of_long(observed.completed, observed.lengths_s), times)


def _effect(mean: Estimate, requests: Requests) -> float:
    """Return how many correlated response times are worth one independent time; infinite if unknown. [1]"""
    half = mean.half_width
    if half is None:
        return math.inf
    variance = float(np.var(requests.elapsed_s))
    return len(requests) * (half / 2) ** 2 / variance if variance > 0 else 1.0


def _longer(estimate: Estimate, factor: float) -> Estimate:
    """Return an estimate with an interval that is longer by a factor, in the logarithm."""
    value, ends = estimate.value, (estimate.low, estimate.high)
    if not value or ends[0] is None or ends[1] is None or ends[0] <= 0 or factor == 1:
        return estimate
    low, high = (value * (end / value) ** factor for end in (ends[0], ends[1]))
    return replace(estimate, low=low, high=high)


def of_summary(summary: Summary) -> Figures:
    """Return the figures of a file of summaries, without intervals."""
    times = {MEAN: _value(summary.mean_s)}
    times |= {name: _value(summary.percentiles_s.get(name)) for name in QUANTILES}
    return Figures(_value(summary.throughput_per_s), times)


def _value(value: float | None) -> Estimate:
    return NOTHING if value is None else Estimate(value)
