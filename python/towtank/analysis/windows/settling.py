"""Decides whether a system under a constant load has come to rest, which ends a settle stage.

Every second the record so far is tested: the later half of it, or the last `least_window_s` if that is more, so that
any start is left behind in time and a noisy system is given longer. There, throughput, mean response time, requests in
flight and waiting arrivals must show no trend beyond chance, MSER must find nothing left to cut off, and a change that
matters must be excluded. A single test may pass by chance, so `LOOKS` in a row must pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from towtank.analysis.windows import steady
from towtank.analysis.windows.rest import LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST, TREND_SIGNIFICANCE, unrest_of
from towtank.analysis.windows.tolerances import allowed
from towtank.analysis.windows.transient import transient_of

Floats = npt.NDArray[np.float64]

LOOKS = 4
"""Looks in a row that must find rest. [1]"""
_CYCLES = 3.0
_RESPONSES = 5.0
_TRANSACTIONS_PER_OBSERVATION = 5


@dataclass(frozen=True)
class Seconds:
    """A load that is held, second by second.

    Attributes
    ----------
    ends_s, lengths_s : ndarray of shape (n_seconds,)
        When each second ended, and how long it was. [s]
    ended : ndarray of shape (n_seconds,)
        Transactions that ended. [1]
    response_sum_s : ndarray of shape (n_seconds,)
        Sum of their response times. [s]
    in_flight, waiting : ndarray of shape (n_seconds,)
        Requests under way, and arrivals that wait for a user, at the end of each second. [1]
    users : float or None
        Users of a closed load; None for an open one. [1]
    """

    ends_s: Floats
    lengths_s: Floats
    ended: Floats
    response_sum_s: Floats
    in_flight: Floats
    waiting: Floats
    users: float | None = None

    def last(self, count: int) -> Seconds:
        """The last `count` seconds."""
        start = len(self.ends_s) - count
        return Seconds(
            self.ends_s[start:],
            self.lengths_s[start:],
            self.ended[start:],
            self.response_sum_s[start:],
            self.in_flight[start:],
            self.waiting[start:],
            self.users,
        )


@dataclass(frozen=True)
class Look:
    """What one look found.

    Attributes
    ----------
    steady : bool
    window_s : float
        Length of what was looked at. [s]
    why : str
        What is not at rest; empty where all is.
    changes : dict
        Relative change over the window by metric; of the backlog the change itself.
    """

    steady: bool
    window_s: float
    why: str = ""
    changes: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For events and summaries."""
        return {"window_s": self.window_s, "why": self.why, "changes": self.changes}


def least_window_s(seconds: Seconds) -> float:
    """Shortest window that can tell about this load. [s]

    Notes
    -----
    At least `LEAST_WINDOW_S`, five mean response times, and under a closed load three cycles of a user, N / X by the
    response time law: what happened a cycle ago comes back with the same users.
    """
    recent = seconds.last(min(len(seconds.ends_s), int(2 * LEAST_WINDOW_S)))
    ended, length = float(recent.ended.sum()), float(recent.lengths_s.sum())
    if ended <= 0:
        return math.inf
    least = max(LEAST_WINDOW_S, _RESPONSES * float(recent.response_sum_s.sum()) / ended)
    return least if seconds.users is None else max(least, _CYCLES * seconds.users * length / ended)


def look(seconds: Seconds) -> Look:
    """Look at the record of a settle stage so far.

    Notes
    -----
    Simulated in `tests/certified/test_certified_settling.py`, 200 series each: an exponential approach with time
    constant tau of throughput (from 40 % below) and of response time (from twice as long) to their level, with
    first-order autoregressive noise (coefficient 0.5) of 5 % and 10 %. Early is an end while more than 10 % of
    throughput is still missing.

    ======  ============  ======================  =======
    tau     median end    5 % to 95 % of ends     early
    ======  ============  ======================  =======
    0 s     39 s          13 to 81 s              0 %
    5 s     43 s          22 to 83 s              0 %
    15 s    66 s          32 to 106 s             0.5 %
    40 s    135 s         23 to 200 s             17.5 %
    ======  ============  ======================  =======

    Without noise an end comes at 13 s; with it the record must be long enough to rule the change out. Looks overlap, so
    that the four in a row are worth far less than four independent ones, and the rates above count them. An approach
    much slower than the noise lets see is taken for rest: `at_least` is for who knows of one.

    A load that grows a backlog at a tenth of its rate was never called steady in 600 s.
    """
    count = len(seconds.ends_s)
    total = float(seconds.lengths_s.sum())
    least = least_window_s(seconds)
    if total < least or count < OBSERVATIONS_AT_LEAST:
        return Look(False, total, "too short to be judged" if math.isfinite(least) else "nothing has ended yet")
    behind = np.cumsum(seconds.lengths_s[::-1])
    chosen = seconds.last(min(count, int(np.searchsorted(behind, max(least, total / 2) - 1e-6)) + 1))
    return _look_at(chosen, proven=True)


