"""Builds the stages of a plateau, which is a constant load during a search for the load limit."""

from __future__ import annotations

from towtank.plan import PlannedLoad, PlannedStage
from towtank.study.model import FindLimit
from towtank.study.search import load_amount
from towtank.study.stages import open_load, ramp_duration, settle_until
from towtank.study.until import longest_stage_s

DECIDE_STAGE = "decide"
"""First word in the name of the stage that keeps the load constant while a plateau is evaluated, as in `decide 100`."""
RELIEVE_STAGE = "relieve"
"""First word in the name of the stage in which the backlog of a failed plateau drains."""
# Time limit for the evaluation of a plateau, after which the load ends. The evaluation usually takes one to two
# seconds. [s]
DECIDE_AT_MOST_S = 60.0
# Load during which a backlog drains, as a fraction of the highest passing level. The remaining capacity processes the
# backlog. [1]
RELIEVE_SHARE = 0.5
# Time limit for a backlog to drain. [s]
RELIEVE_AT_MOST_S = 300.0


def plan_search(load: FindLimit) -> PlannedLoad:
    """Return the planned load with which a search starts; it contains only the first plateau."""
    stages = plateau_stages(load, 0, 0.0, load_amount(load.start))
    if load.of == "users":
        return PlannedLoad(kind="closed", users_at_most=int(load_amount(load.at_most)), stages=stages)
    return open_load(load, stages)


def plateau_stages(
    load: FindLimit, number: int, before: float, level: float, *, again: int = 0, relieve_at: float | None = None
) -> list[PlannedStage]:
    """Return the stages of one plateau. All loads are numbers of users [1], or arrival rates [1/s].

    `before` is the load before the plateau, and `level` that of the plateau. `number` counts the earlier plateaus, and
    `again` those at the same level. `relieve_at` is the load of a stage before the plateau in which a backlog drains;
    by default there is no such stage.
    """
    stages: list[PlannedStage] = []
    suffix = f" #{again + 1}" if again else ""

    def add(name: str, phase: str, value: float, duration_s: float, until: str | None = None) -> None:
        shown, closed = f"{name} {value:g}{suffix}", load.of == "users"
        stages.append(PlannedStage.at(shown, phase, number, duration_s, value, closed=closed, until=until))

    if relieve_at is not None:
        # This ramp has length zero, so that the load drops immediately to the load at which the backlog drains.
        add("ramp_down", "ramp_down", relieve_at, 0.0)
        add(RELIEVE_STAGE, "settle", relieve_at, RELIEVE_AT_MOST_S, "command")
        before = relieve_at
    ramp = "ramp_up" if level >= before else "ramp_down"
    add(ramp, ramp, level, ramp_duration(load.stages.ramp_up, abs(level - before)))
    if (settle_s := longest_stage_s(load.stages.settle)) > 0:
        add("settle", "settle", level, settle_s, settle_until(load.stages))
    add("steady", "steady", level, longest_stage_s(load.stages.steady))
    add(DECIDE_STAGE, "settle", level, DECIDE_AT_MOST_S, "command")
    return stages


def stages_after_search(load: FindLimit, number: int, before: float) -> list[PlannedStage]:
    """Return the stages after the last plateau: the ramp down, if the study has one."""
    length = ramp_duration(load.stages.ramp_down, before)
    if length <= 0:
        return []
    return [PlannedStage.at("ramp_down", "ramp_down", number, length, 0, closed=load.of == "users")]
