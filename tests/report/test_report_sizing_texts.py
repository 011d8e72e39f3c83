from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from towtank.model import FitAssumption
from towtank.report import format as people
from towtank.report.content import sizing as section
from towtank.report.content import sizing_result as sizing
from towtank.report.document import Section, Table
from towtank.sizing import (
    AnswerResult,
    BottleneckResult,
    Busiest,
    CandidateResult,
    ClassResult,
    DateResult,
    LostNodes,
    ObjectiveResult,
    PoolResult,
    Rest,
    ScenarioResult,
    SizingResult,
    SpeedResult,
    StepResult,
    TierResult,
    TrustResult,
    WhatIfResult,
    expected_text,
    inputs_text,
    load_text,
    step_text,
)
from towtank.sizing.interval import Interval
from towtank.sizing.result import DateEnds, LoadResult, MeasuredRange, SearchCounts

Part = TypeVar("Part", bound=BaseModel)


def part(kind: type[Part], values: dict[str, Any], **more: Any) -> Part:
    """Return a part of a sizing in which only the given fields and those with a default are set."""
    return kind.model_construct(**values | more)


def cells(block: Any) -> list[tuple[str, ...]]:
    assert isinstance(block, Table)
    return [tuple(str(cell) for cell in row) for row in block.rows]


def sentences(blocks: list[Any]) -> list[str]:
    return ["".join(run.text for run in item) for block in blocks for item in getattr(block, "items", ())]


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.5, "999.5"), (1000.4, "1,000"), (1000, "1,000"), (12.0, "12"), (0.25, "0.25"), (-1500.5, "-1,500")],
)
def test_a_cost_has_four_digits_or_all_of_its_whole_number(value: float, text: str) -> None:
    assert sizing._count(value) == text


@pytest.mark.parametrize(
    ("load", "known", "text"),
    [
        (None, None, "any load"),
        (1234.5, None, "1,230 users"),
        (1234.5, Interval(1234.5, 1234.5), "1,230 users"),
    ],
)
def test_the_load_at_the_limit_has_three_digits_without_an_interval(
    load: float | None, known: Interval | None, text: str
) -> None:
    assert load_text(load, known, "users") == text


def test_the_load_at_the_limit_has_its_interval() -> None:
    assert "[" in load_text(1234.5, Interval(1100.0, 1400.0), "users")


def objective(text: str, value: float | None = 0.5, shown: str = "") -> ObjectiveResult:
    return ObjectiveResult(objective=text, limit=1, value=value, shown=shown)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (objective("p95 < 1 s", shown="0.4 s"), "0.4 s"),
        (objective("p95 < 1 s", None), "no steady state"),
        (objective("p95 < 1 s"), "500 ms"),
        (objective("throughput > 5 /s", 7.0), "7 /s"),
    ],
)
def test_an_objective_has_the_unit_of_its_metric(given: ObjectiveResult, text: str) -> None:
    assert sizing._value(given) == text


def scenario(**more: Any) -> ScenarioResult:
    objectives = [objective("p95 < 1 s"), objective("p95 of web < 2 s"), objective("mean of webs < 3 s")]
    values = {"objectives": objectives, "simulated": None, "percentiles": None, "exact": True}
    return part(ScenarioResult, values, **more)


def test_a_class_has_its_own_objectives_and_those_of_all() -> None:
    text, by = sizing._objective(scenario(), "web")
    assert text == "p95 < 1 s: 500 ms; p95 of web < 2 s: 500 ms"
    assert by == "exact solution"
    assert sizing._objective(scenario(exact=False), "web")[1] == "approximation"
    assert sizing._objective(scenario(percentiles="gamma"), "web")[1] == "gamma"
    assert sizing._objective(scenario(simulated={"p95 < 1 s": 1}), "web")[1] == "percentiles simulated"
    assert sizing._objective(scenario(objectives=[objective("p95 of other < 1 s")]), "web")[0] == people.ABSENT


CARRIES = {
    "load_at_limit": 1234.5,
    "load_unit": "users",
    "headroom": 0.25,
    "objectives": [objective("p95 < 1 s")],
    "throughput_missed": None,
    "no_limit": "no objective limits it",
}


def test_an_answer_carries_its_load_until_an_objective_is_missed() -> None:
    assert sizing._carries(part(AnswerResult, CARRIES)) == (
        "It serves 1,230 users until an objective is missed: 25 % more than the requested load."
    )
    objectives = [objective("throughput > 1 /s"), objective("p95 < 1 s")]
    found = sizing._carries(part(AnswerResult, CARRIES, objectives=objectives, throughput_missed=0.1))
    assert "until a limit of a time or a utilization is missed" in found
    assert found.endswith("In 10 % of the random samples (draws), only a throughput objective is missed.")
    assert sizing._carries(part(AnswerResult, CARRIES, load_at_limit=None)) == "No objective limits it."


