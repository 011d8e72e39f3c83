"""Search for the maximum load of simulated systems whose maximum is known."""

import itertools

import numpy as np
import pytest

from towtank.analysis.limits.search import (
    LOWER_BOUNDS,
    PLATEAUS_AT_MOST,
    PlateauFailure,
    PlateauOutcome,
    SearchEnd,
    SearchPlan,
    Step,
    bracket,
    decide_search,
    passes,
    search_levels,
    search_plan_of,
)

STAGED = SearchPlan(100, 2000, (Step(by=100, up_to=400), Step(by=50)))
MISSED = PlateauFailure.OBJECTIVE_MISSED


def run(plan, carries):
    """Search the limit of a simulated system. `carries(level, number)` returns None if the plateau passes, otherwise
    the reason of its failure.
    """
    outcomes = []
    while (decision := decide_search(plan, outcomes)).ended is None:
        outcomes.append(PlateauOutcome(decision.level, carries(decision.level, len(outcomes))))
    return decision, outcomes


def up_to(limit, failure=MISSED):
    return lambda level, number: None if level <= limit else failure


def levels_of(outcomes):
    return [outcome.level for outcome in outcomes]


def test_steps_of_the_published_stage_plan():
    """The load profile of a published sizing guide begins with 100 users, adds 100 at a time up to 400, and then 50 at
    a time.
    """
    assert list(itertools.islice(search_levels(STAGED), 8)) == [100, 200, 300, 400, 450, 500, 550, 600]
    assert list(search_levels(STAGED))[-1] == 2000


def test_factors_stop_at_their_end_and_stay_whole():
    plan = SearchPlan(10, 100, (Step(times=1.5, up_to=30), Step(by=20)))
    assert list(search_levels(plan)) == [10, 15, 22, 30, 50, 70, 90, 100]


def test_rates_are_not_rounded_to_whole_numbers():
    plan = SearchPlan(0.5, 2.0, (Step(times=1.5),), whole=False)
    assert list(search_levels(plan)) == [0.5, 0.75, 1.125, 1.6875, 2.0]


def test_small_factors_still_rise():
    assert list(search_levels(SearchPlan(1, 4, (Step(times=1.01),)))) == [1, 2, 3, 4]


@pytest.mark.parametrize("limit", [100, 130, 399, 400, 430, 777, 1999])
def test_without_refinement_ends_at_the_first_failure(limit):
    decision, outcomes = run(STAGED, up_to(limit))
    assert decision.ended is SearchEnd.BRACKETED
    assert decision.low <= limit < decision.high
    assert levels_of(outcomes) == sorted(levels_of(outcomes))
    assert decision.high - decision.low == (100 if decision.low < 400 else 50)


@pytest.mark.parametrize("limit", range(100, 2000, 37))
@pytest.mark.parametrize("to", [0.02, 0.05, 0.2])
def test_refinement_narrows_every_limit_and_repeats_both_ends(limit, to):
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=to, repeats=3)
    decision, outcomes = run(plan, up_to(limit))
    assert decision.ended is SearchEnd.REFINED
    assert decision.low <= limit < decision.high
    assert decision.high - decision.low <= max(1, to * decision.low)
    for level in (decision.low, decision.high):
        assert levels_of(outcomes).count(level) == 3


def test_repeats_alternate_between_the_ends():
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=0.05, repeats=3)
    _, outcomes = run(plan, up_to(430))
    assert levels_of(outcomes) == [100, 200, 300, 400, 450, 425, 438, 425, 438, 425, 438]


def test_system_that_never_fails_is_a_lower_bound():
    decision, outcomes = run(SearchPlan(100, 300, (Step(by=80),), refine_to=0.05), up_to(10_000))
    assert (decision.ended, decision.low, decision.high) == (SearchEnd.AT_MOST, 300, None)
    assert levels_of(outcomes) == [100, 180, 260, 300]
    assert decision.ended in LOWER_BOUNDS


def test_system_that_fails_at_first():
    decision, outcomes = run(STAGED, up_to(0))
    assert (decision.ended, decision.low, decision.high) == (SearchEnd.FAILED_AT_START, None, 100)
    assert len(outcomes) == 1


