"""Intervals of quantities that were read with a limited resolution."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from test_analysis_claims import T1, T2, factor, judged, run

from towtank.analysis.claims.places import Places
from towtank.distributions import t_quantile


def recoveries(*times_s: float) -> list[dict[str, Any]]:
    """Return runs with a recovery time each."""
    return [
        run(f"r{number}", {"users": "10"}, 50.0, events={"cut": {"recovery_s": time_s}})
        for number, time_s in enumerate(times_s)
    ]


def recovery(holds: str, **more: Any) -> dict[str, Any]:
    measure = {"of": "events.cut.recovery_s", "at": {"users": "10"}, **more}
    return {"measure": {"value": measure}, "holds": holds}


@pytest.mark.parametrize(
    ("times_s", "low", "high"),
    [
        ((7.8, 7.8), 6.8, 8.8),
        # Standard error 0.5 of the mean, one degree of freedom.
        ((7.8, 8.8), 8.3 - 0.5 * T1 - 1, 8.3 + 0.5 * T1 + 1),
        ((7.8, 8.8, 9.8), 8.8 - T2 / math.sqrt(3) - 1, 8.8 + T2 / math.sqrt(3) + 1),
        ((0.0, 0.0), 0.0, 1.0),
    ],
)
def test_a_recovery_time_is_read_to_a_second(times_s: tuple[float, ...], low: float, high: float) -> None:
    found = judged(recovery("> 0.5 s"), [factor("users", "10")], recoveries(*times_s))["measured"]
    assert (found["low"], found["high"]) == (pytest.approx(max(0.0, low), abs=0.01), pytest.approx(high, abs=0.01))
    assert (found["method"], found["n"]) == ("runs", len(times_s))


def test_a_recovery_time_per_user_has_the_resolution_per_user() -> None:
    found = judged(recovery("> 0.5", per="load"), [factor("users", "10")], recoveries(7.8, 7.8))["measured"]
    assert (found["low"], found["high"]) == (pytest.approx(0.68), pytest.approx(0.88))


def test_a_single_recovery_time_has_no_interval() -> None:
    found = judged(recovery("> 0.5 s"), [factor("users", "10")], recoveries(7.8))
    assert (found["verdict"], found["measured"]["low"]) == ("undecided", None)


def test_no_number_of_runs_finds_a_recovery_time_nearer_to_its_bound_than_a_second() -> None:
    near = judged(recovery("> 7.5 s"), [factor("users", "10")], recoveries(7.8, 7.8))
    assert (near["verdict"], near["needs_runs"]) == ("undecided", None)
    far = judged(recovery("> 5 s"), [factor("users", "10")], recoveries(7.8, 8.8))
    assert far["verdict"] == "undecided"
    assert far["needs_runs"] > 2


@pytest.mark.parametrize("scatter_s", [0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_of_recovery_times_contain_the_true_mean(scatter_s: float, runs: int) -> None:
    """The seconds of all runs begin at the same time after the event, so all readings have the same error. Two runs
    whose readings are equal show no scatter, so up to 8 % of their intervals miss the true mean.
    """
    drawn, missed, repetitions = random.Random(37), 0, 400
    for _ in range(repetitions):
        mean_s, phase_s = 9.0 + drawn.random(), drawn.random()
        true_s = [drawn.gauss(mean_s, scatter_s) for _ in range(runs)]
        readings = [max(0.0, math.ceil(time_s + phase_s) - phase_s) for time_s in true_s]
        found = judged(recovery("> 0.5 s"), [factor("users", "10")], recoveries(*readings))["measured"]
        missed += not found["low"] <= mean_s <= found["high"]
    allowed = 0.08 if runs == 2 else 0.05
    assert missed <= repetitions * allowed + 2 * math.sqrt(repetitions * allowed * (1 - allowed))


def test_a_higher_confidence_does_not_reach_below_zero() -> None:
    """The first two looks at a study have intervals of 96.8 %, which are longer than those of 95 %."""
    runs = [run(f"r{number}", {"users": "10"}, value) for number, value in enumerate([1.0, 2.0])]
    for summary, value in zip(runs, (1.0, 2.0), strict=True):
        summary["hosts"] = {"server": {"memory_bytes": value}}
    places = Places([factor("users", "10")], runs, confidence=0.968)
    found = places.quantity("hosts.server.memory_bytes", None, {"users": "10"})
    assert (found.low, found.confidence) == (0.0, 0.968)
    assert found.high == pytest.approx(1.5 + 0.5 * t_quantile(0.984, 1), rel=1e-3)


def test_a_run_that_did_not_recover_is_not_left_out_of_the_mean() -> None:
    runs = recoveries(5.0, 5.0, 5.0)
    runs[2]["events"]["cut"] = {"recovery_s": None, "disturbed": True}
    found = judged(recovery("< 10 s"), [factor("users", "10")], runs)
    assert (found["verdict"], found["why"]) == ("not_testable", "in r2 the stage ended before the system recovered")
    runs[2]["events"]["cut"] = {"recovery_s": None, "disturbed": None, "why": "the event did not take place"}
    assert judged(recovery("< 10 s"), [factor("users", "10")], runs)["verdict"] == "confirmed"