def test_each_bottleneck_follows_from_the_doubled_servers_of_the_one_before() -> None:
    bottlenecks = [
        part(BottleneckResult, {"station": name, "utilization": 0.9, "load": load})
        for name, load in (("app", 100.0), ("db", 150.0), ("lan", 200.0))
    ]
    found = {
        "bottlenecks": bottlenecks,
        "next_cheaper": part(CandidateResult, {"configuration": "app 2 CPUs", "why_not": ["p95 1.2 s", "x"]}),
        "neighbours": [part(CandidateResult, {"configuration": "app 3 CPUs", "why_not": []})],
    }
    assert sentences(sizing._next(part(SizingResult, found), "users")) == [
        "The bottleneck is app, used 90 % at 100 users.",
        "If the servers of app are doubled, the next bottleneck is db, used 90 % at 150 users.",
        "If the servers of db are doubled, the next bottleneck is lan, used 90 % at 200 users.",
        "One step cheaper, app 3 CPUs: would be sufficient, too.",
        "Next cheaper tested candidate, app 2 CPUs: p95 1.2 s; x.",
    ]
    assert sizing._next(part(SizingResult, {"bottlenecks": [], "next_cheaper": None}), "users") == []


def test_the_front_has_a_row_for_each_candidate() -> None:
    one = {
        "configuration": "a",
        "cost": 4,
        "objectives": [objective("p95 < 1 s"), objective("throughput > 1 /s", 2.0)],
        "busiest": Busiest(station="app", utilization=0.5),
        "probability": 0.95,
    }
    pareto = [part(CandidateResult, one), part(CandidateResult, one, objectives=[], probability=None)]
    found = part(SizingResult, {"cost_unit": "CPUs", "pareto": pareto})
    assert cells(sizing._front(found)) == [
        ("a", "4", "500 ms; 2 /s", "app 50 %", "95 %"),
        ("a", "4", people.ABSENT, "app 50 %", people.ABSENT),
    ]


def test_a_pool_without_a_size_has_the_reason() -> None:
    pool = {"size": 12, "first_guess": 10, "held": 4.5, "wait_s": 0.01, "why_not": "no size is enough", "lost": None}
    lost = part(PoolResult, pool, size=None, lost=LostNodes(nodes=1, tier="app"))
    (table,) = sizing._pools({"db": part(PoolResult, pool), "ldap": lost})
    assert cells(table) == [
        ("db", "12", "10", "4.5", "10 ms"),
        ("ldap, 1 of app lost", people.ABSENT, "10", "4.5", "no size is enough"),
    ]
    assert sizing._pools({}) == []


def test_a_what_if_has_its_rates_its_verdict_and_its_hardware() -> None:
    group = part(ClassResult, {"throughput_per_s": 5.0, "response_time_s": 0.2})
    case = {
        "load_at_limit": 1234.5,
        "unit": "users",
        "what_if": "cpu x2",
        "classes": {"a": group, "b": group},
        "objectives": [objective("p95 < 1 s", shown="0.3 s")],
        "met": True,
        "probability": None,
        "notes": ["n"],
    }
    cases = (
        case,
        {**case, "met": False, "probability": 0.4, "hardware": "the answer", "configuration": "c"},
        {**case, "classes": {}, "objectives": [], "notes": []},
        {"what_if": "nodes app=9", "refused": "no room"},
    )
    (table,) = sizing._what_if(tuple(part(WhatIfResult, each) for each in cases))
    assert cells(table) == [
        ("cpu x2. n", "5 /s; 5 /s", "200 ms; 200 ms", "0.3 s", "1,230 users", "yes"),
        ("cpu x2. Of the answer, c. n", "5 /s; 5 /s", "200 ms; 200 ms", "0.3 s", "1,230 users", "no (40 %)"),
        ("cpu x2", *[people.ABSENT] * 3, "1,230 users", "yes"),
        ("nodes app=9", "no room", *[people.ABSENT] * 4),
    ]
    assert sizing._what_if(()) == []


@pytest.mark.parametrize(
    ("date", "text"),
    [
        ({"expected_on": "2027-01-01"}, "2027-01-01"),
        (
            {"expected_on": "2027-01-01", "expected_interval": DateEnds(low="2027-01-01", high="2027-01-01")},
            "2027-01-01",
        ),
        ({"expected_on": None, "limit": 5.0}, "not within 20 years"),
        ({"expected_on": None, "limit": None}, "nothing to miss"),
        (
            {"expected_on": "2027-01-01", "expected_interval": DateEnds(low="2026-06-01", high=None)},
            "2027-01-01 [2026-06-01, later]",
        ),
        (
            {"expected_on": None, "limit": 5.0, "expected_interval": DateEnds(low=None, high="2028-01-01")},
            "not within 20 years [later, 2028-01-01]",
        ),
    ],
)
def test_a_date_has_its_interval_or_the_reason_why_there_is_none(date: dict[str, Any], text: str) -> None:
    assert expected_text(part(DateResult, date)) == text