def test_first_level_is_repeated_before_the_search_gives_up():
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=0.05, repeats=3)
    assert levels_of(run(plan, up_to(0))[1]) == [100, 100, 100]
    decision, outcomes = run(plan, lambda level, number: MISSED if number == 0 or level > 250 else None)
    assert levels_of(outcomes)[:4] == [100, 100, 100, 200]
    assert decision.low <= 250 < decision.high


def test_a_failure_by_chance_is_turned_round_by_its_repeats():
    """The true limit is 430 users. The first plateau at 300 fails by chance, and its repetitions pass."""
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=0.1, repeats=3)
    decision, outcomes = run(plan, lambda level, number: MISSED if number == 2 or level > 430 else None)
    assert levels_of(outcomes)[2] == 300
    assert decision.low <= 430 < decision.high
    assert decision.high - decision.low <= 0.1 * decision.low


def by_script(plan, first, otherwise):
    """Search the limit of a simulated system.

    `first` maps a level to the outcomes of its first plateaus; `otherwise` decides every later plateau.
    """
    made = {}

    def carries(level, number):
        made[level] = made.get(level, 0) + 1
        script = first.get(level, ())
        passed = script[made[level] - 1] if made[level] <= len(script) else otherwise(level)
        return None if passed else MISSED

    return run(plan, carries)


def test_a_draw_is_measured_once_more():
    """200 users failed once and passed once, which does not decide the limit. So the level is measured a third time."""
    plan = SearchPlan(50, 400, (Step(by=50),), refine_to=0.08, repeats=2)
    decision, outcomes = by_script(plan, {200: [False, True]}, lambda level: level <= 330)
    assert levels_of(outcomes).count(200) == 3
    assert decision.ended is SearchEnd.REFINED
    assert decision.low <= 330 < decision.high


def test_levels_that_pass_above_a_failure_reopen_the_search():
    """The search had narrowed the limit to between 188 and 200 users when 216 users passed. So 200 users, which had
    failed, are measured again.
    """
    plan = SearchPlan(50, 400, (Step(by=50),), refine_to=0.08, repeats=2)
    outcomes = [PlateauOutcome(level, None, -0.5) for level in (50, 100, 150, 175, 188, 188)]
    outcomes += [PlateauOutcome(200, MISSED, 0.1), PlateauOutcome(200, MISSED, 0.1), PlateauOutcome(216, None, -0.4)]
    assert decide_search(plan, outcomes).level == 216, (
        "of the two levels, the search measures the level with fewer measurements"
    )
    outcomes.append(PlateauOutcome(216, None, -0.4))
    decision = decide_search(plan, outcomes)
    assert (decision.level, decision.why) == (200, "repeated: 200 failed, but 216 passed")


def test_levels_that_contradict_each_other_give_a_lower_bound_only():
    plan = SearchPlan(50, 400, (Step(by=50),), refine_to=0.08, repeats=2)
    outcomes = []
    while (decision := decide_search(plan, outcomes)).ended is None:
        failed = 195 <= decision.level <= 205
        margin = (0.02, 0.3)[len(outcomes) % 2] if failed else -0.3
        outcomes.append(PlateauOutcome(decision.level, MISSED if failed else None, margin))
        assert len(outcomes) < 60
    assert (decision.ended, decision.high) == (SearchEnd.CONTRADICTORY, None)
    assert decision.low < 195
    assert decision.ended in LOWER_BOUNDS
    assert "failed in 3 of 3 plateaus, but" in decision.why


@pytest.mark.parametrize("failure", [PlateauFailure.GENERATOR_SATURATED, PlateauFailure.SERVICE_DIED])
def test_what_is_no_limit_of_the_system_ends_the_search_with_a_lower_bound(failure):
    decision, outcomes = run(SearchPlan(100, 2000, STAGED.steps, refine_to=0.05), up_to(250, failure))
    assert str(decision.ended) == str(failure)
    assert decision.low == 200
    assert levels_of(outcomes) == [100, 200, 300]


def test_throughput_that_no_longer_grows_is_repeated_but_not_halved():
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=0.05, repeats=2)
    decision, outcomes = run(plan, up_to(300, PlateauFailure.THROUGHPUT_PLATEAU))
    assert (decision.ended, decision.low, decision.high) == (SearchEnd.REFINED, 300, 400)
    assert levels_of(outcomes) == [100, 200, 300, 400, 300, 400]


