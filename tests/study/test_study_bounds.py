"""Values just inside and just outside the allowed ranges of study files."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.claim_bounds import NumberBounds
from towtank.plan import PlannedStage
from towtank.study.event_checks import _wrong_moment, find_stage
from towtank.study.events import Event
from towtank.study.model import FindLimit, Load
from towtank.study.objective_levels import Levels
from towtank.study.objectives import read_objective
from towtank.study.schedule_checks import check_schedule
from towtank.study.schedules import Groups, schedule_stages, split_users, users_needed
from towtank.study.search import StepUp, check_amount
from towtank.study.search_checks import _number, wrongs
from towtank.study.search_stages import plan_search, plateau_stages
from towtank.study.shares import PilotResult, users_at
from towtank.study.stages import level_stages, plan_load
from towtank.study.traces import RateCurve

STAGES = {"ramp_up": {"each": "20 ms"}, "settle": "0 s", "steady": "10 s"}


def search(**more: Any) -> FindLimit:
    given = {"kind": "find-limit", "of": "users", "start": 10, "steps": [{"by": 10}], "at_most": 100}
    return FindLimit.model_validate({"stages": STAGES, **given, **more})


def faults_of(load: FindLimit, *objectives: str) -> list[str]:
    study: Any = SimpleNamespace(objectives=list(objectives), factors={})
    return [".".join(map(str, path[1:])) for path, _ in wrongs(study, load)]


@pytest.mark.parametrize(
    ("load", "faults"),
    [
        ({"at_most": 11}, []),
        ({"at_most": 10}, ["at_most"]),
        ({"steps": [{"by": 1, "times": 2.0}]}, ["steps.0"]),
        ({"steps": [{}]}, ["steps.0"]),
        ({"steps": [{"by": 10, "up_to": 11}, {"times": 2.0}]}, []),
        ({"steps": [{"by": 10, "up_to": 10}, {"times": 2.0}]}, ["steps.0.up_to"]),
        ({"steps": [{"by": 10}, {"times": 2.0}]}, ["steps.0"]),
        ({"steps": [{"by": 10, "up_to": 50}, {"by": 10, "up_to": 50}]}, ["steps.1.up_to"]),
        ({"steps": [{"by": 1}], "at_most": 1010}, []),
        ({"steps": [{"by": 1}], "at_most": 1011}, ["steps"]),
        ({"steps": [{"by": 1, "up_to": 510}, {"by": 2, "up_to": 1510}]}, []),
        ({"steps": [{"by": 1, "up_to": 510}, {"by": 2, "up_to": 1512}]}, ["steps"]),
        ({"start": "10 /s"}, ["start"]),
        ({"steps": [{"by": "10 /s", "up_to": 50}]}, ["steps.0.by"]),
    ],
)
def test_the_levels_of_a_search_rise_and_are_at_most_a_thousand(load: dict[str, Any], faults: list[str]) -> None:
    assert faults_of(search(**load), "p95 < 1 s") == faults


def test_a_factor_reaches_its_end_with_the_last_level_below_it_and_one_more() -> None:
    assert [_number(StepUp(times=2.0), 1.0, end) for end in (8.0, 8.1, 1.0)] == [3.0, 4.0, 0.0]
    assert _number(StepUp(by=5), 10.0, 30.0) == 4.0


@pytest.mark.parametrize(
    ("stops", "objective", "faults"),
    [
        (["objective missed"], "p95 < 1 s", []),
        (["objective missed"], "p95 < 1 s at 10 users", ["stop_when.0"]),
        (["errors > 2 %", "errors > 3 %"], "p95 < 1 s", ["stop_when.1"]),
        (["achieved < 90 %"], "p95 < 1 s", ["stop_when.0"]),
    ],
)
def test_a_search_stops_for_a_reason_that_it_can_see(stops: list[str], objective: str, faults: list[str]) -> None:
    assert faults_of(search(stop_when=stops), objective) == faults


MOMENTS = [
    PlannedStage("ramp_up 10", "ramp_up", 0, 2.0),
    PlannedStage("steady 10", "steady", 0, 10.0),
    PlannedStage("steady 20", "steady", 1, 5.0),
]


@pytest.mark.parametrize(
    ("at", "right"),
    [
        ("16 s", True),
        ("17 s", False),
        ("steady + 9 s", True),
        ("steady + 10 s", False),
        ("ramp_up + 1.9 s", True),
        ("ramp_up + 2 s", False),
        ("calm", False),
    ],
)
def test_an_event_begins_before_its_stage_or_the_load_ends(at: str, right: bool) -> None:
    event = Event.model_validate({"do": "restart", "service": "web", "at": at})
    assert (_wrong_moment(event.at, MOMENTS) is None) is right
    open_ended = [replace(stage, until="command") for stage in MOMENTS]
    assert (_wrong_moment(event.at, open_ended) is None) is ("calm" not in at)


def test_a_stage_is_found_by_its_name_before_its_phase() -> None:
    stages = [PlannedStage("calm", "steady", 0, 1.0), PlannedStage("steady", "settle", 1, 1.0)]
    assert (find_stage("steady", stages), find_stage("calm", stages)) == (stages[1], stages[0])
    assert (find_stage("settle", stages), find_stage("none", stages)) == (stages[1], None)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.0, 2.0, True),
        (1.5, 1.5, True),
        (0.9, 1.5, None),
        (1.5, 2.1, None),
        (2.0, 3.0, None),
        (0.0, 1.0, None),
        (0.0, 0.99, False),
        (2.01, 3.0, False),
        (None, 1.5, None),
        (1.5, None, None),
    ],
)
def test_an_interval_lies_within_bounds_of_1_and_2_or_beyond_them(
    low: float | None, high: float | None, verdict: bool | None
) -> None:
    assert NumberBounds(1.0, 2.0).verdict(low, high) is verdict


@pytest.mark.parametrize(
    ("text", "levels", "right"),
    [
        ("p95 < 1 s at 20 users", Levels(users={10, 20}), True),
        ("p95 < 1 s at 30 users", Levels(users={10, 20}), False),
        ("p95 < 1 s at 30 users", Levels(users={10, 20}, shares={0.5}), True),
        ("p95 < 1 s at 30 users", Levels(users={10, 20}, unknown=True), True),
        ("p95 < 1 s at 5 /s", Levels(rates={5.0}), True),
        ("p95 < 1 s at 6 /s", Levels(rates={5.0}), False),
        ("p95 < 1 s at 50 % of the limit", Levels(shares={0.5}), True),
        ("p95 < 1 s at 60 % of the limit", Levels(shares={0.5}), False),
        ("p95 < 1 s", Levels(users={10}), True),
    ],
)
def test_an_objective_is_at_the_load_of_a_run(text: str, levels: Levels, right: bool) -> None:
    assert (levels.wrong(read_objective(text)) is None) is right


def load(**more: Any) -> Load:
    return Load.model_validate({"kind": "closed", **more})


def test_stages_ramp_by_the_users_that_come_or_go() -> None:
    stages = {"ramp_up": {"each": "0.1 s"}, "settle": "3 s", "steady": "10 s", "ramp_down": {"each": "0.05 s"}}
    made = level_stages(load(levels=[10, 30, 20], stages=stages), (10.0, 30.0, 20.0))
    assert [(stage.name, stage.level, stage.duration_s, stage.users) for stage in made] == [
        ("ramp_up 10", 0, pytest.approx(1.0), 10),
        ("settle 10", 0, 3.0, 10),
        ("steady 10", 0, 10.0, 10),
        ("ramp_up 30", 1, pytest.approx(2.0), 30),
        ("settle 30", 1, 3.0, 30),
        ("steady 30", 1, 10.0, 30),
        ("ramp_up 20", 2, pytest.approx(1.0), 20),
        ("settle 20", 2, 3.0, 20),
        ("steady 20", 2, 10.0, 20),
        ("ramp_down", 2, pytest.approx(1.0), 0),
    ]


def test_stages_of_no_length_are_left_out_except_the_ramp_up() -> None:
    made = level_stages(load(users=10, stages={"ramp_up": "0 s", "settle": "0 s", "steady": "10 s"}), (10.0,))
    assert [(stage.name, stage.duration_s) for stage in made] == [("ramp_up", 0.0), ("steady", 10.0)]


def test_an_open_load_keeps_its_users_and_backlog() -> None:
    given = {"kind": "open", "rate": "2.5 /s", "users_at_most": 7, "backlog_at_most": 9, "stages": {"steady": "10 s"}}
    made = plan_load(Load.model_validate(given), (2.5,), Groups((), ()))
    assert (made.kind, made.users_at_most, made.backlog_at_most) == ("open", 7, 9)
    assert {stage.rate for stage in made.stages if stage.phase == "steady"} == {2.5}


def test_a_backlog_drains_at_the_lower_load_before_the_next_plateau() -> None:
    made = plateau_stages(search(), 4, 80.0, 60.0, again=1, relieve_at=30.0)
    assert [(stage.name, stage.phase, stage.users, stage.duration_s) for stage in made] == [
        ("ramp_down 30 #2", "ramp_down", 30, 0.0),
        ("relieve 30 #2", "settle", 30, 300.0),
        ("ramp_up 60 #2", "ramp_up", 60, pytest.approx(30 * 0.02)),
        ("steady 60 #2", "steady", 60, 10.0),
        ("decide 60 #2", "settle", 60, 60.0),
    ]
    lower = plateau_stages(search(), 4, 80.0, 60.0)
    assert (lower[0].name, lower[0].duration_s) == ("ramp_down 60", pytest.approx(0.4))


def test_a_search_begins_with_its_first_level_and_has_all_its_users() -> None:
    made = plan_search(search())
    assert (made.kind, made.users_at_most, made.stages[0].duration_s) == ("closed", 100, 0.2)


def scheduled(*stages: dict[str, Any], **more: Any) -> Load:
    return load(schedule=list(stages), **more)


def steady(users: Any, seconds: float = 10, phase: str = "steady") -> dict[str, Any]:
    return {"phase": phase, "for": f"{seconds} s", "users": users}


def test_a_schedule_counts_its_steady_stages() -> None:
    given = scheduled(
        steady(5, phase="ramp_up"), steady(5), steady(9, phase="ramp_up"), steady(9), steady(0, 2, "ramp_down")
    )
    made = schedule_stages(given, Groups(("a", "b"), (1.0, 2.0)))
    assert [(stage.level, stage.users) for stage in made] == [(0, 5), (0, 5), (1, 9), (1, 9), (1, 0)]
    assert users_needed(made) == 9


def test_groups_need_the_sum_of_their_largest_numbers() -> None:
    given = scheduled(steady({"a": 3, "b": 4}), steady({"a": 6}), steady(9))
    made = schedule_stages(given, Groups(("a", "b"), (1.0, 2.0)))
    assert [stage.users_by_group for stage in made] == [[3, 4], [6, 0], [3, 6]]
    assert users_needed(made) == 12


@pytest.mark.parametrize(
    ("total", "shares", "split"),
    [
        (10, (1.0, 1.0, 1.0), [4, 3, 3]),
        (3, (0.1, 0.2, 0.7), [0, 1, 2]),
        (0, (1.0, 2.0), [0, 0]),
        (6, (1.0, 2.0), [2, 4]),
    ],
)
def test_users_of_groups_add_up(total: int, shares: tuple[float, ...], split: list[int]) -> None:
    assert split_users(total, shares) == split


def wrong_places(given: Load) -> list[tuple[str | int, ...]]:
    found: list[tuple[str | int, ...]] = []
    check_schedule_of(given, found)
    return found


def check_schedule_of(given: Load, found: list[tuple[str | int, ...]]) -> None:
    def at(path: tuple[str | int, ...], message: str, *, key: bool = False) -> Any:
        return path[2:]

    found.extend(check_schedule(given, given.schedule or [], ["a"], at))


@pytest.mark.parametrize(
    ("stages", "faults"),
    [
        ([steady(5, 0.1)], []),
        ([steady(5, 0)], [(0, "for")]),
        ([steady(5), steady(5, 0, "ramp_up")], []),
        ([steady(0)], [()]),
        ([steady(0), steady(1)], []),
        ([steady({"a": 1})], []),
        ([steady({"b": 1})], [(0, "users", "b")]),
    ],
)
def test_a_schedule_has_a_steady_stage_with_a_load(stages: list[dict[str, Any]], faults: list[Any]) -> None:
    assert wrong_places(scheduled(*stages)) == faults


def test_a_trace_has_the_arrivals_below_its_line() -> None:
    curve = RateCurve(((0.0, 0.0), (10.0, 10.0), (30.0, 4.0)))
    assert (curve.length_s, curve.arrivals, curve.mean_rate) == (30.0, 190.0, pytest.approx(190 / 30))


def test_a_share_of_the_limit_is_rounded_to_users() -> None:
    pilot = PilotResult(37.0, False, ())
    assert [users_at(share, pilot) for share in (0.5, 0.01, 0.04, 2.0)] == [18, 1, 1, 74]
    assert users_at(0.5, None) == 50


@pytest.mark.parametrize(
    ("level", "right"),
    [(1, True), (0, False), (-1, False), (True, False), (1.5, False), (None, False), ("5 /s", True), ("0 /s", False)],
)
def test_a_level_is_a_number_of_users_or_a_rate(level: object, right: bool) -> None:
    if right:
        assert check_amount(level, "a rate ") == level
    else:
        with pytest.raises(ValueError, match="must be a"):
            check_amount(level, "a rate ")
