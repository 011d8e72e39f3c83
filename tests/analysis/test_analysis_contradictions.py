"""Stored and randomly generated study summaries must contain no statements that contradict each other."""

from __future__ import annotations

import copy

import pytest
from contradictions import NO_SATURATION, NOT_OBSERVED, RULES, contradictions
from hypothesis import given, settings
from hypothesis import strategies as st
from results_1 import copy_of_results_1

from towtank.analysis import summarize_study
from towtank.analysis.study import describe_study

OBJECTIVES = [
    {"text": "p95 < 1 s", "metric": "p95", "comparison": "<", "value": 1.0},
    {"text": "p95 < 50 ms at 20 users", "metric": "p95", "comparison": "<", "value": 0.05, "users": 20},
    {"text": "errors < 1 %", "metric": "errors", "comparison": "<", "value": 0.01},
]


def estimate(value, width):
    bounds = {"low": None, "high": None} if width is None else {"low": value - width, "high": value + width}
    return {"value": value, **bounds, "confidence": 0.95, "method": "none" if width is None else "batch means", "n": 10}


def run_of(number, users, throughput, p95, verdict, *, share=0.0, used=0.4, observed=True):
    """Return the summary of a run with one tier on one CPU, which may be observed."""
    tier = {
        "kind": "x",
        "cpus_used": estimate(used, 0.01),
        "cpus_allotted": 1,
        "utilization": used,
        "cpu_demand_s": estimate(used / throughput["value"], 0.0001),
        "parts": {},
    }
    times = {key: estimate(p95, None) for key in ("mean", "p50", "p90", "p95", "p99")} | {"min": 0.0, "max": 3.0}
    return {
        "run": f"r{number:03d}",
        "factors": {"users": str(users)},
        "status": "complete",
        "verdict": verdict,
        "users": {"asked": users, "mean": users},
        "rate": None,
        "throughput_per_s": throughput,
        "response_time_s": times,
        "errors": {"share": share},
        "transactions": {},
        "tiers": {"content": tier} if observed else {},
        "laws": {"little": None},
        "host": {"disks": {}} | ({} if observed else {"cpus": 2, "cpus_used": estimate(1.2, 0.1)}),
    }


@st.composite
def runs(draw):
    """Generate runs of one configuration with random throughput, with or without tiers, valid or invalid."""
    observed = draw(st.booleans())
    made = []
    for number, users in enumerate(draw(st.lists(st.sampled_from([5, 10, 20, 40, 80]), min_size=1, unique=True))):
        rate = draw(st.floats(0.1, 100.0))
        width = draw(st.none() | st.floats(0.0, 0.3).map(lambda share, rate=rate: share * rate))
        p95 = draw(st.floats(0.001, 3.0))
        level = draw(st.sampled_from(["valid", "valid", "suspect", "invalid"]))
        kind = draw(st.sampled_from(["errors_above_limit", "interference", "no_steady_state"]))
        doubt = {"kind": kind, "level": level, "message": kind, "seen": 0.5, "limit": 0.1}
        share = draw(st.floats(0.02, 1.0)) if level == "invalid" and kind == "errors_above_limit" else 0.0
        used = draw(st.floats(0.0, 1.0))
        verdict = {"level": level, "reasons": [] if level == "valid" else [doubt]}
        throughput = estimate(rate, width)
        made.append(run_of(number, users, throughput, p95, verdict, share=share, used=used, observed=observed))
    return made


@pytest.mark.waits
@settings(max_examples=300, deadline=None)
@given(runs())
def test_generated_summaries_do_not_contradict_themselves(made):
    summary = describe_study({"study": {"name": "s", "objectives": OBJECTIVES}}, made)
    assert contradictions(summary) == []


@pytest.mark.parametrize("observed", [True, False])
def test_a_limit_of_unknown_cause_states_whether_tiers_were_observed(observed):
    """Throughput ends at 12 /s instead of 40 /s, while the tier, if observed, uses 40 % of its CPU."""
    valid = {"level": "valid", "reasons": []}
    made = [
        run_of(number, users, estimate(rate, 0.01 * rate), 0.5, valid, observed=observed)
        for number, (users, rate) in enumerate(((5, 5.0), (10, 10.0), (20, 12.0), (40, 12.0)))
    ]
    summary = describe_study({"study": {"name": "s"}}, made)
    assert contradictions(summary) == []
    evidence = summary["configurations"][0]["limit"]["evidence"]
    assert (NO_SATURATION in evidence, NOT_OBSERVED in evidence) == (observed, not observed)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return summarize_study(copy_of_results_1(tmp_path_factory.mktemp("kept") / "results"))


def test_kept_results_do_not_contradict_themselves(kept):
    assert contradictions(kept) == []


def _damaged(kept, rule):
    """Return a copy of a study summary that violates one rule."""
    summary = copy.deepcopy(kept)
    configuration = summary["configurations"][0]
    if rule == "limit_and_top_level":
        configuration["limit"] |= {"kind": "none", "reached": False, "resource": None}
        configuration["points"][-1]["verdicts"] = ["invalid"]
    elif rule == "limit_and_resource":
        configuration["limit"] |= {"kind": "unknown", "resource": "content"}
    elif rule == "limit_and_reached":
        configuration["limit"]["reached"] = not configuration["limit"]["reached"]
    elif rule == "limit_and_headline":
        summary["headline"] = "The system carries 5/s, its limit not reached."
    elif rule == "unobserved_and_ruled_out":
        configuration["limit"]["evidence"] = f"throughput is 30 % below the ideal line, but {NO_SATURATION}"
        for point in configuration["points"]:
            point["tiers"] = {}
    elif rule == "search_and_plateaus":
        configuration["found_limit"] = {"value": 188}
        plateaus = [{"level": level, "passed": True} for level in (188, 216)]
        summary["_runs"] = [{"limit": {"low": 188, "high": 200, "plateaus": plateaus}}]
    elif rule == "objectives_and_runs":
        for point in configuration["points"]:
            point["verdicts"] = ["invalid"]
    elif rule == "verdict_and_runs":
        summary["verdict"]["valid_runs"] += 1
    return summary


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_each_rule_finds_its_contradiction(kept, rule):
    assert any(text.startswith(f"{rule}: ") for text in contradictions(_damaged(kept, rule)))
