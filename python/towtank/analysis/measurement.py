"""Holds the records of the engine as arrays over time. All results about the load are computed from these arrays.

A bin combines the intervals of all load threads in one second of one stage, or in one merged interval of a long run.
Each histogram is decoded once, on first use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from towtank.analysis.timed_histograms import TimedHistograms
from towtank.results import RecordedInterval, RecordedSeries, Recording, Stalled, names_of, stages_of

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
"""Bins of a run, such as those of a window; shape (n_bins,)."""

# A second follows another if it starts at most this time later. Load threads do not start at exactly the same time. [s]
_FOLLOWS_S = 0.02
RAMPS = ("ramp_up", "ramp_down")
"""Names of the phases in which the planned load changes."""
DRAIN_STAGE = "drain"
"""Name of the stage that the engine appends to the planned stages. It lasts from the end of the load to the last
response.
"""


@dataclass
class MeasuredColumn:
    """Results of one step (request of a transaction), page or transaction in each bin; or the sum of several such
    results.

    Attributes
    ----------
    ok, failed, offered, started : ndarray of shape (n_bins,)
        Number of requests or transactions that succeeded, failed, were offered and were started. [1]
    failed_by_kind, not_started : dict of str to ndarray of shape (n_bins,)
        Failures by kind, and requests or transactions that were offered but not started, by reason. [1]
    status_codes : dict of int to ndarray of shape (n_bins,)
        Complete responses by status code; empty for transactions, see `Measurement.steps_of`. [1]
    codes_recorded : bool
        True if the engine counted the status codes of all responses.
    response_sum_s, exchange_sum_s : ndarray of shape (n_bins,)
        Exact sums of the times in the histograms `response` and `exchange`. [s]
    """

    bins: int
    ok: Floats
    failed: Floats
    offered: Floats
    started: Floats
    response_sum_s: Floats
    exchange_sum_s: Floats
    response: TimedHistograms
    exchange: TimedHistograms
    failed_by_kind: dict[str, Floats] = field(default_factory=dict)
    not_started: dict[str, Floats] = field(default_factory=dict)
    status_codes: dict[int, Floats] = field(default_factory=dict)
    codes_recorded: bool = True

    @classmethod
    def empty(cls, bins: int) -> MeasuredColumn:
        """Return a column that contains 0 in every bin."""
        ok, failed, offered, started, response, exchange = (np.zeros(bins) for _ in range(6))
        timed = TimedHistograms(bins), TimedHistograms(bins)
        return cls(bins, ok, failed, offered, started, response, exchange, *timed)

    @property
    def ended(self) -> Floats:
        """Number of requests or transactions that ended in each bin of time, successfully or not. [1]"""
        return self.ok + self.failed

    @property
    def response_means_s(self) -> Floats:
        """Mean response time of each bin, NaN in bins without a response. [s]"""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.response_sum_s / self.response.counts, dtype=float)

    def add(self, number: int, series: RecordedSeries) -> None:
        """Add the results of one load thread in one interval to the bin `number`."""
        self.ok[number] += series.ok
        self.failed[number] += sum(series.failed.values())
        self.offered[number] += series.offered
        self.started[number] += series.started
        self.response_sum_s[number] += series.response_sum_s
        self.exchange_sum_s[number] += series.exchange_sum_s
        for table, counts in (
            (self.failed_by_kind, series.failed),
            (self.not_started, series.not_started),
        ):
            for kind, count in counts.items():
                table.setdefault(kind, np.zeros(self.bins))[number] += count
        self.codes_recorded &= series.status_codes is not None
        for code, count in (series.status_codes or {}).items():
            self.status_codes.setdefault(code, np.zeros(self.bins))[number] += count
        if series.response:
            self.response.encoded.append((number, series.response))
        if series.exchange:
            self.exchange.encoded.append((number, series.exchange))

    @classmethod
    def total(cls, bins: int, parts: Sequence[MeasuredColumn]) -> MeasuredColumn:
        """Return the sum of several columns."""
        whole = cls.empty(bins)
        for part in parts:
            for name in ("ok", "failed", "offered", "started", "response_sum_s", "exchange_sum_s"):
                getattr(whole, name)[:] += getattr(part, name)
            whole.codes_recorded &= part.codes_recorded
            for name in ("failed_by_kind", "not_started", "status_codes"):
                for kind, counts in getattr(part, name).items():
                    table = getattr(whole, name)
                    table[kind] = table.get(kind, 0.0) + counts
        whole.response = TimedHistograms.union(bins, [part.response for part in parts])
        whole.exchange = TimedHistograms.union(bins, [part.exchange for part in parts])
        return whole


class Measurement:
    """Load of a run as recorded by the engine, in bins of time.

    Attributes
    ----------
    starts, ends : ndarray of shape (n_bins,)
        Start and end of each bin in run time. [s]
    stage : ndarray of shape (n_bins,)
        Number of the stage of each bin.
    user_s, cpu_s, think_s, think_count : ndarray of shape (n_bins,)
        User seconds [s], CPU time of the generator [s], sum of the pauses that ended [s], number of the pauses that
        ended [1].
    in_flight : ndarray of shape (n_bins,)
        Requests in flight at the end of each bin. [1]
    waiting : ndarray of shape (n_bins,)
        Arrivals that wait for a user at the end of each bin. [1]
    arrivals : ndarray of shape (n_bins,)
        Arrivals of an open load that the generator handled in each bin. [1]
    connections : ndarray of shape (n_bins,)
        Connections open at the end of each bin. [1]
    places_ok, places_failed : ndarray of shape (n_bins, n_places)
        Successful and failed transactions for each address (place) of the target. Recorded if each user keeps one
        address for the whole run. [1]
    connect, tls, connection_wait : TimedHistograms
        Times to connect, times of TLS handshakes, and times that requests waited for a pooled connection.
    rests : TimedHistograms
        Lengths of pauses between transactions. A pause counts in the bin in which it began.
    longest_gap_s, stalled_s : ndarray of shape (n_bins,)
        Longest gap between two iterations of an event loop, over all load threads; NaN if not recorded. Sum of the gaps
        of at least 100 ms in one load thread; in each second, the largest sum over all load threads. [s]
    surplus, unasked : ndarray of shape (n_bins,)
        Number of times that a server sent bytes after a complete response, and bytes without a request. [1]
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.stages = stages_of(recording)
        keys = sorted({recording.bin_of(interval) for interval in recording.intervals})
        place = {key: number for number, key in enumerate(keys)}
        self.bins = len(keys)
        self.starts = np.full(self.bins, np.inf)
        self.ends = np.zeros(self.bins)
        self.stage = np.array([key[1] for key in keys], dtype=np.int64)
        self.user_s, self.cpu_s = np.zeros(self.bins), np.zeros(self.bins)
        self.think_s, self.think_count = np.zeros(self.bins), np.zeros(self.bins)
        self.in_flight, self.arrivals = np.zeros(self.bins), np.zeros(self.bins)
        self.waiting = np.zeros(self.bins)
        self.connections = np.zeros(self.bins)
        self.longest_gap_s, self.stalled_s = np.full(self.bins, np.nan), np.zeros(self.bins)
        self.surplus, self.unasked = np.zeros(self.bins), np.zeros(self.bins)
        self.lag, self.connect, self.tls, self.connection_wait, self.rests = (
            TimedHistograms(self.bins) for _ in range(5)
        )
        width = max((len(interval.places_ok) for interval in recording.intervals), default=0)
        self.places_ok, self.places_failed = (np.zeros((self.bins, width)) for _ in range(2))
        self._columns: dict[str, dict[int, MeasuredColumn]] = defaultdict(dict)
        self._stalls: dict[tuple[int, int], Stalled] = {}
        self._recorded_until: dict[int, float] = {}
        for interval in recording.intervals:
            self._add(place[recording.bin_of(interval)], interval)
        for (number, _), stall in self._stalls.items():
            self.stalled_s[number] += stall.stalled_s

    def _add(self, number: int, interval: RecordedInterval) -> None:
        self.starts[number] = min(self.starts[number], interval.start_s)
        self.ends[number] = max(self.ends[number], interval.end_s)
        self.user_s[number] += interval.user_s
        self.cpu_s[number] += interval.cpu_s
        self.think_s[number] += interval.think_sum_s
        self.think_count[number] += interval.think_count
        self.in_flight[number] += interval.in_flight
        self.waiting[number] += interval.waiting
        self.arrivals[number] += sum(interval.arrivals)
        self.connections[number] += interval.connections
        self.surplus[number] += interval.surplus
        self.unasked[number] += interval.unasked
        self._add_stalls(number, interval)
        if interval.gap_s is not None:
            self.longest_gap_s[number] = np.fmax(self.longest_gap_s[number], interval.gap_s)
        if interval.places_ok:
            self.places_ok[number] += interval.places_ok
            self.places_failed[number] += interval.places_failed
        for timed, text in (
            (self.lag, interval.lag),
            (self.connect, interval.connect),
            (self.tls, interval.tls),
            (self.connection_wait, interval.connection_wait),
        ):
            if text:
                timed.encoded.append((number, text))
        self.rests.encoded += [(number, pauses.pause) for pauses in interval.thinks or ()]
        self._recorded_until[interval.worker] = max(self._recorded_until.get(interval.worker, 0.0), interval.end_s)
        for series in interval.series:
            columns = self._columns[series.of]
            if series.number not in columns:
                columns[series.number] = MeasuredColumn.empty(self.bins)
            columns[series.number].add(number, series)

    def _add_stalls(self, number: int, interval: RecordedInterval) -> None:
        """Add the stalls of a load thread. If several threads stall in a second, the longest stall counts."""
        own = Stalled(interval.start_s, interval.end_s, interval.stalled_s, interval.gap_s or 0.0)
        for stall in interval.stalls or ([own] if interval.stalled_s > 0 else []):
            second = number, int((stall.start_s + stall.end_s) / 2)
            known = self._stalls.get(second, stall)
            self._stalls[second] = Stalled(
                min(known.start_s, stall.start_s),
                max(known.end_s, stall.end_s),
                max(known.stalled_s, stall.stalled_s),
                max(known.gap_s, stall.gap_s),
            )

    @property
    def stalls(self) -> list[tuple[int, Stalled]]:
        """Recorded seconds with a stall of a load thread, in order of time. The numbers of two seconds differ by 1 if
        one follows the other.
        """
        if not self.is_merged:
            return sorted((number, stall) for (number, _), stall in self._stalls.items())
        found: list[tuple[int, Stalled]] = []
        for stall in sorted(self._stalls.values()):
            number, before = found[-1] if found else (0, stall)
            found.append((number + (1 if stall.start_s - before.end_s <= _FOLLOWS_S else 2), stall))
        return found

    @property
    def lengths(self) -> Floats:
        return np.asarray(self.ends - self.starts, dtype=float)

    @property
    def lengths_of_rates(self) -> Floats:
        """Lengths of the bins; NaN if the length is zero, because such a bin has no rate. [s]"""
        lengths = self.lengths
        return np.where(lengths > 0, lengths, np.nan)

    @property
    def is_merged(self) -> bool:
        """True if a bin combines several recorded seconds, because the run is long (`towtank.results.long_runs`)."""
        return self.recording.width_s > 1

    @property
    def bin_s(self) -> float:
        """Typical length of a bin: the median of all lengths; 1 if the run has no bins. [s]"""
        return float(np.median(self.lengths)) if self.bins else 1.0

    def length_of(self, chosen: Mask | Counts) -> float:
        """Return the total length of the chosen bins. [s]"""
        return float(self.lengths[chosen].sum())

    @property
    def mean_users(self) -> Floats:
        """Mean number of users in each bin. For an open load, this is the mean number of transactions in progress.
        [1]
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.user_s / self.lengths, dtype=float)

    @property
    def middles(self) -> Floats:
        """Middles of the bins. [s]"""
        return (self.starts + self.ends) / 2

    @property
    def recorded_until(self) -> float:
        """Latest time up to which all load threads have recorded; 0 if nothing was recorded. [s]"""
        return min(self._recorded_until.values(), default=0.0)

    def inside(self, start_s: float, end_s: float) -> Mask:
        """Return a mask of the bins that lie entirely between two run times."""
        within = (self.starts >= start_s - 1e-6) & (self.ends <= end_s + 1e-6)
        # If the clock was set during the run, a bin may have zero length. Such a bin has no rate and is not selected.
        return np.asarray(within & (self.ends > self.starts), dtype=bool)

    def columns(self, of: str) -> dict[str, MeasuredColumn]:
        """Return the columns of all recorded transactions, pages or steps, by name. `of` is the kind: `transaction`,
        `page` or `step`.
        """
        known = list(names_of(self.recording, of))
        table = self._columns.get(of, {})
        return {known[number] if number < len(known) else f"{of} {number}": table[number] for number in sorted(table)}

    def steps_of(self, transaction: str) -> MeasuredColumn:
        """Return the sum of the columns of all requests that belong to one transaction."""
        steps = self.recording.header.steps if self.recording.header else []
        table = self._columns.get("step", {})
        own = [number for number in table if number < len(steps) and steps[number].transaction == transaction]
        return MeasuredColumn.total(self.bins, [table[number] for number in sorted(own)])

    @cached_property
    def transactions(self) -> MeasuredColumn:
        """Sum of the columns of all transactions."""
        return MeasuredColumn.total(self.bins, list(self.columns("transaction").values()))

    @cached_property
    def requests(self) -> MeasuredColumn:
        """Sum of the columns of all requests."""
        return MeasuredColumn.total(self.bins, list(self.columns("step").values()))
