"""Defines a sign of a limit, from which a diagnosis is made."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.analysis.diagnosis.answer import Cause, Place

WEAK = 0.4
"""Degree of belief in a cause for which the evidence is weak, in (0, 1)."""


@dataclass(frozen=True)
class Sign:
    """Sign of a limit: possible cause, location and evidence.

    Attributes
    ----------
    cause : Cause
        Possible cause.
    place : Place
        Location of the limit.
    sure : float
        Degree of belief that this cause limits throughput, based on a single load level, in (0, 1).
    evidence, against : tuple of str
        Sentences for and against the cause.
    settle : str
        Next measurement, which would confirm or refute the cause.
    busy : float or None
        Share of the time in which the CPU was busy, if the limit is a single CPU; otherwise None. [1]
    """

    cause: Cause
    place: Place
    sure: float
    evidence: tuple[str, ...]
    settle: str
    against: tuple[str, ...] = ()
    busy: float | None = None
