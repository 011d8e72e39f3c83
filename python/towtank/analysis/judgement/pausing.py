"""Finds long times in which no request starts and that are not part of a bursty load. Possible causes are several runs
in one file, a clock that was set, and wrong time stamps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.judgement.observations import Observations, clock_step
from towtank.analysis.measurement import Counts, Floats
from towtank.foreign import Requests

# A gap without starts counts only if at least this number of starts is expected in a time of its length. With
# independent arrivals, the probability of such a gap is at most exp(-30). [1]
_EXPECTED_AT_LEAST = 30.0
# The longest gaps count only if they are at least this many times as long as every other gap, because a load with ramps
# or bursts has gaps of all lengths. [1]
_TIMES_THE_OTHERS = 10.0
# A gap of at most this many ticks of a coarse clock may be a rounding error, so it does not count. [1]
_STEPS = 2.0
# A load comes in bursts if it has at least `_CYCLES` pauses, the longest pause is at most `_RESEMBLE` times the median
# pause, and the largest burst has at most `_ROWS_RESEMBLE` times the median number of requests. For comparison, the
# longest of a hundred exponential times is about seven times their median. [1]
_CYCLES, _RESEMBLE, _ROWS_RESEMBLE = 10, 10.0, 30.0
# Users with a constant think time start in waves. Pauses may lie between waves if there are at least `_WAVES` pauses,
# and if the longest pause is at most `_EQUAL` times as long as the shortest. They may also lie between waves if fewer
# than `_ROWS_OF_A_WAVE` requests lie before, between and after the pauses each time. [1]
_WAVES, _EQUAL, _ROWS_OF_A_WAVE = 3, 1.5, 500


@dataclass(frozen=True)
class Pauses:
    """Times in which no request started.

    Attributes
    ----------
    starts_s, ends_s : ndarray of shape (n_pauses,)
        Start and end of each pause, as time since the first start of a request. Sorted by time. [s]
    rows : ndarray of int of shape (n_pauses + 1,)
        Number of requests that started before the first pause, between two pauses, and after the last pause. [1]
    """

    starts_s: Floats
    ends_s: Floats
    rows: Counts

    @property
    def lengths_s(self) -> Floats:
        return np.asarray(self.ends_s - self.starts_s)

    def in_all_s(self, at_least_s: float) -> float:
        """Return the total length of the pauses that last at least `at_least_s`. [s]"""
        return float(self.lengths_s[self.lengths_s >= at_least_s].sum())

    @property
    def longest(self) -> int:
        """Index of the longest pause."""
        return int(np.argmax(self.lengths_s))

    @property
    def are_bursts(self) -> bool:
        """True if the load consists of many similar bursts. The pauses between the bursts are then part of the load."""
        lengths, rows = self.lengths_s, self.rows
        alike = lengths.max() <= _RESEMBLE * np.median(lengths) and rows.max() <= _ROWS_RESEMBLE * np.median(rows)
        return len(lengths) >= _CYCLES and bool(alike)

    @property
    def may_be_waves(self) -> bool:
        """True if the pauses may lie between waves of users who start together. This is the case for at least three
        pauses of nearly equal length, or for few requests before, between and after the pauses.
        """
        lengths = self.lengths_s
        are_equal = len(lengths) >= _WAVES and float(lengths.max()) <= _EQUAL * float(lengths.min())
        return are_equal or int(self.rows.max()) < _ROWS_OF_A_WAVE


def pauses_of(requests: Requests) -> Pauses | None:
    """Return the pauses in the requests of a file: times that are far longer than all other gaps between starts. Return
    None if there are none.

    Notes
    -----
    A pause is a time in which no request starts or is in progress. It counts if three conditions hold:

    - On average, at least 30 requests start in a time of this length. A file of fewer than 30 requests therefore has no
      pause.
    - It is longer than two ticks of the clock.
    - The pause, or each pause in the group of the longest pauses, is ten times as long as every other gap between
      starts.

    No pause is returned if the users started together and then think. This is assumed if at least 30 requests started
    before the first pause, all of them within the longest of their response times.
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
    """Return the sequences of consecutive observations in which no request started."""
    empty = np.concatenate([[False], observed.empty, [False]]).astype(np.int64)
    edges = np.flatnonzero(np.diff(empty))
    return _pauses(requests.start_s, observed.edges_s[edges[::2]], observed.edges_s[edges[1::2]])


def _pauses(times_s: Floats, starts_s: Floats, ends_s: Floats) -> Pauses:
    before = np.searchsorted(times_s, ends_s)
    return Pauses(starts_s, ends_s, np.diff(np.concatenate([[0], before, [len(times_s)]])))
