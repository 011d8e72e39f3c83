"""Builds the entry `load` of the engine's plan: stages with their durations and load levels."""

from __future__ import annotations

from towtank.plan import PlannedLoad, PlannedStage
from towtank.study.model import EachRamp, FindLimit, Load, Stages
from towtank.study.precise import SteadyUntil
from towtank.study.schedules import Groups, schedule_stages, trace_stages, users_needed
from towtank.study.settle import SettleUntil
from towtank.study.traces import RateCurve
from towtank.study.until import longest_stage_s


def ramp_duration(ramp: EachRamp | float, users: float) -> float:
    """Return the length of a ramp over a number of users. [s]"""
    return ramp.each * users if isinstance(ramp, EachRamp) else ramp


def settle_until(stages: Stages) -> str | None:
    """Return `command` if the settle stage ends as soon as the system is in steady state; otherwise None."""
    return "command" if isinstance(stages.settle, SettleUntil) else None


def plan_load(load: Load, levels: tuple[float, ...], groups: Groups, curve: RateCurve | None = None) -> PlannedLoad:
    """Return the planned load of a run, which applies the given users, or arrival rates [1/s], in this order. `curve`
    has the rates of the trace that the load follows, if any.
    """
    if curve is not None:
        stages = trace_stages(load, curve)
    elif load.schedule is not None:
        stages = schedule_stages(load, groups)
    else:
        stages = level_stages(load, levels)
    if load.kind == "closed":
        return PlannedLoad(kind="closed", users_at_most=users_needed(stages), stages=stages)
    return open_load(load, stages)


def open_load(load: Load | FindLimit, stages: list[PlannedStage]) -> PlannedLoad:
    """Return an open load with the arrival process and the limits of a study."""
    return PlannedLoad(
        kind="open",
        arrivals=load.arrivals,
        users_at_most=load.users_at_most,
        backlog_at_most=load.backlog_at_most,
        stages=stages,
    )


def level_stages(load: Load, levels: tuple[float, ...]) -> list[PlannedStage]:
    """Return the stages for several load levels, with the stages of `load.stages` at each level."""
    assert load.stages is not None  # ensured by the checks of the study file
    stages: list[PlannedStage] = []

    def add(phase: str, level: int, duration_s: float, value: float, until: str | None = None) -> None:
        name = phase if len(levels) == 1 or phase == "ramp_down" else f"{phase} {value:g}"
        closed = load.kind == "closed"
        stages.append(PlannedStage.at(name, phase, level, duration_s, value, closed=closed, until=until))

    before = 0.0
    for index, level in enumerate(levels):
        # A ramp of zero length is added as well, because without it the users would start during the next stage.
        add("ramp_up", index, ramp_duration(load.stages.ramp_up, abs(level - before)), level)
        if (settle_s := longest_stage_s(load.stages.settle)) > 0:
            add("settle", index, settle_s, level, settle_until(load.stages))
        until = "command" if isinstance(load.stages.steady, SteadyUntil) else None
        add("steady", index, longest_stage_s(load.stages.steady), level, until)
        before = level
    ramp_down = ramp_duration(load.stages.ramp_down, before)
    if ramp_down > 0:
        add("ramp_down", len(levels) - 1, ramp_down, 0)
    return stages
