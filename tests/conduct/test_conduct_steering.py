"""Control of a running load by commands and events, with a simulated engine."""

from pathlib import Path

import pytest
from stepped_engine import SteppedEngine

from towtank.analysis.limits.found import search_of_run
from towtank.analysis.limits.of_runs import found_limit
from towtank.analysis.load_point import FoundLimit
from towtank.analysis.measurement import Measurement
from towtank.analysis.run_summary import RunSummary
from towtank.conduct.piloting import pilot_load, read_pilot
from towtank.conduct.searching import PilotSteering, SearchSteering
from towtank.conduct.steering import StageSteering
from towtank.results import segments
from towtank.results.folder import RunFolder
from towtank.study.model import FindLimit, Load
from towtank.study.objectives import read_objective
from towtank.study.schedules import Groups
from towtank.study.search_stages import plan_search
from towtank.study.shares import Pilot
from towtank.study.stages import plan_load

OBJECTIVE = read_objective("mean < 200 ms").document()
CAPACITY = 200.0


def closed(load: float, name: str, second: int) -> tuple[float, float]:
    """Return throughput X and response time R of N users with a think time of 0.5 s: X = min(N / 0.55 s, 200 /s), R = N
    / X - 0.5 s.

    With 140 users, R is 200 ms. If N is below 1, 1 is used.
    """
    rate = min(max(load, 1.0) / 0.55, CAPACITY)
    return rate, max(load, 1.0) / rate - 0.5


def opened(load: float, name: str, second: int) -> tuple[float, float]:
    """Return throughput and response time of a server with a capacity of 200 /s under an open load.

    Below 199 /s, the response time is the mean of an M/M/1 queue; from 199 /s on, it is 1 s.
    """
    return min(load, CAPACITY), 1 / (CAPACITY - load) if load < CAPACITY - 1 else 1.0


def load_of(**changes) -> FindLimit:
    about = {
        "kind": "find-limit",
        "of": "users",
        "start": 60,
        "steps": [{"by": 40}],
        "at_most": 400,
        "stages": {"ramp_up": "2 s", "settle": "3 s", "steady": "12 s", "ramp_down": "2 s"},
        "refine": {"to": "10 %", "repeats": 2},
    }
    return FindLimit.model_validate({**about, **changes})


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "r001", {"run": "r001"})


def search(run, load, answer, waiting=None, *, objectives=(OBJECTIVE,), prepare=None):
    plan = plan_search(load)
    engine = SteppedEngine(run.engine, plan, answer, waiting)
    said = []
    steering = SearchSteering(
        run, list(plan.stages), engine.send, said.append, 0.0, load=load, objectives=list(objectives)
    )
    if prepare is not None:
        prepare(engine)
    engine.run(steering)
    recording = segments.read(run.engine)
    found = search_of_run(Measurement(recording), load.document(), list(objectives), list(run.events()))
    return engine, said, found


def kinds(run):
    return [event["k"] for event in run.events()]


def test_search_narrows_the_limit_and_the_analysis_repeats_it(run):
    engine, said, found = search(run, load_of(stop_when=["objective missed"]), closed)
    limit = found.document()
    assert limit["ended"] == "refined"
    # With 140 users, the mean response time is exactly 200 ms, which does not meet the objective.
    assert limit["low"] < 140 <= limit["high"]
    document = [event["level"] for event in run.events() if event["k"] == "plateau"]
    assert document == [plateau["level"] for plateau in limit["plateaus"]]
    assert document[:4] == [60, 100, 140, 120]
    assert said[0] == "  60 users passed (109 /s, mean < 200 ms: 0.05); next 100 users (raised)"
    assert said[-1].endswith(f"refined: limit {FoundLimit.model_validate(limit).in_words}")
    assert engine.stages[-1]["name"] == "ramp_down"
    assert kinds(run)[-1] == "plateau" and "search_ended" in kinds(run)
    assert found.best.level == limit["window_level"] == limit["low"]


def flickering(load, name, second):
    """Return response times that vary so strongly between plateaus that no limit is significant."""
    rate, response = closed(load, name, second)
    return rate, response * (0.6, 1.3, 0.8, 1.5)[sum(map(ord, name)) % 4]


@pytest.mark.parametrize("answer", [closed, flickering])
def test_the_live_line_and_the_headline_have_one_value(run, answer):
    _, said, found = search(run, load_of(stop_when=["objective missed"]), answer)
    limit = found.document()
    assert (limit["confidence"] is None) == (answer is flickering)
    assert said[-1].endswith(f": limit {FoundLimit.model_validate(limit).in_words}")
    assert (
        FoundLimit.model_validate(found_limit([RunSummary(run="r001", limit=limit)])).in_words
        == FoundLimit.model_validate(limit).in_words
    )
    assert ("bracket" in said[-1]) == (answer is flickering)


