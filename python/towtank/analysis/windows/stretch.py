"""Finds the stretches of a run. A stretch consists of consecutive steady stages with the same load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from towtank.results import RecordedStage

STEADY_PHASE = "steady"


@dataclass(frozen=True)
class Stretch:
    """Consecutive steady stages with the same load.

    Attributes
    ----------
    stages : tuple of str
        Names of the stages.
    start_s, end_s : float
        Planned start and end, in run time. [s]
    users : int or None
        Number of users of all groups together; None for an open load, or if not recorded. [1]
    rate : float or None
        Arrival rate of all groups together; None for a closed load, or if not recorded. [1/s]
    of : int
        Number of stretches in the run, at least 1. [1]
    """

    stages: tuple[str, ...]
    start_s: float
    end_s: float
    users: int | None
    rate: float | None
    of: int

    def document(self) -> dict[str, object]:
        """Return the stretch as JSON for the window of a run summary."""
        return {"stages": list(self.stages), "users": self.users, "rate": self.rate, "stretches": self.of}


def stretches(stages: Sequence[RecordedStage]) -> list[Stretch]:
    """Return all stretches (consecutive steady stages with the same load) of a run, sorted by time."""
    found: list[list[RecordedStage]] = []
    for stage in stages:
        if stage.phase != STEADY_PHASE:
            continue
        if found and _goes_on(found[-1][-1], stage):
            found[-1].append(stage)
        else:
            found.append([stage])
    return [_stretch(each, len(found)) for each in found]


def stretch_of(stages: Sequence[RecordedStage], number: int) -> Stretch:
    """Return a single stage as a stretch. It is used for searches, which analyse single stages."""
    return _stretch([stages[number]], max(1, len(stretches(stages))))


def _goes_on(before: RecordedStage, stage: RecordedStage) -> bool:
    return _amounts(before) == _amounts(stage) and abs(before.end_s - stage.start_s) < 1e-6


def _amounts(stage: RecordedStage) -> tuple[object, ...]:
    """Return the load of a stage, which is equal in all stages of a stretch."""
    return stage.users, stage.rate, stage.users_by_group, stage.rates_by_group


def _stretch(stages: Sequence[RecordedStage], of: int) -> Stretch:
    first, last = stages[0], stages[-1]
    users, rate = _total(first.users, first.users_by_group), _total(first.rate, first.rates_by_group)
    return Stretch(
        tuple(str(stage.name) for stage in stages),
        first.start_s,
        last.end_s,
        None if users is None else round(users),
        rate,
        of,
    )


def _total(whole: float | None, by_group: Sequence[float] | None) -> float | None:
    """Return the load of a stage; None if it is unknown. The loads of user groups are added up. The sum is rounded,
    because arrival rates of groups are computed from shares and have rounding errors.
    """
    if by_group is not None:
        return round(math.fsum(by_group), 9)
    return None if whole is None else float(whole)
