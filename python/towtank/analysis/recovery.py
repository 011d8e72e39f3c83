"""Events that a study made happen: when, what was lost to them, and how long the system took to be as before.

As before means: the seconds of the steady stage that went by before its first event set a band, and a system is back in
the first second after which it never leaves the band again, if at least `HOLD_S` seconds are left. The band is
throughput of at least what one more such second falls short of once in a thousand by chance, and of more than nothing
where none of them was without any, a mean response time of at most what one exceeds once in a thousand, and a share of
failures of at most the highest of them or the limit of the study, whichever is more. Response time belongs to it: after
an outage throughput is full at once, long before the queue that has grown is worked off. Throughput above the band is
no harm: users who waited come back at once.

Of hundreds of seconds some leave such a band by chance. So a second is out if it is one of `HOLD_S` in a row, or so far
out that chance explains none of the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t

from towtank.analysis.measurement import Column, Floats, Mask, Measurement
from towtank.analysis.windows.window import Window

HOLD_S = 3
"""Seconds out of the band in a row that count as being out, and seconds within it that are left at least. [s]"""
BY_CHANCE = 0.001
"""Share of undisturbed seconds that leave the band on one side by chance, and of undisturbed runs that have one far out
of it."""
# Fewer seconds than this do not tell how far one strays from the others.
_SECONDS_BEFORE = 5
_WHOLE = 0.5
# Seconds are as long as clocks tell them: where all before were equal, one that is equal must not count as less.
_ROUNDING = 1e-9
_NANOSECONDS = 1e9


@dataclass(frozen=True)
class Happened:
    """One event as it really came.

    Attributes
    ----------
    name, do, on : str
        Which, what, to what.
    begin_s : float or None
        In run time; None where it did not happen. [s]
    end_s : float or None
        When it was over: started again, mended, released; None where it was not. [s]
    failed : str or None
        Why it did not happen as asked.
    """

    name: str
    do: str
    on: str
    begin_s: float | None = None
    end_s: float | None = None
    failed: str | None = None
    processes: tuple[str, ...] = ()
    left: dict[str, int] | None = None


def happened(events: Sequence[dict[str, Any]], origin_ns: int) -> list[Happened]:
    """The events of a run in the order in which they began, those that did not at the end."""
    told: dict[str, dict[str, Any]] = {}
    for event in events:
        kind, name, at = event.get("k"), event.get("event"), event.get("t_ns")
        if kind not in ("event_begins", "event_filled", "event_ends", "event_failed") or not isinstance(at, int):
            continue
        one = told.setdefault(str(name), {"name": str(name), "do": str(event.get("do")), "on": str(event.get("on"))})
        if kind == "event_begins":
            one |= {"begin_s": (at - origin_ns) / _NANOSECONDS, "processes": tuple(event.get("processes") or ())}
        elif kind == "event_filled":
            one["left"] = {key: event[key] for key in ("free_bytes", "free_files") if key in event}
        elif kind == "event_ends":
            one["end_s"] = (at - origin_ns) / _NANOSECONDS
        else:
            one["failed"] = str(event.get("reason"))
    found = [Happened(**one) for one in told.values()]
    return sorted(found, key=lambda one: float("inf") if one.begin_s is None else one.begin_s)


def first_inside(found: Sequence[Happened], window: Window) -> Happened | None:
    """The first event that began inside a window as asked; None where it was left in peace."""
    inside = [one for one in found if one.begin_s is not None and window.asked_start_s < one.begin_s]
    return next((one for one in inside if one.begin_s is not None and one.begin_s < window.asked_end_s), None)


@dataclass(frozen=True)
class Band:
    """How the system did before: seconds it rests on, mean throughput, and the band."""

    seconds: int
    throughput_per_s: float
    least_per_s: float
    errors_at_most: float
    response_at_most_s: float | None = None

    def document(self) -> dict[str, Any]:
        """As it stands in a summary."""
        return self.__dict__.copy()


def band_of(measurement: Measurement, before: Mask, errors_limit: float, by_chance: float = BY_CHANCE) -> Band | None:
    """The band of the chosen seconds; None where they are too few to tell."""
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
    """How far beyond their mean one more of such values lies with this probability."""
    number = len(values)
    return float(t.ppf(1 - by_chance, number - 1) * np.std(values, ddof=1) * np.sqrt(1 + 1 / number))


def _longest_s(column: Column, chosen: Mask, by_chance: float) -> float | None:
    """Mean response time of a second that one more of the chosen exceeds with this probability; None of too few. [s]"""
    means = column.response_means_s[chosen]
    means = means[np.isfinite(means) & (means > 0)]
    if len(means) < _SECONDS_BEFORE:
        return None
    logs = np.log(means)
    return float(np.exp(min(50.0, logs.mean() + _reach(logs, by_chance))))


def _standstill(rates: Floats, mean: float) -> float:
    """Least throughput of a second that is no standstill, however much the seconds before strayed.

    A second with nothing at all comes once in a thousand by chance where -ln 0.001 = 6.9 are expected and they come one
    by one; where none of the seconds before was such, it is no chance. Half of one tells it from the others.
    """
    return 0.5 if mean >= -np.log(BY_CHANCE) and rates.min() > 0 else 0.0


def _error_shares(column: Column) -> Floats:
    """Share of failures in each second; nothing that ended at all counts as no failure, and shows as throughput."""
    return np.divide(column.failed, column.ended, out=np.zeros(column.bins), where=column.ended > 0)


def describe(
    found: Sequence[Happened], measurement: Measurement, asked: Window | None, errors_limit: float
) -> dict[str, dict[str, Any]]:
    """Events of a run by name, with what they did to it.

    Parameters
    ----------
    found : sequence of Happened
    measurement : Measurement
    asked : Window or None
        The steady stages as asked, before any event shortened what is analysed.
    errors_limit : float
        Share of failures that the study allows.

    Returns
    -------
    dict of dict
        As `docs/reference/summary.md` describes.
    """
    first = None if asked is None else first_inside(found, asked)
    band = far = None
    if asked is not None and first is not None and first.begin_s is not None:
        before = measurement.inside(asked.asked_start_s, first.begin_s)
        band = band_of(measurement, before, errors_limit)
        left = int(measurement.inside(first.begin_s, asked.asked_end_s).sum())
        far = band_of(measurement, before, errors_limit, BY_CHANCE / (2 * max(1, left)))
    end = float(measurement.ends.max()) if measurement.bins else 0.0
    return {
        one.name: {
            "do": one.do,
            "on": one.on,
            "begin_s": one.begin_s,
            "end_s": one.end_s,
            "until_s": _until(one, found, end),
            "failed": one.failed,
            "left": one.left,
            **_effect(one, found, measurement, asked, (band, far)),
        }
        for one in found
    }


def _until(one: Happened, found: Sequence[Happened], end_s: float) -> float | None:
    """Until when it lasts: what is killed or stopped, until it is started again."""
    if one.begin_s is None:
        return None
    if one.do not in ("kill", "stop"):
        return end_s if one.end_s is None else one.end_s
    later = [
        other.end_s
        for other in found
        if other.do in ("start", "restart") and _share(one, other) and other.end_s is not None
    ]
    return min((at for at in later if at > one.begin_s), default=end_s)


def _share(one: Happened, other: Happened) -> bool:
    return one.on == other.on or bool(set(one.processes) & set(other.processes))


def _effect(
    one: Happened,
    found: Sequence[Happened],
    measurement: Measurement,
    asked: Window | None,
    bands: tuple[Band | None, Band | None],
) -> dict[str, Any]:
    """Recovery and losses of one event, by the band and by the one that no second leaves by chance."""
    band, far = bands
    nothing = {"before": None, "disturbed": None, "recovery_s": None, "during": None}
    if one.begin_s is None:
        return {**nothing, "why": "it did not happen"}
    if asked is None or not asked.asked_start_s < one.begin_s < asked.asked_end_s:
        return {**nothing, "why": "it did not happen within the steady stage"}
    if band is None or far is None:
        return {**nothing, "why": f"less than {_SECONDS_BEFORE} s of the steady stage went by before the first event"}
    after = (measurement.ends > one.begin_s + 1e-6) & (measurement.ends <= asked.asked_end_s + 1e-6)
    after &= (measurement.lengths >= _WHOLE) & (measurement.starts >= asked.asked_start_s - 1e-6)
    places = np.flatnonzero(after)
    left, back = _excursion(_within(measurement, places, band), _within(measurement, places, far))
    until = float(measurement.starts[places[back]]) if back is not None else asked.asked_end_s
    recovery = None if back is None else max(0.0, until - one.begin_s) if left is not None else 0.0
    if left is None:  # all the time that it lasted
        during = places[measurement.starts[places] < (_until(one, found, asked.asked_end_s) or asked.asked_end_s)]
    else:
        during = places if back is None else places[:back]
    return {
        "before": band.document(),
        "disturbed": left is not None,
        "recovery_s": recovery,
        "during": _losses(measurement, during, band),
        "why": None if recovery is not None else "the steady stage ended before it was back",
    }


def _within(measurement: Measurement, places: Any, band: Band) -> Mask:
    """Which seconds are within a band."""
    column = measurement.transactions
    rates = column.ok[places] / measurement.lengths[places]
    within = (rates >= band.least_per_s * (1 - _ROUNDING)) & (_error_shares(column)[places] <= band.errors_at_most)
    if band.response_at_most_s is not None:
        means = column.response_means_s[places]
        within &= ~(np.nan_to_num(means, nan=0.0) > band.response_at_most_s * (1 + _ROUNDING))
    return np.asarray(within)


def _excursion(within: Mask, near: Mask) -> tuple[int | None, int | None]:
    """First second out, and the first one behind the last that is out; None for it where fewer than `HOLD_S` are left.

    Parameters
    ----------
    within, near : ndarray of bool of shape (n_seconds,)
        Seconds within the band, and those not so far out of it that chance does not explain them.

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


def _losses(measurement: Measurement, places: Any, band: Band) -> dict[str, Any]:
    """What the seconds from an event until the system was back had, and what they lacked."""
    column, requests = measurement.transactions, measurement.requests
    length, ok = measurement.length_of(places), float(column.ok[places].sum())
    counts = column.response.counts[places]
    slow = [value for value in np.array(column.response.quantile_by_bin(0.95), dtype=object)[places] if value]
    return {
        "length_s": length,
        "throughput_per_s": ok / length if length else None,
        "missed_transactions": max(0.0, band.throughput_per_s * length - ok),
        "failed_transactions": _by_kind(column, places),
        "failed_requests": _by_kind(requests, places),
        "timed": int(counts.sum()),
        "worst_p95_s": max(slow, default=None),
    }


def _by_kind(column: Column, places: Any) -> dict[str, int]:
    kinds = {kind: int(counts[places].sum()) for kind, counts in sorted(column.failed_by_kind.items())}
    return {kind: count for kind, count in kinds.items() if count}
