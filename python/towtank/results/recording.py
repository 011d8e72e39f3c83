"""Types of what the load threads record: intervals with counts, sums and encoded histograms."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from towtank.results import lines
from towtank.results.stream_forms import SegmentHeader

# The load threads start an interval at slightly different times. [s]
_NOT_COVERED_S = 0.5


@dataclass(slots=True)
class RecordedSeries:
    """Counts and times of one step, page or transaction, recorded by one load thread within one interval.

    Attributes
    ----------
    of : str
        `step`, `page` or `transaction`.
    number : int
        Index of the name in the header.
    group : int or None
        User group, for transactions only.
    failed, not_started : dict
        Number of failures by kind, and number of omitted starts by reason.
    response, exchange, first_byte : str or None
        Encoded histograms of these times; None without values.
    response_sum_s, exchange_sum_s : float
        Exact sums of the values in the histograms. [s]
    picked : int or None
        Number of times that the mix chose the transaction; None if the engine did not count it.
    status_codes : dict of int to int, or None
        Complete responses of a step by status code; None for pages and transactions, and if the engine did not count
        them. [1]
    """

    of: str
    number: int
    group: int | None
    offered: int
    started: int
    ok: int
    failed: dict[str, int]
    not_started: dict[str, int]
    bytes_out: int
    bytes_in: int
    response: str | None
    response_sum_s: float
    exchange: str | None
    exchange_sum_s: float
    first_byte: str | None
    picked: int | None = None
    status_codes: dict[int, int] | None = None


@dataclass(slots=True)
class Pauses:
    """Pauses of one user group between transactions that began within one interval: encoded histogram, and exact
    sum. [s]
    """

    group: int
    pause: str
    sum_s: float


@dataclass(frozen=True, slots=True, order=True)
class Stalled:
    """Recorded interval of a load thread with a stall: its start and end, the time taken by iterations of the thread's
    loop of 100 ms or more, and the longest time between two iterations. [s]
    """

    start_s: float
    end_s: float
    stalled_s: float
    gap_s: float


@dataclass(slots=True)
class RecordedInterval:
    """Records of one load thread between two times of the run. [s]

    Attributes
    ----------
    thinks : list of Pauses or None
        Pauses by user group; None if the engine did not record them.
    arrivals : list of int
        Arrivals of an open load, by user group; empty without an open load.
    gaps : str or None
        Encoded histogram of the times between planned arrivals.
    gaps_sum_s : float
        Exact sum of the times between planned arrivals. [s]
    connect, tls, connection_wait : str or None
        Encoded histograms of the time to open a connection, the time of a TLS handshake, and the time that a request
        waited for a pooled connection (0 without a wait).
    handshakes : dict
        Numbers of `full` and `resumed` handshakes.
    waiting : int
        Arrivals of an open load that waited for a user at the end of the interval.
    places_ok, places_failed : list of int
        Transactions by address of the target, for users that always use the same address; empty without such users.
    gap_s : float or None
        Longest time between two iterations of the thread's loop; None if the engine did not record it. [s]
    stalled_s : float
        Part of the interval that was taken by iterations of 100 ms or more. [s]
    stalls : tuple of Stalled
        Intervals with a stall of which a merged interval consists; empty for an interval as it was recorded.
    surplus, unasked : int
        Number of times that a server sent bytes after a complete response (`surplus`), and without a request
        (`unasked`). [1]
    """

    worker: int
    start_s: float
    end_s: float
    stage: int
    users: int
    user_s: float
    in_flight: int
    connections: int
    cpu_s: float
    lag: str | None
    connect: str | None
    think_count: int
    think_sum_s: float
    series: list[RecordedSeries]
    thinks: list[Pauses] | None = None
    arrivals: list[int] = field(default_factory=list)
    gaps: str | None = None
    gaps_sum_s: float = 0.0
    tls: str | None = None
    connection_wait: str | None = None
    handshakes: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    places_ok: list[int] = field(default_factory=list)
    places_failed: list[int] = field(default_factory=list)
    gap_s: float | None = None
    stalled_s: float = 0.0
    stalls: tuple[Stalled, ...] = ()
    surplus: int = 0
    unasked: int = 0


@dataclass
class Recording:
    """All engine records of one run.

    Attributes
    ----------
    header : SegmentHeader or None
        Header line with the latest stages; None if no header can be read.
    intervals : list of RecordedInterval
        Intervals of all threads, sorted by start and thread.
    ends : dict of int to str
        Message in the last line of each thread that ended normally, by thread; empty if it has no message.
    workers_found : set of int
        Threads that have at least one segment.
    damage : Damage
        Count of the unreadable lines.
    width_s : float
        Length of the recorded intervals, 1; of a long run, that of the merged intervals. [s]
    whole_cells : frozenset of int
        Time cells of a long run whose intervals are not merged, because records of them are missing or damaged.
    """

    header: SegmentHeader | None = None
    intervals: list[RecordedInterval] = field(default_factory=list)
    ends: dict[int, str] = field(default_factory=dict)
    workers_found: set[int] = field(default_factory=set)
    damage: lines.Damage = field(default_factory=lines.Damage)
    width_s: float = 1.0
    whole_cells: frozenset[int] = frozenset()

    def cell_of(self, interval: RecordedInterval) -> int:
        """Return the number of the time cell of length `width_s` that contains the middle of an interval."""
        return int((interval.start_s + interval.end_s) / 2 / self.width_s)

    def bin_of(self, interval: RecordedInterval) -> tuple[float, int]:
        """Return the start of the time cell, or of the second if the cell is not merged, that contains an interval
        [s], and its stage. The intervals of all load threads in one bin belong together, although they do not start at
        exactly the same time.
        """
        cell = self.cell_of(interval)
        if cell in self.whole_cells:
            return float(int((interval.start_s + interval.end_s) / 2)), interval.stage
        return cell * self.width_s, interval.stage

    @property
    def workers(self) -> int:
        """Number of load threads of the run."""
        return max(self.header.workers if self.header else 0, len(self.workers_found))

    @property
    def finished(self) -> bool:
        """True if every thread has written its last line."""
        return bool(self.ends) and len(self.ends) >= self.workers

    def incomplete_cells(self) -> frozenset[int]:
        """Return the time cells in which the intervals of a load thread do not cover the time from the first start to
        the last end in a stage.
        """
        starts: dict[tuple[int, int], float] = {}
        ends: dict[tuple[int, int], float] = {}
        covered: dict[tuple[int, int, int], float] = defaultdict(float)
        for interval in self.intervals:
            place = self.cell_of(interval), interval.stage
            starts[place] = min(starts.get(place, interval.start_s), interval.start_s)
            ends[place] = max(ends.get(place, interval.end_s), interval.end_s)
            covered[*place, interval.worker] += interval.end_s - interval.start_s
        return frozenset(
            cell
            for (cell, stage, _), seconds in covered.items()
            if ends[cell, stage] - starts[cell, stage] - seconds > _NOT_COVERED_S
        )
