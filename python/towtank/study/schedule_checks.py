"""Checks `load.schedule`, the stages that a study lists individually."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from towtank.errors import Fault
from towtank.spelling import misnamed
from towtank.study.model import Load, ScheduleStage
from towtank.study.schedules import STEADY, total_of

# Largest number of users of a closed load. [1]
_USERS_AT_MOST = 10_000_000
# Longest duration of a load that the engine supports. [s]
_SECONDS_AT_MOST = 1e7


def check_schedule(
    load: Load, schedule: list[ScheduleStage], groups: list[str] | None, at: Callable[..., Fault]
) -> Iterator[Fault]:
    """Yield the faults of `load.schedule`. The user groups are None if the workload could not be read; `at` returns a
    fault for a path in the study and a message.
    """
    key, other = ("users", "rate") if load.kind == "closed" else ("rate", "users")
    for index, stage in enumerate(schedule):
        path = ("load", "schedule", index)
        if getattr(stage, key) is None:
            yield at(path, f"must have the key {key!r} with {load.kind} load, got none")
        if getattr(stage, other) is not None:
            yield at((*path, other), f"must not be given with {load.kind} load", key=True)
        if stage.phase == STEADY and stage.duration <= 0:
            yield at((*path, "for"), "must be above 0 in a steady stage, got 0 instead")
        if stage.duration > _SECONDS_AT_MOST:
            yield at((*path, "for"), f"must be at most {_SECONDS_AT_MOST:g} s, got {stage.duration:g} s instead")
        amount = stage.amount
        known = groups or []
        for name in amount if isinstance(amount, dict) and known else ():
            if name not in known:
                message = misnamed(f"a group of the workload ({', '.join(known)})", name, known)
                yield at((*path, key, name), message, key=True)
    if not any(stage.phase == STEADY and total_of(stage) > 0 for stage in schedule):
        yield at(("load", "schedule"), f"must have a steady stage with {key} above 0, got none", key=True)
    if load.kind == "closed" and _most(schedule) > _USERS_AT_MOST:
        message = f"must need at most {_USERS_AT_MOST} users, got {_most(schedule)} instead"
        yield at(("load", "schedule"), message, key=True)


def _most(schedule: list[ScheduleStage]) -> int:
    return max(int(total_of(stage)) for stage in schedule)