def pilot(run, answer, asked):
    load = pilot_load(asked)
    plan = plan_search(load)
    engine = SteppedEngine(run.engine, plan, answer)
    said = []
    engine.run(PilotSteering(run, list(plan.stages), engine.send, said.append, 0.0, load=load, objectives=[]))
    return engine, said, read_pilot(run, asked)


# The simulated engine advances in steps of one second, so all durations are whole seconds.
ASKED = Pilot.model_validate({"start": 20, "ramp_up": "2 s", "settle": "2 s", "steady": "4 s"})


def test_pilot_finds_where_the_ideal_line_meets_the_highest_throughput(run):
    """Users with a think time of 0.5 s and a service time of 50 ms have a throughput of N / 0.55 s, but at most 200 /s.

    Therefore the saturation point is N* = 200 /s x 0.55 s = 110 users.
    """
    _, said, carried = pilot(run, closed, ASKED)
    assert [plateau["users"] for plateau in carried.plateaus] == [20, 40, 80, 160]
    assert carried.users == pytest.approx(110, rel=0.02)
    assert not carried.is_lower_bound
    assert said[-1].endswith("; the limit is exceeded")


def test_pilot_of_a_system_without_a_limit_is_a_lower_bound(run):
    _, said, carried = pilot(run, closed, ASKED.model_copy(update={"at_most": 80}))
    assert [plateau["users"] for plateau in carried.plateaus] == [20, 40, 80]
    assert carried.is_lower_bound
    assert carried.users == pytest.approx(80, rel=0.02)
    assert said[-1].endswith("; the last level")


@pytest.mark.parametrize(("capacity", "levels"), [(20.0, [20, 40, 10, 5]), (5.0, [20, 40, 10, 5, 2, 1])])
def test_pilot_that_begins_beyond_the_limit_lowers_the_users(run, capacity, levels):
    """The first plateau has more users than saturate the server (capacity x 0.55 s).

    The engine counts whole transactions, which causes an error of up to 10 % with one or two users.
    """

    def slow(load, name, second):
        rate = min(max(load, 0.1) / 0.55, capacity)
        return rate, max(load, 0.1) / rate - 0.5

    _, _, carried = pilot(run, slow, ASKED)
    assert [plateau["users"] for plateau in carried.plateaus] == levels
    assert carried.users == pytest.approx(capacity * 0.55, rel=0.1)


def test_steady_stage_ends_once_it_is_precise(run):
    written = {
        "stages": {"ramp_up": "1 s", "settle": "1 s", "steady": "until precise to 5 %, at most 2 min, at least 15 s"}
    }
    load = Load.model_validate({"users": 60, **written})
    plan = plan_load(load, (60.0,), Groups(("all",), (1.0,)))
    wavering = lambda load, name, second: (100.0 + 10 * (-1) ** second, 0.05)  # noqa: E731
    engine = SteppedEngine(run.engine, plan, wavering)
    steering = StageSteering(run, list(plan.stages), engine.send, print, steady=load.stages.steady)
    engine.run(steering)
    ended = [event for event in run.events() if event["k"] == "precise"]
    assert len(ended) == 1
    assert 15 <= ended[0]["after_s"] < 120
    assert 0 < ended[0]["half_width"] <= 0.05


def test_steady_stage_of_a_system_that_changes_lasts_its_longest_time(run):
    written = {"stages": {"ramp_up": "1 s", "settle": "1 s", "steady": "until precise to 5 %, at most 40 s"}}
    load = Load.model_validate({"users": 60, **written})
    plan = plan_load(load, (60.0,), Groups(("all",), (1.0,)))
    engine = SteppedEngine(run.engine, plan, lambda load, name, second: (100.0, 0.05 * (1 + second / 5)))
    engine.run(StageSteering(run, list(plan.stages), engine.send, print, steady=load.stages.steady))
    assert "precise" not in kinds(run)
    assert kinds(run)[-1] == "not_precise"


def test_search_without_ramp_down_ends_the_load(run):
    stages = {"ramp_up": "2 s", "settle": "3 s", "steady": "12 s"}
    engine, _, found = search(run, load_of(stages=stages, refine=None), closed)
    assert engine.stages[-1]["name"].startswith("decide")
    assert found.decision.ended == "bracketed"


def test_levels_that_never_fail_are_a_lower_bound(run):
    _, said, found = search(run, load_of(at_most=100), closed)
    limit = found.document()
    assert (limit["value"], limit["high"], limit["ended"], limit["is_lower_bound"]) == (100, None, "at_most", True)
    assert limit["failure"]["kind"] == "at_most_reached"
    assert "100 users or more" in said[-1]


def test_first_level_that_fails_has_no_value(run):
    _, said, found = search(run, load_of(start=200), closed)
    limit = found.document()
    assert (limit["value"], limit["ended"]) == (None, "failed_at_start")
    assert len(limit["plateaus"]) == 2
    assert "below 200" in said[-1]


