"""Results of a limit search, computed from given plateaus without a run and compared with values by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis.limits.found import conclude_search, settled_before, stage_of
from towtank.analysis.limits.plateaus import Binding, Failure, Plateau
from towtank.analysis.limits.search import PlateauFailure, SearchEnd, SearchPlan, Step
from towtank.analysis.statistics.estimates import NO_ESTIMATE
from towtank.results import RecordedStage

PLAN = SearchPlan(100, 400, (Step(by=100),), refine_to=1.0, repeats=2)


def plateau(
    level: float, seen: float, kind: PlateauFailure = PlateauFailure.OBJECTIVE_MISSED, start_s: float = 0.0
) -> Plateau:
    """Return a plateau (stage of constant load) at `level` users. Its p95 is `seen` [s]; the objective is p95 < 1 s."""
    missed = Failure(kind, f"p95 < 1 s: seen {seen:g} s", seen, 1.0) if seen > 1 else None
    binding = Binding("p95 < 1 s", "p95", seen, 1.0)
    window: Any = SimpleNamespace(asked_start_s=start_s)
    return Plateau(
        0, level, f"at {level:g}", window, NO_ESTIMATE, {}, 0.0, 0, 0, missed, math.log(seen), binding, None
    )  # fmt: skip


def repeated(kind: PlateauFailure = PlateauFailure.OBJECTIVE_MISSED) -> list[Plateau]:
    """Return two plateaus of 100 users with p95 of about 0.5 s, and two of 200 users with p95 of about 2 s."""
    return [plateau(100, 0.5), plateau(200, 2.0, kind), plateau(100, 0.505), plateau(200, 2.02, kind)]


def test_margins_of_an_objective_give_the_limit_between_the_ends() -> None:
    """The mean logarithm of p95 is -0.688 at 100 users and 0.698 at 200 users. A line through both crosses 0, the
    logarithm of the limit of 1 s, at 100 + 100 * 0.688 / 1.386 = 149.6 users.

    At both levels the p95 differs significantly from the limit.
    """
    found = conclude_search("users", PLAN, repeated())
    low, high = math.log(0.5) + math.log(1.01) / 2, math.log(2) + math.log(1.01) / 2
    assert found.decision.ended is SearchEnd.REFINED
    assert (found.estimate.low, found.estimate.high) == (100, 200)
    assert found.estimate.value == pytest.approx(100 + 100 * -low / (high - low))
    assert found.best is found.plateaus[2]
    assert found.failure == Failure(PlateauFailure.OBJECTIVE_MISSED, "p95 < 1 s: seen 2.02 s", 2.02, 1.0)


def test_what_fails_otherwise_has_no_margin() -> None:
    found = conclude_search("users", PLAN, repeated(PlateauFailure.ERRORS))
    assert found.estimate.value == 100
    assert (found.estimate.low, found.estimate.high) == (100, 200)


def test_what_passes_everywhere_is_a_bound() -> None:
    plan = replace(PLAN, at_most=200)
    found = conclude_search("users", plan, [plateau(100, 0.5), plateau(200, 0.8)])
    assert found.decision.ended is SearchEnd.AT_MOST
    assert (found.estimate.value, found.estimate.high) == (200, None)
    assert found.failure is not None
    assert (found.failure.seen, found.failure.limit) == (200, 200)


def test_a_search_that_goes_on_was_interrupted_or_lost_its_service() -> None:
    assert conclude_search("users", PLAN, [plateau(100, 0.5)]).decision.ended is SearchEnd.INTERRUPTED
    died = conclude_search("users", PLAN, [plateau(100, 0.5)], died="content ended")
    assert died.decision.ended is SearchEnd.SERVICE_DIED
    assert died.failure == Failure(PlateauFailure.SERVICE_DIED, "content ended")


def test_the_settle_stage_before_a_plateau_says_whether_it_settled() -> None:
    events = [
        {"k": "stage", "stage_index": 1},
        {"k": "not_settled", "stage_index": 3},
        {"k": "settled", "stage_index": 1},
    ]
    assert settled_before(2, events) is True
    assert settled_before(4, events) is False
    assert settled_before(3, events) is None
    assert settled_before(2, events[:2]) is None


def test_a_plateau_is_found_by_the_start_of_its_stage() -> None:
    stages = [
        RecordedStage(phase="ramp_up", start_s=0.0),
        RecordedStage(phase="steady", start_s=5.0),
        RecordedStage(phase="steady", start_s=9.0),
    ]
    measurement: Any = SimpleNamespace(stages=stages)
    assert stage_of(measurement, plateau(100, 0.5, start_s=9.0)) == 2
    assert stage_of(measurement, plateau(100, 0.5, start_s=0.0)) is None


def test_a_search_whose_server_falls_silent_ends_at_the_level_below() -> None:
    silent = replace(
        plateau(200, 1.0), failure=Failure(PlateauFailure.OBJECTIVE_MISSED, "silent"), margin=math.inf, binding=None
    )
    found = conclude_search("users", PLAN, [plateau(100, 0.5), silent, plateau(100, 0.5), silent])
    assert (found.decision.ended, found.decision.low, found.decision.high) == (SearchEnd.REFINED, 100, 200)
