"""Builds the stages of the engine's plan for a load with a schedule or a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from towtank.study.model import Load, ScheduleStage
from towtank.study.traces import RateCurve

STEADY = "steady"


@dataclass(frozen=True)
class Groups:
    """User groups of the workload.

    Attributes
    ----------
    names : tuple of str
        Names in the order of the file.
    shares : tuple of float
        Share of all users that belongs to each group, in (0, 1].
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]


def split_users(total: int, shares: tuple[float, ...]) -> list[int]:
    """Split a number of users into whole numbers in proportion to shares, by the method of largest remainders.

    The results add up to `total`.

    Examples
    --------
    >>> split_users(10, (0.5, 0.25, 0.25))
    [5, 3, 2]
    """
    quotas = [total * share / math.fsum(shares) for share in shares]
    counts = [math.floor(quota + 1e-9) for quota in quotas]
    by_remainder = sorted(range(len(shares)), key=lambda place: (-round(quotas[place] - counts[place], 9), place))
    for place in by_remainder[: total - sum(counts)]:
        counts[place] += 1
    return counts


def total_of(stage: ScheduleStage) -> float:
    """Return the total users, or the total arrival rate, of a stage. [1, 1/s]"""
    amount = stage.amount
    return math.fsum(amount.values()) if isinstance(amount, dict) else float(amount)


def levels_of(load: Load, curve: RateCurve | None) -> tuple[float, ...]:
    """Return the load of each steady stage, in users or arrivals per second; for a trace, the mean rate. [1, 1/s]"""
    if curve is not None:
        return (curve.mean_rate,)
    return tuple(total_of(stage) for stage in load.schedule or () if stage.phase == STEADY)


def by_group(load: Load) -> bool:
    """Return True if any stage of the schedule gives amounts by user group.

    The plan then gives amounts by group in every stage.
    """
    return any(isinstance(stage.amount, dict) for stage in load.schedule or ())


def schedule_stages(load: Load, groups: Groups) -> list[dict[str, Any]]:
    """Return the stages of the engine's plan for `load.schedule`."""
    own = by_group(load)
    stages, level = [], 0
    for stage in load.schedule or ():
        common = {"name": stage.name or stage.phase, "phase": stage.phase, "level": level, "duration_s": stage.duration}
        stages.append({**common, **(_amounts(load, stage, groups) if own else _amount(load, stage))})
        level += stage.phase == STEADY
    last = max(0, level - 1)
    return [{**stage, "level": min(stage["level"], last)} for stage in stages]


def _amount(load: Load, stage: ScheduleStage) -> dict[str, Any]:
    total = total_of(stage)
    return {"users": int(total)} if load.kind == "closed" else {"rate": total}


def _amounts(load: Load, stage: ScheduleStage, groups: Groups) -> dict[str, Any]:
    """Return the load of a stage by user group; a total is split in proportion to the shares of the groups."""
    amount = stage.amount
    if load.kind == "closed":
        if isinstance(amount, dict):
            return {"users_by_group": [int(amount.get(name, 0)) for name in groups.names]}
        return {"users_by_group": split_users(int(amount), groups.shares)}
    if isinstance(amount, dict):
        return {"rates_by_group": [float(amount.get(name, 0.0)) for name in groups.names]}
    whole = math.fsum(groups.shares)
    return {"rates_by_group": [float(amount) * share / whole for share in groups.shares]}


def trace_stages(load: Load, curve: RateCurve) -> list[dict[str, Any]]:
    """Return the stages of the engine's plan for `load.trace`.

    A settle stage at the first rate, if the study has one, precedes the steady stage.
    """
    assert load.trace is not None
    stages: list[dict[str, Any]] = []
    if load.trace.settle > 0:
        held = {"duration_s": load.trace.settle, "rate": curve.knots[0][1]}
        stages.append({"name": "settle", "phase": "settle", "level": 0, **held})
    rates = [[at, rate] for at, rate in curve.knots]
    return [*stages, {"name": STEADY, "phase": STEADY, "level": 0, "duration_s": curve.length_s, "rates": rates}]


def users_needed(stages: list[dict[str, Any]]) -> int:
    """Return the number of users that a closed load needs. [1]

    If the schedule gives users by group, the result is the sum of the largest number of users of each group.
    """
    if any("users_by_group" in stage for stage in stages):
        columns = zip(*(stage["users_by_group"] for stage in stages), strict=True)
        return sum(max(column) for column in columns)
    return int(max(stage["users"] for stage in stages))
