"""Finds the stretches of a run. A stretch consists of consecutive steady stages with the same load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STEADY_PHASE = "steady"
# Keys of a stage that specify its load. Their values are equal in all stages of a stretch.
_AMOUNTS = ("users", "rate", "users_by_group", "rates_by_group")

Stage = Mapping[str, Any]


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


def stretches(stages: Sequence[Stage]) -> list[Stretch]:
    """Return all stretches (consecutive steady stages with the same load) of a run, sorted by time."""
    found: list[list[Stage]] = []
    for stage in stages:
        if stage.get("phase") != STEADY_PHASE:
            continue
        if found and _goes_on(found[-1][-1], stage):
            found[-1].append(stage)
        else:
            found.append([stage])
    return [_stretch(each, len(found)) for each in found]


def stretch_of(stages: Sequence[Stage], number: int) -> Stretch:
    """Return a single stage as a stretch. It is used for searches, which analyse single stages."""
    return _stretch([stages[number]], max(1, len(stretches(stages))))


def _goes_on(before: Stage, stage: Stage) -> bool:
    same = all(before.get(key) == stage.get(key) for key in _AMOUNTS)
    return same and abs(before["end_s"] - stage["start_s"]) < 1e-6


def _stretch(stages: Sequence[Stage], of: int) -> Stretch:
    first, last = stages[0], stages[-1]
    users, rate = _total(first, "users", "users_by_group"), _total(first, "rate", "rates_by_group")
    return Stretch(
        tuple(str(stage.get("name")) for stage in stages),
        first["start_s"],
        last["end_s"],
        None if users is None else round(users),
        rate,
        of,
    )


def _total(stage: Stage, whole: str, by_group: str) -> float | None:
    """Return the load of a stage; None if it is unknown. The loads of user groups are added up. The sum is rounded,
    because arrival rates of groups are computed from shares and have rounding errors.
    """
    amounts = stage.get(by_group)
    if isinstance(amounts, Sequence):
        return round(math.fsum(amounts), 9)
    amount = stage.get(whole)
    return float(amount) if isinstance(amount, int | float) else None
