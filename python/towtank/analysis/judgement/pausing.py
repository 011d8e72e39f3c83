"""Finds times without any start that are no part of a load: joined runs, a clock that was set, wrong stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.judgement.observations import Observations, clock_step
from towtank.analysis.measurement import Counts, Floats
from towtank.foreign import Requests

# A gap in which so many requests start on average. Of independent arrivals a gap is as long with a probability of
# exp(-30), so in one of 10^9 files of 10,000 requests.
_EXPECTED_AT_LEAST = 30.0
# Ramps and bursts have gaps of all sizes, so the longest gaps count only if they are this many times as long as all
# others.
_TIMES_THE_OTHERS = 10.0
# A gap of two steps of a coarse clock may be rounding.
_STEPS = 2.0
# So many pauses and bursts that resemble each other are a load that comes in bursts, whose throughput is the mean of
# many cycles: the longest of a hundred exponential times is some seven times their median.
_CYCLES, _RESEMBLE, _ROWS_RESEMBLE = 10, 10.0, 30.0
# Fewer pauses of equal length, or small parts between pauses, may be users with a fixed think time, who come in waves.
_WAVES, _EQUAL, _ROWS_OF_A_WAVE = 3, 1.5, 500


@dataclass(frozen=True)
class Pauses:
    """Times in which no request started.

    Attributes
    ----------
    starts_s, ends_s : ndarray of shape (n_pauses,)
        Edges of each pause in the order of time, from the first start. [s]
    rows : ndarray of int of shape (n_pauses + 1,)
        Requests that started before, between and after the pauses. [1]
    """

    starts_s: Floats
    ends_s: Floats
    rows: Counts

    @property
    def lengths_s(self) -> Floats:
        """Lengths of the pauses. [s]"""
        return np.asarray(self.ends_s - self.starts_s)

    def in_all_s(self, at_least_s: float) -> float:
        """Sum of the lengths of the pauses that are at least so long. [s]"""
        return float(self.lengths_s[self.lengths_s >= at_least_s].sum())

    @property
    def longest(self) -> int:
        """Place of the longest pause."""
        return int(np.argmax(self.lengths_s))

    @property
    def are_bursts(self) -> bool:
        """True if the load comes in many bursts, so that its pauses are a part of it."""
        lengths, rows = self.lengths_s, self.rows
        alike = lengths.max() <= _RESEMBLE * np.median(lengths) and rows.max() <= _ROWS_RESEMBLE * np.median(rows)
        return len(lengths) >= _CYCLES and bool(alike)

    @property
    def may_be_waves(self) -> bool:
        """True if three pauses or more are equally long, or no part between them has many requests."""
        lengths = self.lengths_s
        are_equal = len(lengths) >= _WAVES and float(lengths.max()) <= _EQUAL * float(lengths.min())
        return are_equal or int(self.rows.max()) < _ROWS_OF_A_WAVE


def pauses_of(requests: Requests) -> Pauses | None:
    """Return the pauses of a file that are far longer than all other gaps; None without such pauses.

    Notes
    -----
    A pause is a time without a start and without a request in progress. It counts if 30 requests or more start in such
    a time on average, if it is longer than two steps of the clock, and if it, or the group of the longest pauses, is
    ten times as long as every other gap between starts. So a file of fewer than 30 requests has none. Users who all
    start at once and then think are no pause: their first requests start within a response time.
    """
    starts = requests.start_s
    if len(starts) < _EXPECTED_AT_LEAST:
        return None
    gaps = np.diff(starts)
    idle = starts[1:] - np.maximum(starts[:-1], np.maximum.accumulate(requests.end_s)[:-1])
    least = max(_EXPECTED_AT_LEAST * float(starts[-1]) / len(starts), _STEPS * clock_step(requests))
    order = np.argsort(-idle, kind="stable")
    longest = idle[order][: int((idle > least).sum())]
    others = np.maximum.accumulate(gaps[order][::-1])[::-1][1 : len(longest) + 1]
    apart = np.flatnonzero(longest >= _TIMES_THE_OTHERS * others)
    if not len(apart):
        return None
    places = np.sort(order[: apart[0] + 1])
    first = int(places[0]) + 1
    if first >= _EXPECTED_AT_LEAST and starts[first - 1] <= float(requests.elapsed_s[:first].max()):
        return None
    return _pauses(starts, starts[1:][places] - idle[places], starts[1:][places])


def empty_stretches(requests: Requests, observed: Observations) -> Pauses:
    """Return the stretches of neighbouring observations without a start."""
    empty = np.concatenate([[False], observed.empty, [False]]).astype(np.int64)
    edges = np.flatnonzero(np.diff(empty))
    return _pauses(requests.start_s, observed.edges_s[edges[::2]], observed.edges_s[edges[1::2]])


def _pauses(times_s: Floats, starts_s: Floats, ends_s: Floats) -> Pauses:
    before = np.searchsorted(times_s, ends_s)
    return Pauses(starts_s, ends_s, np.diff(np.concatenate([[0], before, [len(times_s)]])))
