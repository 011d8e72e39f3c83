"""Divides the CPUs of this machine between the system under test and the generator, which shares its CPUs with the
probe.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from towtank.errors import StudyError
from towtank.own_cpus import pinned_to

if TYPE_CHECKING:
    from towtank.study import PinnedCpus


@dataclass(frozen=True)
class Pinning:
    """CPUs of the system under test and of the generator. If both are empty, nothing is pinned, for the reason
    `note`.
    """

    system: tuple[int, ...] = ()
    generator: tuple[int, ...] = ()
    note: str = ""

    @property
    def pinned(self) -> bool:
        """True if the system under test and the generator are pinned to separate CPUs."""
        return bool(self.system and self.generator)

    def document(self) -> dict[str, object]:
        """Return the pinning as JSON for the manifest of a run."""
        plain: dict[str, object] = {"system": list(self.system), "generator": list(self.generator)}
        return {**plain, "note": self.note} if self.note else plain


def share_out(available: set[int] | None = None) -> Pinning:
    """Assign the last CPU to the generator and all other CPUs to the system; by default, of all CPUs that this process
    may use. With a single CPU, nothing is pinned.
    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    if len(cpus) < 2:
        return Pinning(note="one CPU: system and generator share it")
    return Pinning(tuple(cpus[:-1]), (cpus[-1],))


def pinning_of(asked: PinnedCpus | Literal["auto", "off"]) -> Pinning:
    """Return the pinning that a study requests.

    Raises
    ------
    StudyError
        If the study names a CPU that this process may not use.
    """
    if asked == "off":
        return Pinning(note="the study turns pinning off")
    if asked == "auto":
        return share_out()
    available = os.sched_getaffinity(0)
    absent = sorted({*asked.system, *asked.generator} - available)
    if absent:
        shown = ", ".join(map(str, sorted(available)))
        raise StudyError.at("study", f"must name CPUs among {shown}, got {absent[0]} instead", where="pinning")
    return Pinning(tuple(asked.system), tuple(asked.generator))


@contextmanager
def on_generator(pinning: Pinning) -> Iterator[None]:
    """Pin this process to the generator's CPUs during the block. A probe started in the block inherits the pinning."""
    with pinned_to(pinning.generator if pinning.pinned else ()):
        yield
