"""Which CPUs the system under test gets, and which the generator with probe and conductor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Pinning:
    """CPUs by role; both empty where there are too few to share out."""

    system: tuple[int, ...] = ()
    generator: tuple[int, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether system and generator are kept apart."""
        return bool(self.system and self.generator)

    def document(self) -> dict[str, object]:
        """For the run's manifest."""
        plain: dict[str, object] = {"system": list(self.system), "generator": list(self.generator)}
        return plain if self.pinned else {**plain, "note": "one CPU: system and generator share it"}


def share_out(available: set[int] | None = None) -> Pinning:
    """Give the last CPU to the generator and all others to the system; nothing is pinned on a single CPU.

    Parameters
    ----------
    available : set of int, optional
        CPUs to share out; those this process may use by default.
    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    if len(cpus) < 2:
        return Pinning()
    return Pinning(tuple(cpus[:-1]), (cpus[-1],))


@contextmanager
def on_generator(pinning: Pinning) -> Iterator[None]:
    """Keep this process (and the probe it starts) on the generator's CPUs for a while."""
    before = os.sched_getaffinity(0)
    if pinning.pinned:
        os.sched_setaffinity(0, pinning.generator)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
