"""Finds full pools and locks that are always held, from names and values of the metrics that services report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from towtank.estimates import few_digits
from towtank.results import ConnectionSeries

_LOCKS = frozenset({"lock", "locks", "mutex", "held", "semaphore", "critical", "exclusive"})
_WAITS = frozenset({"wait", "waits", "waiting", "waited", "waiters", "pending", "queued", "blocked", "acquire"})
_USED = frozenset({"use", "active", "busy", "used", "borrowed", "leased"})
_LIMITS = frozenset({"size", "max", "limit", "capacity", "maximum"})
_FILLING = frozenset({"in", "open", "config", "current", "number", "count", "total"})
# Metrics with one of these words in their name have a size, but do not describe a pool.
_NO_POOLS = frozenset({"cache", "entries", "sessions", "heap", "disk", "file", "files"})
_OTHER_UNITS = frozenset({"bytes", "ratio", "percent", "fds", "seconds", "ms"})
HELD = (0.90, 1.03)
"""A lock may limit the system if the time for which it is held, per second, lies in this range. [s/s]

A lock that is held all the time has the value 1; because of measurement errors, it may be slightly larger.
"""
FULL = 0.90
"""A pool may limit the system if, on average, at least this share of the pool is in use, in (0, 1)."""
_SIGNIFICANT_WAIT = 0.5  # Smallest mean number of waiting requests that is considerable. [1]
_SHARED_WORDS = 2  # Metrics describe the same object if at least this number of words is equal. [1]
_NOBODY = 0.05
"""A lock or pool delays no requests if, on average, fewer requests than this wait for it. [1]"""
_SHOWN, _COMPARED = 3, 200
"""`_SHOWN`: largest number of locks, and of pools, that are reported. `_COMPARED`: largest number of size gauges that
are compared with one gauge of use. [1]
"""


@dataclass(frozen=True)
class Series:
    """Time series of a metric that a service reported in the window.

    Attributes
    ----------
    service, key : str
        Name of the service, and name of the metric with its labels.
    is_counter : bool
        True for a counter, False for a gauge.
    value : float
        Rate of a counter [1/s], or mean of a gauge.
    """

    service: str
    key: str
    is_counter: bool
    value: float

    @cached_property
    def name(self) -> str:
        """Name of the metric without labels."""
        return self.key.split("{", 1)[0]

    @property
    def labels(self) -> str:
        """Labels in braces; empty if there are none."""
        return self.key[len(self.name) :]

    @cached_property
    def words(self) -> list[str]:
        """Words in the name of the metric, in lower case."""
        return [word.lower() for word in re.split(r"[_:.]+|(?<=[a-z])(?=[A-Z])", self.name) if word]

    def has(self, words: frozenset[str]) -> bool:
        """Return True if the name of the metric contains any of the words."""
        return not words.isdisjoint(self.words)


@dataclass(frozen=True)
class Wait:
    """Lock or pool that is always held or full, according to the metrics of a service.

    Attributes
    ----------
    series : Series
        Metric that shows the lock or pool.
    text : str
        Measured values as text.
    waiting : float or None
        Mean number of requests that wait for the lock or pool; None if no metric counts them. [1]
    """

    series: Series
    text: str
    waiting: float | None


def series_of(services: Mapping[str, Mapping[str, Mapping[str, object]]]) -> list[Series]:
    """Return the metrics of all services, from the entry `services` of a run summary."""
    return [
        Series(service, key, name == "per_s", float(value))
        for service, table in services.items()
        if service != ConnectionSeries.STREAM
        for key, found in (table or {}).items()
        # The series `_count` of a histogram of seconds has `seconds` in its name, but counts values.
        if not key.split("{", 1)[0].endswith("_count")
        for name in ("per_s", "mean")
        if isinstance(value := found.get(name), int | float)
    ]


def locks(found: list[Series]) -> Iterator[Wait]:
    """Yield the locks that are held nearly all the time. A counter of seconds shows how long a lock is held. The
    longest times come first.
    """
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
    """Yield the pools that are fully in use. One gauge shows the number in use, another gauge the size of the pool."""
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
        # Only gauges with a suitable value are compared by name: the size of a full pool is close to the number in use.
        near = [size for size in sizes.get((each.service, each.labels), ()) if _is_full(each, size)]
        size = _size_of(each, near[:_COMPARED])
        if size is not None:
            yield from _waited_for(
                each, f"`{each.key}` is {few_digits(each.value)} of `{size.name}` {few_digits(size.value)}", found
            )


def _is_full(used: Series, size: Series) -> bool:
    return FULL * size.value <= used.value <= 1.02 * size.value


def _size_of(used: Series, sizes: list[Series]) -> Series | None:
    """Return the size gauge that best matches a gauge of the number in use; None if none matches.

    The names of both gauges must describe the same object. Without words such as `max` and `used`, one name must
    contain all words of the other.
    """
    thing = _thing(used, _USED)
    candidates = [
        (len(thing & other), each) for each in sizes if (other := _thing(each, _LIMITS)) <= thing or thing <= other
    ]
    best = max(candidates, key=lambda entry: entry[0], default=None)
    return None if best is None or best[0] < _SHARED_WORDS else best[1]


def _thing(of: Series, words: frozenset[str]) -> set[str]:
    """Return the words in the name of a metric that describe the measured object, without words such as `used` and
    `max`.
    """
    return set(of.words) - words - _FILLING


def _waited_for(of: Series, text: str, found: list[Series]) -> Iterator[Wait]:
    """Yield the lock or pool, with the mean number of requests that wait for it. Yield nothing if hardly any request
    waits.
    """
    waiting = _waiting(of, found)
    if waiting is None or waiting >= _NOBODY:
        yield Wait(of, text, waiting)


def _waiting(of: Series, found: list[Series]) -> float | None:
    """Return the mean number of requests that wait for a lock or pool, from a gauge or from a counter of waited
    seconds. Return None if it is unknown. [1]
    """
    values = [
        each.value
        for each in found
        if (each.service, each.labels) == (of.service, of.labels)
        and each.has(_WAITS)
        and _shared(of, each) >= _SHARED_WORDS
        # The rate of a counter of waited seconds is the mean number of waiting requests. A gauge of seconds is a time,
        # so it is not used.
        and each.is_counter == ("seconds" in each.words)
    ]
    return max(values, default=None)


def _shared(one: Series, other: Series) -> int:
    """Return the number of words at the start of both names that are equal. [1]"""
    shared = 0
    for left, right in zip(one.words, other.words, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def is_waited_for(wait: Wait) -> bool:
    """Return True if, on average, a considerable number of requests waits for a lock or pool."""
    return wait.waiting is not None and wait.waiting >= _SIGNIFICANT_WAIT
