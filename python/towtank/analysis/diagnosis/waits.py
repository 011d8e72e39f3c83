"""Signs of locks and pools on pages of metrics, by the names and values of their series."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

_LOCKS = frozenset({"lock", "locks", "mutex", "held", "semaphore", "critical", "exclusive"})
_WAITS = frozenset({"wait", "waits", "waiting", "waited", "waiters", "pending", "queued", "blocked", "acquire"})
_USED = frozenset({"use", "active", "busy", "used", "borrowed", "leased"})
_LIMITS = frozenset({"size", "max", "limit", "capacity", "maximum"})
_FILLING = frozenset({"in", "open", "config", "current", "number", "count", "total"})
# Quantities of the kinds of things that have a size and are no pools.
_NO_POOLS = frozenset({"cache", "entries", "sessions", "heap", "disk", "file", "files"})
_OTHER_UNITS = frozenset({"bytes", "ratio", "percent", "fds", "seconds", "ms"})
HELD = (0.90, 1.03)
"""Seconds per second in which a lock is held if it limits the system: near 1, above it only by errors of reading."""
FULL = 0.90
"""Share of its size that a pool has in use, on average, if it limits the system."""
_SIGNIFICANT_WAIT = 0.5
_SHARED_WORDS = 2
_NOBODY = 0.05
"""Requests that wait on average, below which a lock or a pool holds nobody back. [1]"""
_SHOWN, _COMPARED = 3, 200
"""Most locks and pools that are named, and most sizes that a gauge is compared with."""


@dataclass(frozen=True)
class Series:
    """Metric of a service in the window.

    Attributes
    ----------
    service, key : str
        Name of the service, and of the series with its labels.
    is_counter : bool
        Whether it is a counter.
    value : float
        Rate of a counter [1/s], or mean of a gauge.
    """

    service: str
    key: str
    is_counter: bool
    value: float

    @cached_property
    def name(self) -> str:
        """Name without labels."""
        return self.key.split("{", 1)[0]

    @property
    def labels(self) -> str:
        """Labels with their braces; empty without labels."""
        return self.key[len(self.name) :]

    @cached_property
    def words(self) -> list[str]:
        """Words of the name in lower case."""
        return [word.lower() for word in re.split(r"[_:.]+|(?<=[a-z])(?=[A-Z])", self.name) if word]

    def has(self, words: frozenset[str]) -> bool:
        """Return True if one of the words is in the name."""
        return not words.isdisjoint(self.words)


@dataclass(frozen=True)
class Wait:
    """Lock or pool at its limit.

    Attributes
    ----------
    series : Series
        Metric that shows it.
    text : str
        Values as text.
    waiting : float or None
        Requests that wait for it, on average; None if no metric shows them. [1]
    """

    series: Series
    text: str
    waiting: float | None


def series_of(services: Mapping[str, Mapping[str, Mapping[str, object]]]) -> list[Series]:
    """Read the metrics of all services of a run summary."""
    return [
        Series(service, key, name == "per_s", float(value))
        for service, table in services.items()
        for key, found in (table or {}).items()
        # The count of a histogram of seconds is a number of events.
        if not key.split("{", 1)[0].endswith("_count")
        for name in ("per_s", "mean")
        if isinstance(value := found.get(name), int | float)
    ]


def locks(found: list[Series]) -> Iterator[Wait]:
    """Yield the locks that are held nearly all the time, by counters of seconds; the most used is the first."""
    held = [
        each
        for each in found
        if each.is_counter
        and HELD[0] <= each.value <= HELD[1]
        and "seconds" in each.words
        and each.has(_LOCKS)
        and not each.has(_WAITS)
    ]
    for each in sorted(held, key=lambda each: -each.value)[:_SHOWN]:
        yield from _waited_for(each, f"`{each.key}` grows by {each.value:.2f} s per second", found)


def pools(found: list[Series]) -> Iterator[Wait]:
    """Yield the pools that are fully in use, by a gauge of use and a gauge of the size of the same thing."""
    gauges = [each for each in found if not each.is_counter and not each.has(_OTHER_UNITS | _NO_POOLS)]
    sizes: dict[tuple[str, str], list[Series]] = {}
    for each in gauges:
        if each.has(_LIMITS) and each.value >= 1:
            sizes.setdefault((each.service, each.labels), []).append(each)
    yield from islice(_full_pools(gauges, sizes, found), _SHOWN)


def _full_pools(
    gauges: list[Series], sizes: Mapping[tuple[str, str], list[Series]], found: list[Series]
) -> Iterator[Wait]:
    for each in gauges:
        if not each.has(_USED) or each.has(_LIMITS) or each.value < FULL:
            continue
        # Only a size that the use comes up to can be that of a full pool.
        near = [size for size in sizes.get((each.service, each.labels), ()) if _is_full(each, size)]
        size = _size_of(each, near[:_COMPARED])
        if size is not None:
            yield from _waited_for(each, f"`{each.key}` is {each.value:.3g} of `{size.name}` {size.value:.3g}", found)


def _is_full(used: Series, size: Series) -> bool:
    return FULL * size.value <= used.value <= 1.02 * size.value


def _size_of(used: Series, sizes: list[Series]) -> Series | None:
    """Return the gauge of the size of a pool: its name states the same thing, or a part of it, with a word of size."""
    thing = _thing(used, _USED)
    candidates = [
        (len(thing & other), each) for each in sizes if (other := _thing(each, _LIMITS)) <= thing or thing <= other
    ]
    best = max(candidates, key=lambda entry: entry[0], default=None)
    return None if best is None or best[0] < _SHARED_WORDS else best[1]


def _thing(of: Series, words: frozenset[str]) -> set[str]:
    """Return the words of a name that state the thing, without those of its use or size."""
    return set(of.words) - words - _FILLING


def _waited_for(of: Series, text: str, found: list[Series]) -> Iterator[Wait]:
    """Yield a lock or pool with the number of requests that wait for it, unless that number is known to be 0."""
    waiting = _waiting(of, found)
    if waiting is None or waiting >= _NOBODY:
        yield Wait(of, text, waiting)


def _waiting(of: Series, found: list[Series]) -> float | None:
    """Return the number of requests that wait: of a gauge, or the growth of a counter of waited seconds. [1]"""
    values = [
        each.value
        for each in found
        if (each.service, each.labels) == (of.service, of.labels)
        and each.has(_WAITS)
        and _shared(of, each) >= _SHARED_WORDS
        # A counter of waited seconds grows by the number that waits; a gauge of seconds is a time.
        and each.is_counter == ("seconds" in each.words)
    ]
    return max(values, default=None)


def _shared(one: Series, other: Series) -> int:
    """Return the number of words that two names have in common at their beginning."""
    shared = 0
    for left, right in zip(one.words, other.words, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def is_waited_for(wait: Wait) -> bool:
    """Return True if requests are known to wait for a lock or a pool."""
    return wait.waiting is not None and wait.waiting >= _SIGNIFICANT_WAIT