def test_busy_generator_ends_the_search_with_a_lower_bound(run):
    def slow_generator(engine):
        ask = engine.answer

        def answer(load, name, second):
            engine.busy(0.95 if load >= 100 else 0.2)
            return ask(load, name, second)

        engine.answer = answer

    _, _, found = search(run, load_of(), closed, prepare=slow_generator)
    limit = found.document()
    assert (limit["ended"], limit["value"], limit["is_lower_bound"]) == ("generator_saturated", 60, True)
    assert limit["failure"]["kind"] == "generator_saturated"


def test_throughput_that_no_longer_grows(run):
    """The search has no objective. It ends at 160 users, because their throughput equals the throughput of 120
    users.
    """
    wavering = lambda load, name, second: (min(load / 0.55, 200.0) + second % 2, 0.05)  # noqa: E731
    load = load_of(start=120, stop_when=["throughput grows < 5 % of the ideal"], refine=None)
    _, _, found = search(run, load, wavering, objectives=())
    assert found.document()["failure"]["kind"] == "throughput_plateau"
    assert (found.decision.low, found.decision.high) == (120, 160)


def test_rate_that_is_not_achieved_and_its_backlog_is_relieved(run):
    """Above 200 /s, arrivals wait. After the load is reduced, the waiting arrivals are handled within a few seconds."""

    def waiting(load, name, second):
        if name.startswith("relieve"):
            return max(0, 300 - 100 * second), 0.0
        return (max(0.0, 20.0 * second) if load > CAPACITY else 0.0), 0.0

    load = load_of(of="rate", start="120 /s", steps=[{"by": "50 /s"}], at_most="400 /s", stop_when=["achieved < 95 %"])
    engine, _, found = search(run, load, opened, waiting, objectives=())
    limit = found.document()
    assert limit["failure"]["kind"] == "achieved_below_offered"
    assert limit["low"] <= CAPACITY / 0.95 <= limit["high"]
    relieved = [event for event in run.events() if event["k"] == "relieved"]
    assert relieved and relieved[0]["after_s"] < 10
    names = [stage["name"] for stage in engine.stages]
    at = next(number for number, name in enumerate(names) if name.startswith("relieve"))
    assert names[at - 1].startswith("ramp_down") and names[at + 1].startswith("ramp_up")


def test_refused_stages_end_the_search_and_keep_what_was_found(run):
    def refusing(engine):
        engine.refuse_append = True

    _, said, found = search(run, load_of(), closed, prepare=refusing)
    assert "the engine refused further stages: not today" in said[-1]
    assert found.document()["ended"] == "interrupted"
    assert found.document()["value"] == 60
    assert "refused" in kinds(run)


SETTLE = {"settle": "until steady, at most 60 s", "steady": "5 s"}


def settle(run, answer, stages=SETTLE, users=110):
    load = Load.model_validate({"users": users, "stages": {"ramp_up": "1 s", **stages}})
    plan = plan_load(load, (float(users),), Groups(("all",), (1.0,)))
    engine = SteppedEngine(run.engine, plan, answer)
    steering = StageSteering(run, list(plan.stages), engine.send, lambda text: None, 0.0)
    engine.run(steering)
    return engine, [event for event in run.events() if event["k"] in ("settled", "not_settled")]


def test_quiet_system_settles_after_the_shortest_time(run):
    engine, events = settle(run, closed)
    assert [event["k"] for event in events] == ["settled"]
    assert events[0]["after_s"] == 13
    assert events[0]["stage_index"] == 1
    assert engine.stages[1]["end_s"] - engine.stages[1]["start_s"] == 13


def test_system_that_keeps_falling_does_not_settle(run):
    engine, events = settle(run, lambda load, name, second: (200 - 2 * second, 0.05 + 0.01 * second))
    assert [event["k"] for event in events] == ["not_settled"]
    assert "throughput" in events[0]["evidence"]["why"]
    assert engine.stages[1]["end_s"] - engine.stages[1]["start_s"] == 60


def test_plain_settle_stages_are_left_alone(run):
    engine, events = settle(run, closed, {"settle": "7 s", "steady": "5 s"})
    assert events == []
    assert engine.stages[1]["end_s"] - engine.stages[1]["start_s"] == 7


def test_not_settled_is_a_failure_only_where_the_plateau_is_not_steady_either(run):
    """Response times increase all the time, so they never settle and the plateau is not steady. Therefore the first
    plateau fails.
    """
    stages = {"settle": "until steady, at most 20 s", "steady": "20 s"}
    load = load_of(stages=stages, refine=None)
    _, _, found = search(run, load, lambda load, name, second: (100, 0.05 * 1.05**second), objectives=())
    limit = found.document()
    assert limit["failure"]["kind"] == "not_settled"
    assert limit["plateaus"][0]["settled"] is False
