"""Builds the entry `load` of the engine's plan: stages with their durations and load levels."""

from __future__ import annotations

from typing import Any

from towtank.study.model import EachRamp, Load, Stages
from towtank.study.precise import SteadyUntil
from towtank.study.schedules import Groups, schedule_stages, trace_stages, users_needed
from towtank.study.settle import SettleUntil
from towtank.study.traces import RateCurve
from towtank.study.until import longest_stage_s


def ramp_duration(ramp: EachRamp | float, users: float) -> float:
    """Return the length of a ramp over a number of users. [s]"""
    return ramp.each * users if isinstance(ramp, EachRamp) else ramp


def settle_stage(stages: Stages) -> dict[str, Any] | None:
    """Return length and end condition of a settle stage; None if the stage has no length.

    The key `until` is present if the stage ends as soon as the system is in steady state.
    """
    length = longest_stage_s(stages.settle)
    if length <= 0:
        return None
    return {"duration_s": length, **({"until": "command"} if isinstance(stages.settle, SettleUntil) else {})}


def plan_load(load: Load, levels: tuple[float, ...], groups: Groups, curve: RateCurve | None = None) -> dict[str, Any]:
    """Return the load of a run in the form of the engine's plan (key `load`).

    Parameters
    ----------
    load : Load
        Load of the study.
    levels : tuple of float
        Users, or arrival rates [1/s], that the run applies in this order.
    groups : Groups
        User groups of the workload.
    curve : RateCurve, optional
        Rates of the trace that the load follows, if any.
    """
    if curve is not None:
        stages = trace_stages(load, curve)
    elif load.schedule is not None:
        stages = schedule_stages(load, groups)
    else:
        stages = level_stages(load, levels)
    if load.kind == "closed":
        return {"kind": "closed", "users_at_most": users_needed(stages), "stages": stages}
    return {
        "kind": "open",
        "arrivals": load.arrivals,
        "users_at_most": load.users_at_most,
        "backlog_at_most": load.backlog_at_most,
        "stages": stages,
    }


def level_stages(load: Load, levels: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return the stages of the engine's plan for several load levels, with the stages of `load.stages` at
    each level.
    """
    assert load.stages is not None  # ensured by the checks of the study file
    key = "users" if load.kind == "closed" else "rate"
    stages: list[dict[str, Any]] = []

    def add(phase: str, level: int, duration_s: float, value: float) -> None:
        amount = int(value) if key == "users" else value
        name = phase if len(levels) == 1 or phase == "ramp_down" else f"{phase} {amount:g}"
        stages.append({"name": name, "phase": phase, "level": level, "duration_s": duration_s, key: amount})

    before = 0.0
    for index, level in enumerate(levels):
        # A ramp of zero length is added as well, because without it the users would start during the next stage.
        add("ramp_up", index, ramp_duration(load.stages.ramp_up, abs(level - before)), level)
        settle = settle_stage(load.stages)
        if settle is not None:
            add("settle", index, settle["duration_s"], level)
            stages[-1].update(settle)
        add("steady", index, longest_stage_s(load.stages.steady), level)
        if isinstance(load.stages.steady, SteadyUntil):
            stages[-1]["until"] = "command"
        before = level
    ramp_down = ramp_duration(load.stages.ramp_down, before)
    if ramp_down > 0:
        add("ramp_down", len(levels) - 1, ramp_down, 0)
    return stages
