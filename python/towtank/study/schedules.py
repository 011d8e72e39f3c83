"""Builds the stages of the engine's plan for a load with a schedule or a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from towtank.plan import PlannedStage
from towtank.study.model import Load, ScheduleStage
from towtank.study.traces import RateCurve

STEADY = "steady"


@dataclass(frozen=True)
class Groups:
    """User groups of the workload in the order of the file, with the share of all users that belongs to each, in (0,
    1].
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


def schedule_stages(load: Load, groups: Groups) -> list[PlannedStage]:
    """Return the stages for `load.schedule`."""
    own, closed = by_group(load), load.kind == "closed"
    stages: list[PlannedStage] = []
    level = 0
    for stage in load.schedule or ():
        planned = PlannedStage(stage.name or stage.phase, stage.phase, level, stage.duration)
        if own and closed:
            stages.append(replace(planned, users_by_group=_users_by_group(stage, groups)))
        elif own:
            stages.append(replace(planned, rates_by_group=_rates_by_group(stage, groups)))
        else:
            total = total_of(stage)
            stages.append(replace(planned, users=int(total)) if closed else replace(planned, rate=total))
        level += stage.phase == STEADY
    return [replace(stage, level=min(stage.level, max(0, level - 1))) for stage in stages]


def _users_by_group(stage: ScheduleStage, groups: Groups) -> list[int]:
    amount = stage.amount
    if isinstance(amount, dict):
        return [int(amount.get(name, 0)) for name in groups.names]
    return split_users(int(amount), groups.shares)


def _rates_by_group(stage: ScheduleStage, groups: Groups) -> list[float]:
    amount = stage.amount
    if isinstance(amount, dict):
        return [float(amount.get(name, 0.0)) for name in groups.names]
    return [float(amount) * share / math.fsum(groups.shares) for share in groups.shares]


def trace_stages(load: Load, curve: RateCurve) -> list[PlannedStage]:
    """Return the stages for `load.trace`.

    A settle stage at the first rate, if the study has one, precedes the steady stage.
    """
    assert load.trace is not None
    steady = PlannedStage(STEADY, STEADY, 0, curve.length_s, rates=curve.knots)
    if load.trace.settle <= 0:
        return [steady]
    return [PlannedStage("settle", "settle", 0, load.trace.settle, rate=curve.knots[0][1]), steady]


def users_needed(stages: list[PlannedStage]) -> int:
    """Return the number of users that a closed load needs. [1]

    If the schedule gives users by group, the result is the sum of the largest number of users of each group.
    """
    if by_stage := [stage.users_by_group for stage in stages if stage.users_by_group is not None]:
        return sum(max(column) for column in zip(*by_stage, strict=True))
    return max(stage.users or 0 for stage in stages)
