"""Intervals of quantities that were read with a limited resolution."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from test_analysis_claims import T1, T2, factor, judged, run

from towtank.analysis.claims.places import Places
from towtank.analysis.factors import Factor
from towtank.analysis.run_summary import RunSummary
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
        # The mean has the standard error 0.5 s, with one degree of freedom. Times are read to 1 s, which is added at
        # each end.
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


@pytest.mark.parametrize(("found", "low", "high"), [((0.0, 0.0), 0.0, 0.001), ((500.0, 500.0), 0.499, 0.501)])
def test_free_inodes_are_read_to_an_inode(found: tuple[float, ...], low: float, high: float) -> None:
    runs = [
        run(f"r{number}", {"users": "10"}, 50.0, hosts={"web": {"disks": {"data": disk}}})
        for number, free in enumerate(found)
        for disk in [{"free_inodes_least": free, "size_inodes": 1000.0}]
    ]
    of, per = (f"hosts.web.disks.data.{name}" for name in ("free_inodes_least", "size_inodes"))
    claim = {"measure": {"value": {"of": of, "per": per, "at": {"users": "10"}}}, "holds": "< 1 %"}
    measured = judged(claim, [factor("users", "10")], runs)["measured"]
    assert (measured["low"], measured["high"]) == (pytest.approx(low), pytest.approx(high))


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
    """A recovery time ends with a second of the run. In all runs the seconds begin at the same time after the event, so
    all readings have the same error.

    Two runs with equal readings show no scatter. Up to 8 % of their intervals may miss the true mean, otherwise 5 %.
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
    """A study that is evaluated twice has intervals of 96.8 % at each evaluation. These are longer than those of 95 %,
    but must still not begin below 0.
    """
    runs = [run(f"r{number}", {"users": "10"}, value) for number, value in enumerate([1.0, 2.0])]
    for summary, value in zip(runs, (1.0, 2.0), strict=True):
        summary["hosts"] = {"server": {"memory_bytes": value}}
    places = Places([Factor.read(factor("users", "10"))], list(map(RunSummary.read, runs)), confidence=0.968)
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


TWO = [factor("users", "10"), {"name": "disk", "levels": ["slow", "fast", "new"], "numeric": None}]


def on_disks(**times_s: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return runs with a recovery time each, at the level of the factor `disk` that the keyword names."""
    return [
        run(f"{disk}{number}", {"users": "10", "disk": disk}, 50.0, events={"cut": {"recovery_s": time_s}})
        for disk, each in times_s.items()
        for number, time_s in enumerate(each)
    ]


def compared(kind: str, holds: str) -> dict[str, Any]:
    of = {"of": "events.cut.recovery_s", "at": {"disk": "slow"}, "to": {"disk": "fast"}}
    return {"measure": {kind: of}, "holds": holds}


@pytest.mark.parametrize("runs", [2, 5])
def test_recovery_times_that_differ_by_less_than_their_resolutions_are_not_told_apart(runs: int) -> None:
    """Both readings may be off by 1 s. So the difference 4.9 s - 4.0 s = 0.9 s has an interval of 2 s to both sides."""
    near = on_disks(slow=(4.9,) * runs, fast=(4.0,) * runs)
    difference = judged(compared("difference", "> 0 s"), TWO, near)
    assert (difference["verdict"], difference["needs_runs"]) == ("undecided", None)
    assert (difference["measured"]["low"], difference["measured"]["high"]) == (pytest.approx(-1.1), pytest.approx(2.9))
    ratio = judged(compared("ratio", "> 1"), TWO, near)
    assert (ratio["verdict"], ratio["needs_runs"]) == ("undecided", None)
    read = 1 / 4.9 + 1 / 4.0
    assert ratio["measured"]["high"] == pytest.approx(4.9 / 4.0 * math.exp(read))
    course = {"of": "events.cut.recovery_s", "over": "disk", "at": {"users": "10"}}
    two = [TWO[0], {**TWO[1], "levels": ["fast", "slow"]}]
    assert judged({"measure": {"trend": course}, "holds": "rises"}, two, near)["verdict"] == "undecided"
    assert judged({"measure": {"highest": course}, "holds": "at slow"}, two, near)["verdict"] == "undecided"
    far = on_disks(slow=(9.0,) * runs, fast=(4.0,) * runs)
    assert judged(compared("difference", "> 0 s"), TWO, far)["verdict"] == "confirmed"
    assert judged(compared("ratio", "> 1"), TWO, far)["verdict"] == "confirmed"


def test_a_mean_over_combinations_has_the_resolution_of_its_readings() -> None:
    runs = on_disks(slow=(3.0, 3.0), fast=(3.0, 3.0))
    both = {"of": "events.cut.recovery_s", "at": {"users": "10", "disk": ["slow", "fast"]}}
    found = judged({"measure": {"value": both}, "holds": "< 3.06 s"}, TWO, runs)
    assert (found["verdict"], found["measured"]["low"], found["measured"]["high"]) == ("undecided", 2.0, 4.0)


def test_a_level_that_did_not_recover_is_not_left_out_of_a_claim_over_all_levels() -> None:
    runs = on_disks(slow=(3.0, 3.2), fast=(3.0, 3.2), new=(3.0, 3.0))
    runs[-1]["events"]["cut"] = {"recovery_s": None, "disturbed": True}
    each = {"of": "events.cut.recovery_s", "at": {"users": "10", "disk": ["slow", "fast", "new"]}}
    found = judged({"measure": {"value": each}, "holds": "< 10 s"}, TWO, runs)
    assert (found["verdict"], found["why"]) == ("not_testable", "in new1 the stage ended before the system recovered")
    middle = [TWO[0], {**TWO[1], "levels": ["slow", "new", "fast"]}]
    course = {"of": "events.cut.recovery_s", "over": "disk", "at": {"users": "10"}}
    trend = judged({"measure": {"trend": course}, "holds": "rises"}, middle, runs)
    assert (trend["verdict"], trend["why"]) == ("not_testable", "in new1 the stage ended before the system recovered")
