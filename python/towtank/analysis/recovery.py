"""Describes the events of a study: when they took place, what was lost, and how long the system took to recover.

The behaviour of the undisturbed system is described by a band of normal values. The band is computed from the seconds
of the steady stage before the first event. The system has recovered at the start of the first second from which on all
seconds lie within the band, provided that at least `HOLD_S` seconds remain. The band limits three values of each
second:

- Throughput has a lower bound. By chance, one of a thousand undisturbed seconds lies below it. The bound is above zero
  if no earlier second had zero throughput and throughput is not very low.
- Mean response time has an upper bound. By chance, one of a thousand undisturbed seconds exceeds it.
- The share of failures is limited by its highest earlier value or by the limit of the study, whichever is larger.

After an outage, throughput recovers long before the queue is drained, so only response times show the queue. Throughput
above the band is harmless: waiting users return at the same time.

Among hundreds of seconds, some leave the band by chance. A second therefore counts as outside in two cases only. Either
it is one of `HOLD_S` consecutive seconds outside the band, or it is so far outside that chance does not explain it in
any second of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from towtank.analysis.load import failed_by_kind
from towtank.analysis.measurement import Floats, Mask, MeasuredColumn, Measurement
from towtank.analysis.windows.window import Window
from towtank.distributions import t_quantile

HOLD_S = 3
"""A disturbance is at least this number of consecutive seconds outside the band of normal values. A recovery needs the
same number of seconds inside the band. [s]
"""
BEFORE_S, AFTER_S = 1_800.0, 7_200.0
"""Times before the first and after the last event of a long run in which the seconds are read. [s]"""
RESOLUTION_S = 1.0
"""Resolution of a recovery time: the length of a recorded second. If the second in which the system recovered lies
outside the band, the recovery time is too long by less than this; otherwise it is too short by less than this. [s]
"""
BY_CHANCE = 0.001
"""Probability that an undisturbed second lies beyond one bound of the band of normal values by chance, in (0, 1).

