"""Throughput and response times of a window, with intervals where they hold."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.analysis.judgement.observations import Observations
from towtank.analysis.statistics.estimates import NOTHING, Estimate
from towtank.analysis.statistics.nominal import quantile_of_long, ratio_of_long
from towtank.foreign import Requests, Summary

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""Percentiles of a judgement."""
MEAN = "mean"
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
    """Return the figures of the requests of a window."""
    times = {MEAN: ratio_of_long(observed.response_sum_s, observed.started)}
    for name, share in QUANTILES.items():
        times[name] = quantile_of_long(requests.elapsed_s, observed.places, len(observed.started), share)
    return Figures(ratio_of_long(observed.completed, observed.lengths_s), times)


def of_summary(summary: Summary) -> Figures:
    """Return the figures of a file of summaries, without intervals."""
    times = {MEAN: _value(summary.mean_s)}
    times |= {name: _value(summary.percentiles_s.get(name)) for name in QUANTILES}
    return Figures(_value(summary.throughput_per_s), times)


def _value(value: float | None) -> Estimate:
    return NOTHING if value is None else Estimate(value)
