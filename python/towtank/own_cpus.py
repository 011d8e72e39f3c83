"""Pins this process for a time, and remembers the CPUs that it may use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_before: list[frozenset[int]] = []
"""CPUs of this process before each pinning that is in force, the first pinning first."""


def usable_cpus() -> frozenset[int]:
    """Return the CPUs that this process may use, even while it is pinned to some of them."""
    return _before[0] if _before else frozenset(os.sched_getaffinity(0))


@contextmanager
def pinned_to(cpus: Iterable[int]) -> Iterator[None]:
    """Pin this process to CPUs inside the block; processes that it starts inherit the pinning. Without CPUs, do not."""
    chosen = set(cpus)
    _before.append(frozenset(os.sched_getaffinity(0)))
    try:
        if chosen:
            os.sched_setaffinity(0, chosen)
        yield
    finally:
        os.sched_setaffinity(0, _before.pop())