A second, wider band is used as well. With the same probability, at least one second of an undisturbed run leaves it.
"""
# At least this number of seconds is needed before the first event. Fewer seconds do not show how much values vary from
# second to second.
_SECONDS_BEFORE = 5
_WHOLE = 0.5  # Shorter bins are not used as seconds. [s]
# Relative tolerance for rounding errors in the lengths of seconds. Without it, a second could count as below the band
# although it equals all earlier seconds.
_ROUNDING = 1e-9
_NANOSECONDS = 1e9


@dataclass(frozen=True)
class StudyEvent:
    """Event of a study, as it took place in a run.

    Attributes
    ----------
    name, do, on : str
        Name of the event, its action, and the service or host on which it acts.
    begin_s : float or None
        Start in run time; None if the event did not take place. [s]
    end_s : float or None
        End in run time, which is the time of the restart, repair or release; None if the event did not end. [s]
    failed : str or None
        Reason why the event did not take place as requested; None if it did.
    processes : tuple of str
        Processes on which the event acted.
    left : dict or None
        Free bytes and free inodes that an event left on a disk that it filled; None for any other event.
    """

    name: str
    do: str
    on: str
    begin_s: float | None = None
    end_s: float | None = None
    failed: str | None = None
    processes: tuple[str, ...] = ()
    left: dict[str, int] | None = None


def study_events(events: Sequence[dict[str, Any]], origin_ns: int) -> list[StudyEvent]:
    """Return the events of a run, sorted by their start; events that did not start are last."""
    by_name: dict[str, dict[str, Any]] = {}
    for event in events:
        kind, name, at = event.get("k"), event.get("event"), event.get("t_ns")
        if kind not in ("event_begins", "event_filled", "event_ends", "event_failed") or not isinstance(at, int):
            continue
        entry = by_name.setdefault(
            str(name), {"name": str(name), "do": str(event.get("do")), "on": str(event.get("on"))}
        )
        if kind == "event_begins":
            entry |= {"begin_s": (at - origin_ns) / _NANOSECONDS, "processes": tuple(event.get("processes") or ())}
        elif kind == "event_filled":
            entry["left"] = {key: event[key] for key in ("free_bytes", "free_files") if key in event}
        elif kind == "event_ends":
            entry["end_s"] = (at - origin_ns) / _NANOSECONDS
        else:
            entry["failed"] = str(event.get("reason"))
    found = [StudyEvent(**event) for event in by_name.values()]
    return sorted(found, key=lambda event: float("inf") if event.begin_s is None else event.begin_s)


def first_inside(found: Sequence[StudyEvent], window: Window) -> StudyEvent | None:
    """Return the first event that began in the planned steady stages; None if no event did."""
    inside = [event for event in found if event.begin_s is not None and window.asked_start_s < event.begin_s]
    return next((event for event in inside if event.begin_s is not None and event.begin_s < window.asked_end_s), None)


@dataclass(frozen=True)
class Band:
    """Band of normal values of the undisturbed system.

    Attributes
    ----------
    seconds : int
        Number of seconds from which the band was computed. [1]
    throughput_per_s : float
        Mean throughput. [1/s]
    least_per_s : float
        Lower bound of the throughput in one second. [1/s]
    errors_at_most : float
        Upper bound of the share of failures in one second, in [0, 1].
    response_at_most_s : float or None
        Upper bound of the mean response time in one second; None if too few seconds had responses. [s]
    """

    seconds: int
    throughput_per_s: float
    least_per_s: float
    errors_at_most: float
    response_at_most_s: float | None = None


@dataclass(frozen=True)
class Losses:
    """Results of the seconds from an event to the recovery: length [s], throughput [1/s], transactions that are missing
    compared with the mean of the band [1], failures by kind [1], number of response times [1], and the largest p95 of a
    second [s].
    """

    length_s: float = 0.0
    throughput_per_s: float | None = None
    missed_transactions: float | None = None
    failed_transactions: dict[str, int] = field(default_factory=dict)
    failed_requests: dict[str, int] = field(default_factory=dict)
    timed: int = 0
    worst_p95_s: float | None = None


@dataclass(frozen=True)
class EventResult:
    """Event of the study in a run summary, and how the system recovered from it.

    Times are in run time. [s] `disturbed` and `recovery_s` are None if the event was not judged; `why` is then the
    reason.
    """

    do: str = ""
    on: str = ""
    begin_s: float | None = None
    end_s: float | None = None
    until_s: float | None = None
    failed: str | None = None
    left: dict[str, int] | None = None
    before: Band | None = None
    disturbed: bool | None = None
    recovery_s: float | None = None
    during: Losses | None = None
    why: str | None = None


def band_of(measurement: Measurement, before: Mask, errors_limit: float, by_chance: float = BY_CHANCE) -> Band | None:
    """Compute the band of normal values from the given undisturbed seconds; None if there are too few."""
    chosen = before & (measurement.lengths >= _WHOLE)
    if chosen.sum() < _SECONDS_BEFORE:
        return None
    column = measurement.transactions
    rates = column.ok[chosen] / measurement.lengths[chosen]
    mean = float(column.ok[chosen].sum() / measurement.length_of(chosen))
    number = len(rates)
    reach = _reach(rates, by_chance)
    worst = float(_error_shares(column)[chosen].max())
    least = max(_standstill(rates, mean), mean - reach)
    return Band(number, mean, least, max(worst, errors_limit), _longest_s(column, chosen, by_chance))


def _reach(values: Floats, by_chance: float) -> float:
    """Return a distance from the mean: another value of the same series is above the mean by more than this distance
    with the probability `by_chance`, and below it with the same probability.
    """
    number = len(values)
    return float(t_quantile(1 - by_chance, number - 1) * np.std(values, ddof=1) * np.sqrt(1 + 1 / number))


def _longest_s(column: MeasuredColumn, chosen: Mask, by_chance: float) -> float | None:
    """Return the mean response time that another undisturbed second exceeds with the probability `by_chance`. Return
    None if too few seconds have responses. [s]
    """
    means = column.response_means_s[chosen]
    means = means[np.isfinite(means) & (means > 0)]
    if len(means) < _SECONDS_BEFORE:
        return None
    logs = np.log(means)
    return float(np.exp(min(50.0, logs.mean() + _reach(logs, by_chance))))


def _standstill(rates: Floats, mean: float) -> float:
    """Return the throughput below which a second counts as a standstill, even if earlier seconds vary strongly. [1/s]

    With a mean of 6.9 = -ln 0.001 independent completions per second, one of a thousand seconds has no completions by
    chance. If the mean is at least that large, and no earlier second had zero throughput, chance does not explain a
    second without completions. The result is then 0.5, a value between no completions and one completion in a second.
    Otherwise, the result is 0.
    """
    return 0.5 if mean >= -np.log(BY_CHANCE) and rates.min() > 0 else 0.0


def _error_shares(column: MeasuredColumn) -> Floats:
    """Return the share of failures in each second, in [0, 1].

    A second in which no transaction ended has the share 0; its throughput of zero shows the fault.
    """
    return np.divide(column.failed, column.ended, out=np.zeros(column.bins), where=column.ended > 0)


def describe(
    found: Sequence[StudyEvent],
    measurement: Measurement,
    asked: Window | None,
    errors_limit: float,
    end_s: float | None = None,
) -> dict[str, EventResult]:
    """Describe each event of a run, and how throughput and response times changed after it, by name of the event.

    Parameters
    ----------
    found : sequence of StudyEvent
        Events of the run.
    measurement : Measurement
        Seconds of the run, at least those around the events.
    asked : Window or None
        Window that contains the planned steady stages. The analysed window would be too short, because it ends before
        the first event.
    errors_limit : float
        Share of failures that the study allows, in [0, 1].
    end_s : float, optional
        End of the run, by default that of the measurement. [s]
    """
    first = None if asked is None else first_inside(found, asked)
    band = far = None
    if asked is not None and first is not None and first.begin_s is not None:
        before = measurement.inside(asked.asked_start_s, first.begin_s)
        band = band_of(measurement, before, errors_limit)
        left = int(measurement.inside(first.begin_s, asked.asked_end_s).sum())
        far = band_of(measurement, before, errors_limit, BY_CHANCE / (2 * max(1, left)))
    measured_until = float(measurement.ends.max()) if measurement.bins else 0.0
    end = measured_until if end_s is None else end_s
    not_back = "the steady stage ended before the system recovered"
    if asked is not None and measured_until < min(asked.asked_end_s, end) - RESOLUTION_S:
        asked = replace(asked, asked_end_s=measured_until)
        not_back = f"the system did not recover within {AFTER_S / 3600:g} h after the last event"
    return {
        event.name: replace(
            _effect(event, found, measurement, asked, (band, far), not_back=not_back),
            do=event.do,
            on=event.on,
            begin_s=event.begin_s,
            end_s=event.end_s,
            until_s=_until(event, found, end),
            failed=event.failed,
            left=event.left,
        )
        for event in found
    }


def _until(event: StudyEvent, found: Sequence[StudyEvent], end_s: float) -> float | None:
    """Return the end of an event in run time. An event that kills or stops a service ends when the service is started
    again. Return None if the event did not begin. [s]
    """
    if event.begin_s is None:
        return None
    if event.do not in ("kill", "stop"):
        return end_s if event.end_s is None else event.end_s
    later = [
        other.end_s
        for other in found
        if other.do in ("start", "restart") and _share(event, other) and other.end_s is not None
    ]
    return min((at for at in later if at > event.begin_s), default=end_s)


def _share(event: StudyEvent, other: StudyEvent) -> bool:
    return event.on == other.on or bool(set(event.processes) & set(other.processes))


def _effect(
    event: StudyEvent,
    found: Sequence[StudyEvent],
    measurement: Measurement,
    asked: Window | None,
    bands: tuple[Band | None, Band | None],
    *,
    not_back: str,
) -> EventResult:
    """Return how long the system needed to recover from an event, and what was lost in this time.

    `bands` contains a narrow band of normal values, and a wider band that hardly any undisturbed run leaves by chance.
    `not_back` is the reason if no recovery was seen.
    """
    band, far = bands
    if event.begin_s is None:
        return EventResult(why="the event did not take place")
    if asked is None or not asked.asked_start_s < event.begin_s < asked.asked_end_s:
        return EventResult(why="the event did not take place within the steady stage")
    if band is None or far is None:
        return EventResult(why=f"the steady stage has less than {_SECONDS_BEFORE} s before the first event")
    after = (measurement.ends > event.begin_s + 1e-6) & (measurement.ends <= asked.asked_end_s + 1e-6)
    after &= (measurement.lengths >= _WHOLE) & (measurement.starts >= asked.asked_start_s - 1e-6)
    places = np.flatnonzero(after)
    left, back = _excursion(_within(measurement, places, band), _within(measurement, places, far))
    until = float(measurement.starts[places[back]]) if back is not None else asked.asked_end_s
    recovery = None if back is None else max(0.0, until - event.begin_s) if left is not None else 0.0
    if left is None:  # No second left the band. Losses are counted while the event lasted.
        during = places[measurement.starts[places] < (_until(event, found, asked.asked_end_s) or asked.asked_end_s)]
    else:
        during = places if back is None else places[:back]
    return EventResult(
        before=band,
        disturbed=left is not None,
        recovery_s=recovery,
        during=_losses(measurement, during, band),
        why=None if recovery is not None else not_back,
    )


def _within(measurement: Measurement, places: Any, band: Band) -> Mask:
    """Return a mask of the seconds whose values lie inside a band of normal values."""
    column = measurement.transactions
    rates = column.ok[places] / measurement.lengths[places]
    within = (rates >= band.least_per_s * (1 - _ROUNDING)) & (_error_shares(column)[places] <= band.errors_at_most)
    if band.response_at_most_s is not None:
        means = column.response_means_s[places]
        within &= ~(np.nan_to_num(means, nan=0.0) > band.response_at_most_s * (1 + _ROUNDING))
    return np.asarray(within)


def _excursion(within: Mask, near: Mask) -> tuple[int | None, int | None]:
    """Return the index of the first second outside the band, and the index of the first second from which on all
    seconds are inside.

    The first index is None if no second is outside. The second index is None if fewer than `HOLD_S` seconds remain.
    Both masks have the shape (n_seconds,): `within` marks the seconds inside the narrow band, and `near` the seconds
    inside the wider band.

    Examples
    --------
    >>> calm = np.ones(8, dtype=bool)
    >>> near = np.array([True, False, True, True, True, True, True, True])
    >>> _excursion(near, near)
    (1, 2)
    >>> _excursion(near, calm), _excursion(calm, calm)
    ((None, 0), (None, 0))
    >>> _excursion(np.array([True, False, False, False, True, True, True]), calm[:7])
    (1, 4)
    >>> _excursion(near[::-1], near[::-1])
    (6, None)
    """
    out = ~near
    for place in range(len(within) - HOLD_S + 1):
        if not within[place : place + HOLD_S].any():
            out[place : place + HOLD_S] = True
    places = np.flatnonzero(out)
    if len(places) == 0:
        return None, 0
    back = int(places[-1]) + 1
    return int(places[0]), back if back <= len(within) - HOLD_S else None


def _losses(measurement: Measurement, places: Any, band: Band) -> Losses:
    column, requests = measurement.transactions, measurement.requests
    length, ok = measurement.length_of(places), float(column.ok[places].sum())
    counts = column.response.counts[places]
    slow = [value for value in np.array(column.response.quantile_by_bin(0.95), dtype=object)[places] if value]
    return Losses(
        length,
        ok / length if length else None,
        max(0.0, band.throughput_per_s * length - ok),
        failed_by_kind(column, places),
        failed_by_kind(requests, places),
        int(counts.sum()),
        max(slow, default=None),
    )