def test_the_first_day_of_a_miss_may_never_come() -> None:
    date = {
        "what": "now",
        "limit": 50.0,
        "unit": "users",
        "missed_from": "2027-02-01",
        "chance": 0.1,
        "expected_on": "x",
    }
    (table,) = sizing._dates((part(DateResult, date), part(DateResult, date, missed_from=None)))
    assert [row[2] for row in cells(table)] == ["2027-02-01", "not within 20 years"]
    assert "above 10.0 % from" in str(table.columns[2])
    assert sizing._dates(()) == []


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"n": 2}, "n = 2"),
        ({"n": {"a": 1}}, "n = 1"),
        ({"n": {"a": 1, "b": 2.5}, "m": 3}, "n = {a = 1, b = 2.5}, m = 3"),
    ],
)
def test_inputs_of_a_step_are_named_if_there_are_several(values: dict[str, Any], text: str) -> None:
    assert inputs_text(values) == text


def test_a_step_has_its_value_in_its_unit() -> None:
    step = part(StepResult, {"value": 0.5, "unit": "s"})
    assert step_text(step) == "500 ms"
    assert step_text(step.model_copy(update={"shown": "half"})) == "half"


TRUST = {
    "measured": MeasuredRange(source="m", users=(10, 80), throughput_per_s=40.0),
    "times_measured": 2.5,
    "model": "curve",
    "held_out_error": None,
    "assumptions": [FitAssumption(assumes="a", tested="no")],
    "doubts": ["d"],
    "rests_on": [
        Rest(part="growth", origin="given", counted=True, text="t"),
        Rest(part="load", origin="given", counted=False, text="u"),
    ],
}


def test_the_evidence_lists_measurements_grounds_assumptions_and_doubts() -> None:
    found = sentences(sizing._trust(part(TrustResult, TRUST, no_interval="i", no_limit_interval="j", model_why="w")))
    assert found == [
        "Measured from 10 to 80 users, up to 40 /s; the requested load is 2.5 times the highest measured throughput.",
        "The model is the curve: w.",
        "No interval: i.",
        "No interval: j.",
        "Growth: given, counted in the probability: t.",
        "Load: given: u.",
        "Assumes that a. Tested: no.",
        "Doubt: d.",
    ]
    bare = part(TrustResult, TRUST, times_measured=None, held_out_error=0.05)
    first, second, *_ = sentences(sizing._trust(bare))
    assert first == "Measured from 10 to 80 users, up to 40 /s."
    assert "predicted with an error of" in second
    assert "5 %" in second
    assert sentences(sizing._trust(part(TrustResult, TRUST, measured=None)))[0].startswith("Growth")


def test_a_tier_has_its_machine_speed_utilization_and_memory() -> None:
    tier = {
        "kind": "cpu",
        "nodes": 3,
        "cpus": 8,
        "machine": None,
        "speed": SpeedResult(value=1.0, low=1.0, high=1.0),
        "utilization": {"app": 0.5, "db": 0.25},
        "memory_bytes": None,
    }
    disk = part(TierResult, {**tier, "kind": "disk", "cpus": 1, "machine": "m", "memory_bytes": 2**30})
    found = sizing._tiers(part(AnswerResult, {"tiers": {"front": part(TierResult, tier), "data": disk}}))
    assert cells(found) == [
        ("front", "3", "8 CPUs", "1.00", "app 50 %, db 25 %", people.ABSENT),
        ("data", "3", "m: 1 disk", "1.00", "app 50 %, db 25 %", "1 GiB"),
    ]
    assert "[" in sizing._speed(SpeedResult(value=1.0, low=0.8, high=1.2))


def test_a_question_names_its_load_its_limits_and_its_lost_nodes() -> None:
    found = {
        "load": LoadResult(users={"web": 50}, rate_per_s={"batch": 2.0}, think_s={}),
        "objectives": ["p95 < 1 s"],
        "utilization_at_most": {"app": 0.7},
        "nodes_lost": 0,
    }
    asked = "To serve 50 users of web and 2 /s of batch, such that p95 < 1 s and app used at most 70.0 %"
    assert sizing._asked(part(SizingResult, found)) == f"{asked}."
    lost = sizing._asked(part(SizingResult, found, nodes_lost=1))
    assert lost == f"{asked}, also if 1 node of any tier with several nodes fails."


def test_without_an_answer_the_strongest_hardware_is_explained() -> None:
    top = part(CandidateResult, {"configuration": "app 64 CPUs", "why_not": ["p95 2 s"]})
    search = part(SearchCounts, {"candidates": 1})
    found = sizing._answer(part(SizingResult, {"answer": None, "search": search, "strongest": top}))
    assert "None of 1 candidate meets the objectives." in str(found)
    assert "app 64 CPUs, does not: p95 2 s." in str(found)


def test_a_refused_sizing_is_a_section_with_its_reason() -> None:
    results: Any = SimpleNamespace(sizing="no load")
    found = section.build(results)
    assert isinstance(found, Section)
    assert "no load" in str(found)
    assert section.build(SimpleNamespace(sizing=None)) is None  # type: ignore[arg-type]