def look_for_trend(seconds: Seconds) -> Look:
    """Look at a whole record for a trend, where the system has settled before: a change need not be ruled out."""
    return _look_at(seconds, proven=False)


def without_transient(seconds: Seconds) -> Seconds | None:
    """Leave out the transient at the start of a record; None if the transient may be longer than half of it.

    The analysis leaves out the same, by the same function. It knows the CPU time of tiers besides.
    """
    sizes = _grouping(seconds)
    if sizes is None:
        return seconds
    series, edges = _series(seconds, sizes)
    transient = transient_of(series)
    kept = {name: values[transient.observations :] for name, values in series.items()}
    if transient.unsettled(kept, edges[transient.observations :]):
        return None
    return seconds.last((sizes[1] - transient.observations) * sizes[0]) if transient.observations else seconds


def _look_at(chosen: Seconds, *, proven: bool) -> Look:
    changes: dict[str, float] = {}
    why = [text for text in _unrest(chosen, changes, proven=proven) if text]
    return Look(not why, float(chosen.lengths_s.sum()), "; ".join(why), changes)


def _unrest(chosen: Seconds, changes: dict[str, float], *, proven: bool) -> Iterator[str]:
    """Yield what is not at rest, in words, and fill in what changed; `proven`: a change that may be large counts."""
    sizes = _grouping(chosen)
    if sizes is None:
        yield "too few transactions to be judged"
        return
    series, edges = _series(chosen, sizes)
    for name, values in series.items():
        found = unrest_of(name, values, edges, proven=proven, cautious=False)
        changes[name.replace("_", " ")] = found.change
        yield found.why
    yield _of_backlog(chosen, changes)


def _series(seconds: Seconds, sizes: tuple[int, int]) -> tuple[dict[str, Floats], Floats]:
    """Observations of throughput and of the logarithm of the mean response time, and their edges. [s]"""
    lengths, ended, sums = (
        _summed(part, *sizes) for part in (seconds.lengths_s, seconds.ended, seconds.response_sum_s)
    )
    series = {"throughput": ended / lengths}
    if ended.min() > 0 and sums.min() > 0:
        series["response_time"] = np.log(sums / ended)
    return series, np.concatenate([[0.0], np.cumsum(lengths)])


def _grouping(chosen: Seconds) -> tuple[int, int] | None:
    """Seconds of an observation, and how many observations there are; None where they are too few."""
    count = len(chosen.ends_s)
    rate = float(chosen.ended.mean())
    size = max(1, math.ceil(_TRANSACTIONS_PER_OBSERVATION / rate)) if rate > 0 else count
    return (size, count // size) if count // size >= OBSERVATIONS_AT_LEAST else None


def _summed(values: Floats, size: int, count: int) -> Floats:
    # The newest seconds must be in, so that what does not fill an observation is left out at the start.
    return np.asarray(values[len(values) - size * count :].reshape(count, size).sum(axis=1), dtype=float)


def _of_backlog(chosen: Seconds, changes: dict[str, float]) -> str:
    """What is not at rest in the requests in flight and the arrivals that wait."""
    backlog = chosen.in_flight + chosen.waiting
    times = chosen.ends_s
    line = steady.trend(times, backlog)
    change = line.slope_per_s * float(np.ptp(times))
    changes["backlog"] = change
    if line.p_value >= TREND_SIGNIFICANCE or abs(change) <= max(1.0, allowed("throughput") * backlog.mean()):
        return ""
    return f"the backlog {'grows' if change > 0 else 'falls'} by {abs(change):.3g} over {float(np.ptp(times)):.0f} s"


@dataclass
class Settling:
    """Looks in a row.

    Attributes
    ----------
    at_least_s : float
        No end before this. [s]
    rested : int
        Looks in a row that found rest. [1]
    last : Look or None
        The last one.
    """

    at_least_s: float = 0.0
    rested: int = 0
    last: Look | None = None

    def take(self, seconds: Seconds) -> bool:
        """Look once more, with a second more of record; whether the stage may end."""
        self.last = look(seconds)
        self.rested = self.rested + 1 if self.last.steady else 0
        return self.rested >= LOOKS and float(seconds.lengths_s.sum()) >= self.at_least_s
