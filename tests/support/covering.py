"""Estimates the coverage of intervals: the fraction of random series whose interval contains the known true value.

The environment variable TOWTANK_CERTIFY sets the number of series for each cell of the tables. If it is not set, the
tests use a small number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from towtank.analysis import load
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.statistics.histogram_layout import Layout
from towtank.analysis.timed_histograms import TimedHistograms

SERIES = int(os.environ.get("TOWTANK_CERTIFY", "0"))
"""Number of random series for each cell of the tables. If it is 0, each test uses its own, small number."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
LAYOUT = Layout(1, 3_600_000_000_000, 3)


@dataclass
class Cell:
    """Counts for one cell of a table: random series, intervals, and intervals that contain the true value.

    Attributes
    ----------
    made : int
        Number of series.
    given : int
        Number of series for which an interval was estimated.
    held : int
        Number of intervals that contain the true value.
    """

    made: int = 0
    given: int = 0
    held: int = 0

    def take(self, found, truth):
        """Count an estimate, and its interval if it has one."""
        self.made += 1
        if found.low is not None:
            self.given += 1
            self.held += found.low <= truth <= found.high
        else:
            assert found.needs_s is not None, "an estimate without an interval must state the needed length of a run"

    @property
    def wrong(self):
        """Fraction of all series whose interval does not contain the true value."""
        return (self.given - self.held) / self.made

    @property
    def share_given(self):
        return self.given / self.made

    @property
    def coverage(self):
        """Fraction of the intervals that contain the true value, or None if no series has an interval."""
        return self.held / self.given if self.given else None

    def row(self, *head):
        """Return the cells of a table row: `head`, then fraction of series with an interval, coverage, and `wrong`, in
        per cent.
        """
        held = "-" if self.coverage is None else f"{100 * self.coverage:.1f} %"
        return (*head, f"{100 * self.share_given:.0f} %", held, f"{100 * self.wrong:.1f} %")


def autoregressive(stream, count, correlation):
    """Return a stationary normal first-order autoregressive series with mean 10 and variance 1."""
    noise = stream.normal(size=count)
    noise[0] /= np.sqrt(1 - correlation**2)
    return 10 + np.sqrt(1 - correlation**2) * lfilter([1.0], [1.0, -correlation], noise)


def of_autoregressive(seed, series, seconds, correlation):
    """Return the coverage of intervals for the mean of an autoregressive series."""
    stream, cell = np.random.default_rng(seed), Cell()
    for _ in range(series):
        cell.take(ratio_of_sums(autoregressive(stream, seconds, correlation), np.ones(seconds))[0], 10.0)
    return cell


class Recorded(TimedHistograms):
    """Response times of each second, in histogram buckets as recorded by the engine."""

    def __init__(self, seconds, second, times_s):
        super().__init__(seconds)
        values = (times_s * 1e9).astype(np.int64)
        half = LAYOUT.half_magnitude
        bucket = np.maximum(0, np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) - half)
        index = (bucket << half) + (values >> bucket)
        joined, counts = np.unique(second * (1 << 40) + index, return_counts=True)
        self.__dict__["_decoded"] = (LAYOUT, joined >> 40, joined & ((1 << 40) - 1), counts, 0)


def queue(stream, rate, utilization, seconds):
    """Simulate an M/M/1 queue. Return, for each request that ends in the steady-state window, its end in whole seconds
    and its response time.

    The waiting time equals the height of a random walk above its minimum so far (Lindley 1952), so a cumulative sum and
    a running minimum simulate the queue. Response times are exponential with mean 1 / (mu - lambda), where mu is the
    service rate and lambda the arrival rate.
    """
    service = utilization / rate
    warm_up = max(20.0, 20 * service / (1 - np.sqrt(utilization)) ** 2)
    count = int(rate * (warm_up + seconds) * 1.1 + 300)
    arrivals = np.cumsum(stream.exponential(1 / rate, count))
    services = stream.exponential(service, count)
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - np.diff(arrivals))])
    times = walk - np.minimum.accumulate(walk) + services
    ends = arrivals + times - warm_up
    inside = (ends >= 0) & (ends < seconds)
    return ends[inside].astype(np.int64), times[inside]


def of_queue(seed, series, rate, utilization, seconds):
    """Return the coverage of intervals for throughput, mean and quantiles of the response time of an M/M/1
    queue.
    """
    stream = np.random.default_rng(seed)
    mean = 1 / (rate / utilization - rate)
    truths = {name: -mean * np.log(1 - share) for name, share in QUANTILES.items()}
    cells = {name: Cell() for name in ("throughput", "mean", *QUANTILES)}
    for _ in range(series):
        second, times = queue(stream, rate, utilization, seconds)
        counted(cells, seconds, second, times, {"throughput": rate, "mean": mean, **truths})
    return cells


def of_independent(seed, series, load_of, draw, truths):
    """Return the coverage of intervals for independent response times with Poisson arrivals. `draw` returns random
    response times.
    """
    rate, seconds = load_of
    stream = np.random.default_rng(seed)
    cells = {name: Cell() for name in truths}
    for _ in range(series):
        count = stream.poisson(rate * seconds)
        counted(cells, seconds, stream.integers(0, seconds, count), draw(stream, count), truths)
    return cells


def counted(cells, seconds, second, times, truths):
    """Estimate throughput, mean and quantiles of one run. Count each estimate in the cell of its quantity."""
    timed, chosen = Recorded(seconds, second, times), np.ones(seconds, dtype=bool)
    sums = np.bincount(second, weights=times, minlength=seconds)
    merged = timed.merged(chosen)
    for name, cell in cells.items():
        if name == "throughput":
            found = ratio_of_sums(timed.counts, np.ones(seconds))[0]
        elif name == "mean":
            found = load.mean_of(timed, sums, chosen)[0]
        else:
            found = load.quantile(timed, merged, QUANTILES[name], chosen)
        cell.take(found, truths[name])
