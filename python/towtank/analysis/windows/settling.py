"""Decides when a system under constant load has become steady, which ends a settle stage.

A test is made each second. It uses the later half of the recording, or the last `least_window_s` seconds if they are
longer. As the recording grows, the tested seconds no longer include an early transient, and they become long enough
even for a noisy system. In these seconds, throughput, mean response time, and the sum of requests in flight and waiting
arrivals must have no significant trend. In throughput and response time, MSER must also find no transient, and changes
larger than the allowed change must be excluded. A single test may pass by chance, so `LOOKS` consecutive tests must
pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from towtank.analysis.windows import steady
from towtank.analysis.windows.rest import LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST, TREND_SIGNIFICANCE, instability_of
from towtank.analysis.windows.tolerances import allowed
from towtank.analysis.windows.transient import transient_of
from towtank.arrays import Floats
from towtank.estimates import few_digits

LOOKS = 4
"""Number of consecutive tests for a steady state that must pass before a settle stage ends. [1]"""
_CYCLES = 3.0  # Length of the shortest tested window in user cycles of a closed load. [1]
_RESPONSES = 5.0  # Length of the shortest tested window in mean response times. [1]
_TRANSACTIONS_PER_OBSERVATION = 5  # Smallest mean number of transactions in an observation. [1]


@dataclass(frozen=True)
class SteadySeconds:
    """Recording of a stage with constant load, with one value per second.

    Attributes
    ----------
    ends_s, lengths_s : ndarray of shape (n_seconds,)
        End and length of each second. [s]
    ended : ndarray of shape (n_seconds,)
        Number of transactions that ended in each second. [1]
    response_sum_s : ndarray of shape (n_seconds,)
        Sum of the response times of these transactions. [s]
    in_flight, waiting : ndarray of shape (n_seconds,)
        Number of requests in flight, and number of arrivals that wait for a user, at the end of each second. [1]
    users : float or None
        Number of users of a closed load; None for an open load. [1]
    unpaused_s : ndarray of shape (n_seconds,) or None
        User seconds minus the pauses that ended, in each second; None if unknown. By Little's law, they can replace the
        sums of response times. [s]
    """

    ends_s: Floats
    lengths_s: Floats
    ended: Floats
    response_sum_s: Floats
    in_flight: Floats
    waiting: Floats
    users: float | None = None
    unpaused_s: Floats | None = None

    def last(self, count: int) -> SteadySeconds:
        """Return the last `count` seconds of the recording."""
        start = len(self.ends_s) - count
        return SteadySeconds(
            self.ends_s[start:],
            self.lengths_s[start:],
            self.ended[start:],
            self.response_sum_s[start:],
            self.in_flight[start:],
            self.waiting[start:],
            self.users,
            None if self.unpaused_s is None else self.unpaused_s[start:],
        )


@dataclass(frozen=True)
class SettlingResult:
    """Result of one test of a recording for a steady state.

    Attributes
    ----------
    steady : bool
        True if the recording is steady.
    window_s : float
        Length of the tested recording. [s]
    why : str
        Series that are not steady, as text; empty if all are steady.
    changes : dict of str to float
        Relative change over the tested recording by metric [1]; absolute change of the backlog [1].
    """

    steady: bool
    window_s: float
    why: str = ""
    changes: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """Return the result as JSON for events and summaries."""
        return {"window_s": self.window_s, "why": self.why, "changes": self.changes}


def least_window_s(seconds: SteadySeconds) -> float:
    """Return the length of the shortest window that can show a steady state at the recorded load; infinite if no
    transaction ended. [s]

    Notes
    -----
    The window lasts at least `LEAST_WINDOW_S` seconds and five mean response times. Under a closed load, it also lasts
    at least three user cycles of length N / X, because a disturbance recurs after a cycle.
    """
    recent = seconds.last(min(len(seconds.ends_s), int(2 * LEAST_WINDOW_S)))
    ended, length = float(recent.ended.sum()), float(recent.lengths_s.sum())
    if ended <= 0:
        return math.inf
    least = max(LEAST_WINDOW_S, _RESPONSES * float(recent.response_sum_s.sum()) / ended)
    return least if seconds.users is None else max(least, _CYCLES * seconds.users * length / ended)


def look(seconds: SteadySeconds) -> SettlingResult:
    """Test whether the recording of a settle stage shows a steady state.

    Notes
    -----
    `tests/certified/test_certified_settling.py` simulates 200 series for each line of the table. Throughput starts 40 %
    below its final level, and response time at twice its final level. Both approach these levels exponentially with the
    time constant tau. The noise is first-order autoregressive (coefficient 0.5), with 5 % in throughput and 10 % in
    response time. A stage ends early if throughput is still more than 10 % below its final level.

    ======  ============  ======================  =======
    tau     median end    5 % to 95 % of ends     early
    ======  ============  ======================  =======
    0 s     39 s          13 to 81 s              0 %
    5 s     43 s          22 to 83 s              0 %
    15 s    66 s          32 to 106 s             0.5 %
    40 s    135 s         23 to 200 s             17.5 %
    ======  ============  ======================  =======

    Without noise, the stage ends at 13 s. With noise, the recording must be long enough to exclude changes larger than
    the allowed change. Noise may hide a very slow approach; if you expect one, set `at_least`.

    If the backlog of an open load grows at a tenth of the arrival rate, no test passed within 600 s.
    """
    count = len(seconds.ends_s)
    total = float(seconds.lengths_s.sum())
    least = least_window_s(seconds)
    if total < least or count < OBSERVATIONS_AT_LEAST:
        return SettlingResult(
            False, total, "too short to be tested" if math.isfinite(least) else "no transaction has ended yet"
        )
    behind = np.cumsum(seconds.lengths_s[::-1])
    chosen = seconds.last(min(count, int(np.searchsorted(behind, max(least, total / 2) - 1e-6)) + 1))
    return _look_at(chosen, proven=True)


def look_for_trend(seconds: SteadySeconds) -> SettlingResult:
    """Test the whole recording of a stage for a trend. Unlike in `look`, the recording may pass even if its noise could
    hide a change.
    """
    return _look_at(seconds, proven=False)


def without_transient(seconds: SteadySeconds) -> SteadySeconds | None:
    """Remove the transient at the start of a recording; None if the transient may be longer than half of the recording.

    The analysis of a run finds the transient with the same function, but also uses the CPU time of tiers.
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


