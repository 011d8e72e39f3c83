"""Confidence of a verdict on a claim that is evaluated repeatedly, after each block of runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from test_analysis_claims import CACHE, ratio, run

from towtank.analysis import claims
from towtank.analysis.claims.needs import Needs, runs_needed
from towtank.analysis.combining import combined
from towtank.analysis.statistics.estimates import RUNS, Estimate
from towtank.analysis.statistics.looks import Looks, nominal_confidence
from towtank.claim_bounds import NumberBounds


# Critical values of Pocock's test with two-sided error 0.05: C. Jennison and B. W. Turnbull, Group Sequential Methods,
# table 2.1.
@pytest.mark.parametrize(
    ("looks", "critical"), [(1, 1.960), (2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413), (10, 2.555)]
)
def test_critical_values_are_those_of_pocock(looks: int, critical: float) -> None:
    assert norm.ppf(0.5 + nominal_confidence(looks) / 2) == pytest.approx(critical, abs=1e-3)


def test_two_blocks_have_one_look_and_need_no_correction() -> None:
    assert Looks(2).confidence == pytest.approx(0.95)
    assert list(Looks(4).until(9)) == [2, 3, 4]
    assert list(Looks(4).until(1)) == []


def study(at_most: int, holds: str, blocks: int) -> dict[str, Any]:
    design = [
        {"run": f"{level[0]}{block}", "repetition": block}
        for block in range(1, blocks + 1)
        for level in CACHE["levels"]
    ]
    claim = {"says": "So it is.", "source": "s", **ratio(holds)}
    rule = {"until": "decided", "at_most": at_most, "budget_s": None}
    return {"name": "s", "preset": None, "factors": [CACHE], "claims": [claim], "repeat": rule, "design": design}


def runs_of(small: list[float], large: list[float]) -> list[dict[str, Any]]:
    pairs = [("small", small), ("large", large)]
    return [
        run(f"{level[0]}{block}", {"cache": level}, value)
        for level, values in pairs
        for block, value in enumerate(values, start=1)
    ]


def verdict(at_most: int, holds: str, small: list[float], large: list[float]) -> dict[str, Any]:
    (found,) = claims.judge(study(at_most, holds, len(small)), runs_of(small, large)).document()["claims"]
    assert isinstance(found, dict)
    return found


def test_the_first_decision_stands_with_the_runs_that_made_it() -> None:
    found = verdict(4, "> 1.5", [95.0, 105.0, 100.0, 10.0], [190.0, 210.0, 200.0, 400.0])
    assert (found["verdict"], found["decided_after"]) == ("confirmed", 3)
    assert found["runs"] == ["l1", "l2", "l3", "s1", "s2", "s3"]
    assert found["measured"]["confidence"] == pytest.approx(nominal_confidence(4, 2))


def suspect(runs: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{**each, "verdict": {"level": "suspect", "reasons": []}} if each["run"] in names else each for each in runs]


def test_a_decision_is_repeated_without_suspect_runs_by_the_blocks_after_it() -> None:
    """With the suspect run, three blocks of runs decide the claim. Without it, three blocks leave two runs at its
    level, which do not decide the claim; four blocks leave three runs, which do.
    """
    described = study(4, "> 1.5", 4)
    runs = runs_of([98.0, 102.0, 100.0, 99.0], [200.0, 185.0, 215.0, 200.0])
    (before,) = claims.judge(described, runs).document()["claims"]
    assert (before["verdict"], before["decided_after"]) == ("confirmed", 3)
    (found,) = claims.judge(described, suspect(runs, "l1")).document()["claims"]
    assert (found["verdict"], found["decided_after"]) == ("confirmed", 4)
    assert (found["suspect_runs"], found["doubts"]) == ([], [])
    assert found["runs"] == ["l2", "l3", "l4", "s1", "s2", "s3", "s4"]
    (found,) = claims.judge(study(4, "> 1.5", 3), suspect(runs[:3] + runs[4:7], "l1")).document()["claims"]
    assert (found["verdict"], found["suspect_runs"], found["decided_after"]) == ("confirmed", ["l1"], 3)
    assert found["doubts"] == ["it depends on the suspect run l1; without it the claim is undecided"]


def test_a_single_block_decides_nothing() -> None:
    found = verdict(4, "> 1.5", [100.0], [900.0])
    assert (found["verdict"], found["decided_after"]) == ("undecided", None)


def test_a_first_run_without_a_summary_is_named() -> None:
    small, large = [95.0, 105.0, 100.0], [190.0, 210.0, 200.0]
    runs = [each for each in runs_of(small, large) if each["run"] != "s1"]
    (found,) = claims.judge(study(4, "> 1.5", 3), runs).document()["claims"]
    assert found["verdict"] == "undecided"
    assert found["why"] == "runs of the first blocks have no summary: s1"
    assert "--resume" in found["do"]


def test_more_looks_make_the_interval_longer() -> None:
    few, many = (verdict(at_most, "between 1.9 and 2", [90.0, 110.0], [180.0, 220.0]) for at_most in (2, 10))
    length = [found["measured"]["high"] / found["measured"]["low"] for found in (few, many)]
    assert length[0] < length[1]


def test_the_runs_needed_follow_from_the_half_width() -> None:
    # The mean of two runs is 10 above the bound, with s = 10. `at_least` is 4, because 10 + 7.07 exceeds
    # t(0.975, 3) * 10 / sqrt(4) = 15.9, but not t(0.975, 2) * 10 / sqrt(3) = 24.8. `probably` is 10 at a power of 80 %:
    # (2.262 + 0.883) * 10 / sqrt(10) = 9.95 < 10.
    half = 12.706 * 10 / math.sqrt(2)
    estimate = Estimate(110.0, 110.0 - half, 110.0 + half, RUNS, 2)
    assert runs_needed(estimate, NumberBounds(100.0, math.inf)) == Needs(probably=10, at_least=4)


def test_a_comparison_of_two_places_has_twice_the_degrees_of_freedom() -> None:
    half = 4.303 * 10 / math.sqrt(2)
    estimate = Estimate(110.0, 110.0 - half, 110.0 + half, RUNS, 2)
    found = runs_needed(estimate, NumberBounds(100.0, math.inf), places=2)
    # Nine runs at each of two levels have 16 degrees of freedom: (2.120 + 0.865) * 10 / sqrt(9) = 9.95 < 10.
    assert found == Needs(probably=9, at_least=3)


def test_without_scatter_no_number_of_runs_is_known() -> None:
    assert runs_needed(Estimate(1.0, n=1), NumberBounds(0.5, math.inf)) is None
    assert runs_needed(Estimate(1.0, 1.0, 1.0, RUNS, 3), NumberBounds(1.0, math.inf)) is None
    assert runs_needed(Estimate(1.0, 0.0, math.inf, RUNS, 3), NumberBounds(0.5, math.inf)) is None


def test_a_block_counts_when_all_of_its_runs_have_ended() -> None:
    described = study(4, "> 1.5", 3)
    runs = runs_of([95.0, 105.0, 100.0], [190.0, 210.0, 200.0])
    (found,) = claims.judge(described, [run for run in runs if run["run"] != "l3"]).document()["claims"]
    assert (found["verdict"], found["decided_after"]) == ("undecided", None)
    (found,) = claims.judge(described, runs).document()["claims"]
    assert (found["verdict"], found["decided_after"]) == ("confirmed", 3)


def test_looks_at_equal_systems_without_the_correction_would_find_differences() -> None:
    draws = np.random.default_rng(5).standard_normal((4000, 10)).cumsum(axis=1) / np.sqrt(np.arange(1, 11))
    found = [
        bool((abs(draws) > norm.ppf(0.5 + confidence / 2)).any(axis=1).mean() < 0.06)
        for confidence in (0.95, nominal_confidence(10))
    ]
    assert found == [False, True]


def test_runs_needed_rest_on_the_errors_within_runs_where_two_runs_agree() -> None:
    """Two runs have equal counts of 10, but each count has a Poisson error of sqrt(10). To exclude 8 with a power of 80
    %, about (1.96 + 0.84)^2 * 10 / 2^2 = 20 runs are needed, and some more because of Student's t.
    """
    found = combined([Estimate(10.0, n=1)] * 2, windows=(1.0, 1.0))
    needs = runs_needed(found, NumberBounds(8.0, math.inf))
    assert needs.probably is not None and 20 <= needs.probably <= 40
