"""Pins this process to CPUs temporarily."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_before: list[frozenset[int]] = []
"""CPUs that this process might use before each active call of `pinned_to`, the outermost call first."""


def usable_cpus() -> frozenset[int]:
    """Return the CPUs that this process may use, regardless of the temporary limit by `pinned_to`."""
    return _before[0] if _before else frozenset(os.sched_getaffinity(0))


@contextmanager
def pinned_to(cpus: Iterable[int]) -> Iterator[None]:
    """Pin this process to CPUs while this context is active; if `cpus` is empty, do nothing.

    Processes that are started within the context inherit the pinning.
    """
    chosen = set(cpus)
    _before.append(frozenset(os.sched_getaffinity(0)))
    try:
        if chosen:
            os.sched_setaffinity(0, chosen)
        yield
    finally:
        os.sched_setaffinity(0, _before.pop())