def _look_at(chosen: SteadySeconds, *, proven: bool) -> SettlingResult:
    changes: dict[str, float] = {}
    why = [text for text in _unrest(chosen, changes, proven=proven) if text]
    return SettlingResult(not why, float(chosen.lengths_s.sum()), "; ".join(why), changes)


def _unrest(chosen: SteadySeconds, changes: dict[str, float], *, proven: bool) -> Iterator[str]:
    """Yield a text for each series, which is empty if the series is steady. Store the changes of all series in
    `changes`.
    """
    sizes = _grouping(chosen)
    if sizes is None:
        yield "too few transactions for a test"
        return
    series, edges = _series(chosen, sizes)
    for name, values in series.items():
        found = instability_of(name, values, edges, proven=proven, cautious=False)
        changes[name.replace("_", " ")] = found.change
        yield found.why
    yield _of_backlog(chosen, changes)


def _series(seconds: SteadySeconds, sizes: tuple[int, int]) -> tuple[dict[str, Floats], Floats]:
    """Return two values: the series, which are throughput and the logarithm of mean response time in each observation;
    and the edges of the observations [s].
    """
    lengths, ended, sums = (
        _summed(part, *sizes) for part in (seconds.lengths_s, seconds.ended, seconds.response_sum_s)
    )
    series = {"throughput": ended / lengths}
    if ended.min() > 0 and sums.min() > 0:
        series["response_time"] = np.log(sums / ended)
    return series, np.concatenate([[0.0], np.cumsum(lengths)])


def _grouping(chosen: SteadySeconds) -> tuple[int, int] | None:
    """Return the length of an observation in seconds, and the number of observations in a recording. Return None if the
    recording is too short.
    """
    count = len(chosen.ends_s)
    rate = float(chosen.ended.mean())
    size = max(1, math.ceil(_TRANSACTIONS_PER_OBSERVATION / rate)) if rate > 0 else count
    return (size, count // size) if count // size >= OBSERVATIONS_AT_LEAST else None


def _summed(values: Floats, size: int, count: int) -> Floats:
    # The newest seconds matter most. If the seconds do not fill all observations, the oldest seconds are not used.
    return np.asarray(values[len(values) - size * count :].reshape(count, size).sum(axis=1), dtype=float)


def _of_backlog(chosen: SteadySeconds, changes: dict[str, float]) -> str:
    """Render the trend of the sum of requests in flight and waiting arrivals; empty if there is no trend."""
    backlog = chosen.in_flight + chosen.waiting
    times = chosen.ends_s
    line = steady.trend(times, backlog)
    change = line.slope_per_s * float(np.ptp(times))
    changes["backlog"] = change
    if line.p_value >= TREND_SIGNIFICANCE or abs(change) <= max(1.0, allowed("throughput") * backlog.mean()):
        return ""
    verb = "grows" if change > 0 else "falls"
    return f"the backlog {verb} by {few_digits(abs(change))} over {float(np.ptp(times)):.0f} s"


@dataclass
class Settling:
    """Counts the consecutive tests that found a steady state.

    Attributes
    ----------
    at_least_s : float
        Shortest length of the stage. [s]
    rested : int
        Number of consecutive tests that passed, up to the latest test. [1]
    last : SettlingResult or None
        Result of the latest test; None before the first.
    """

    at_least_s: float = 0.0
    rested: int = 0
    last: SettlingResult | None = None

    def take(self, seconds: SteadySeconds) -> bool:
        """Test a stage after a further second was recorded, and return True if the stage may end. `seconds` is the
        recording of the stage so far.
        """
        self.last = look(seconds)
        self.rested = self.rested + 1 if self.last.steady else 0
        return self.rested >= LOOKS and float(seconds.lengths_s.sum()) >= self.at_least_s