def test_ends_that_do_not_differ_from_the_limit_bring_levels_further_out():
    """If no level differs significantly from the limit, the search measures up to four levels above and four below."""
    plan = SearchPlan(100, 200, (Step(by=5),), refine_to=0.05, repeats=2)
    stream = np.random.default_rng(1)
    outcomes = []
    while (decision := decide_search(plan, outcomes)).ended is None:
        margin = 0.02 * (decision.level - 112) + stream.normal() * 0.05
        outcomes.append(PlateauOutcome(decision.level, MISSED if margin > 0 else None, margin))
    assert decision.ended is SearchEnd.REFINED
    assert max(levels_of(outcomes)) > decision.high


@pytest.mark.parametrize("seed", range(40))
def test_noisy_systems_end_near_their_limit(seed):
    """The probability that a plateau passes falls from 1 to 0 over about a tenth of the limit of 1,000 users. The
    search must end between 800 and 1,200 users.
    """
    stream = np.random.default_rng(seed)
    plan = SearchPlan(100, 4000, (Step(times=1.3),), refine_to=0.05, repeats=3)

    def carries(level, number):
        return None if level < 1000 * (1 + 0.05 * stream.normal()) else MISSED

    decision, outcomes = run(plan, carries)
    assert decision.ended is SearchEnd.REFINED
    assert 800 <= decision.low <= decision.high <= 1200
    assert len(outcomes) < 60


def test_chaos_ends():
    stream = np.random.default_rng(7)
    plan = SearchPlan(100, 4000, (Step(by=50),), refine_to=0.01, repeats=20)
    decision, outcomes = run(plan, lambda level, number: MISSED if stream.random() < 0.5 else None)
    assert decision.ended is not None
    assert len(outcomes) <= PLATEAUS_AT_MOST


def test_decisions_depend_on_the_outcomes_alone():
    plan = SearchPlan(100, 2000, STAGED.steps, refine_to=0.05, repeats=3)
    _, outcomes = run(plan, up_to(430))
    for number in range(len(outcomes)):
        assert decide_search(plan, outcomes[:number]).level == outcomes[number].level


def test_majority_counts_and_a_draw_does_not_pass():
    outcomes = [
        PlateauOutcome(100),
        PlateauOutcome(100, MISSED),
        PlateauOutcome(90),
        PlateauOutcome(90),
        PlateauOutcome(90, MISSED),
    ]
    assert passes(outcomes, 100) is False
    assert passes(outcomes, 90) is True
    assert passes(outcomes, 80) is None
    assert bracket(outcomes) == (90, 100)


def test_plan_from_a_manifest():
    document = {
        "of": "users",
        "start": 100.0,
        "at_most": 2000.0,
        "steps": [{"by": 100.0, "times": None, "up_to": 400.0}, {"by": 50.0, "times": None, "up_to": None}],
        "stop_when": {"objective_missed": True},
        "refine": {"to": 0.05, "repeats": 3},
    }
    assert search_plan_of(document) == SearchPlan(100, 2000, STAGED.steps, whole=True, refine_to=0.05, repeats=3)


def further(*margins):
    """Return the decision of a search after four plateaus, at 100, 105, 100 and 105, with the given margins of the
    objective.
    """
    plan = SearchPlan(50, 500, (Step(by=50),), whole=False, refine_to=0.05, repeats=2)
    levels = [100.0, 105.0, 100.0, 105.0]
    outcomes = [
        PlateauOutcome(level, MISSED if margin > 0 else None, margin)
        for level, margin in zip(levels, margins, strict=True)
    ]
    return decide_search(plan, outcomes)


def test_an_end_within_chance_is_looked_at_further_out():
    """The search continues if the p95 at the highest or lowest level does not differ significantly from the limit.

    The significance test pools the variance of the two levels: 2 degrees of freedom, t = 4.30.
    """
    assert further(-0.02, 0.30, -0.20, 0.02).level == pytest.approx(110.25)
    assert further(-0.01, 1.00, -0.02, 1.01).level == pytest.approx(100 / 1.05, rel=1e-5)
    assert further(-1.00, 1.00, -1.01, 1.01).ended is SearchEnd.REFINED
