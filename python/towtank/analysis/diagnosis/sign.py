"""Defines signs of a limit."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.analysis.diagnosis.answer import Cause, Place

WEAK = 0.4
"""Degree of belief in a cause for which the evidence is weak, in (0, 1)."""


@dataclass(frozen=True)
class Sign:
    """Sign of a limit: a cause, where it was found, and the evidence.

    Attributes
    ----------
    cause : Cause
    place : Place
    sure : float
        Degree of belief that this cause limits throughput, from a single load level, in (0, 1).
    evidence, against : tuple of str
    settle : str
    busy : float or None
        Share of time in which the CPU was busy, if the limit is a single CPU. [1]
    """

    cause: Cause
    place: Place
    sure: float
    evidence: tuple[str, ...]
    settle: str
    against: tuple[str, ...] = ()
    busy: float | None = None
