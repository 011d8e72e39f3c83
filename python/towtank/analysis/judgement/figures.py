"""Computes throughput and response times of a window, with intervals if they are reliable."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.judgement.observations import Observations
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.statistics.nominal import quantile_of_long, ratio_of_long
from towtank.analysis.windows.relaxation import memory_of
from towtank.foreign import Requests, Summary

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""Percentiles of response times to report: name, and share of the response times below the percentile, in (0, 1)."""
MEAN = "mean"
# Constant c of `of_requests` for each statistic. It was determined from simulated M/M/1 queues with utilizations of 70
# to 98 % in files of 10,000 requests, and tested with other files of such queues:
# `tests/certified/test_certified_judge.py`. [1]
_LONGER = {MEAN: 30.0, "p50": 16.0, "p90": 60.0, "p95": 150.0, "p99": 300.0}
_LONGEST = 4.0  # No interval is returned if it would be lengthened by a larger factor. [1]
# Response times are correlated if the design effect exceeds this: more than this number of them carry as much
# information as one independent response time. [1]
_CORRELATED = 2.0
_MS = 1e3


@dataclass(frozen=True)
class Figures:
    """Throughput and response times of a result file.

    Attributes
    ----------
    throughput_per_s : Estimate
        Throughput of successful requests. [1/s]
    response_time_s : dict of Estimate
        Mean (`mean`) and percentiles of the response times, by name. [s]
    """

    throughput_per_s: Estimate
    response_time_s: dict[str, Estimate]

    @property
    def mean_s(self) -> Estimate:
        return self.response_time_s[MEAN]

    def document(self) -> dict[str, object]:
        """Return throughput and response times as JSON, each as value, low and high. Times are in milliseconds."""
        return {
            "throughput_per_s": plain(self.throughput_per_s),
            "response_time_ms": {name: plain(found.scaled(_MS)) for name, found in self.response_time_s.items()},
        }


def plain(estimate: Estimate) -> dict[str, float | None]:
    """Return the numbers `value`, `low` and `high` of an estimate; None for an unknown number."""
    written = estimate.written
    return {"value": written.value, "low": written.low, "high": written.high}


def of_requests(requests: Requests, observed: Observations) -> Figures:
    """Return throughput and response times of the requests in a window.

    Notes
    -----
    Near saturation, long busy periods are rare, but they determine the mean and the high percentiles of response times.
    A window that is only a few relaxation times of the queue long may contain no such period. Its response times then
    appear shorter and less correlated than those of a longer window, so nearly all wrong intervals lie below the true
    value. If the window is r relaxation times long, the upper half of the interval of correlated response times is
    therefore lengthened by the factor 1 + c / r, where c comes from simulated M/M/1 queues. No interval is given if the
    factor exceeds 4.

    A stricter limit of the factor would make the remaining intervals worse, because it would select files in which the
    queue was short by chance.
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
    """Return the design effect: the number of recorded response times that carry as much information as one independent
    response time; infinite if unknown. [1]
    """
    half = mean.half_width
    if half is None:
        return math.inf
    variance = float(np.var(requests.elapsed_s))
    return len(requests) * (half / 2) ** 2 / variance if variance > 0 else 1.0


def _longer(estimate: Estimate, factor: float) -> Estimate:
    """Return an estimate whose upper limit is farther from the value: their distance on the logarithmic scale is
    multiplied by `factor`.
    """
    value, high = estimate.value, estimate.high
    if not value or high is None or factor == 1:
        return estimate
    return replace(estimate, high=value * (high / value) ** factor)


def of_summary(summary: Summary) -> Figures:
    """Return throughput and response times without intervals, from a result file that contains summaries only."""
    times = {MEAN: _value(summary.mean_s)}
    times |= {name: _value(summary.percentiles_s.get(name)) for name in QUANTILES}
    return Figures(_value(summary.throughput_per_s), times)


def _value(value: float | None) -> Estimate:
    return NO_ESTIMATE if value is None else Estimate(value)
