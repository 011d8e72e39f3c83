from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis import AuditTest, Configuration, Objective, TierAtLoad
from towtank.model import HeldOutLevel, PredictedBand
from towtank.report.content import audit, prediction, tables
from towtank.report.figures import (
    answer,
    capacity_curve,
    cpu_by_tier,
    drive_seconds,
    every_run,
    matrix,
    panel,
    series,
    throughput,
)
from towtank.report.runs_over_time import DRAIN_STAGE, _rates
from towtank.report.source import Results, RunResult
from towtank.results import RecordedStage


def point(load: float, value: float, low: float | None = None, high: float | None = None, **more: Any) -> series.Point:
    return series.Point(more.get("label", "a"), load, value, low, high, more.get("state", "valid"), ("r001",))


@pytest.mark.parametrize(
    ("points", "exceeded"),
    [
        ([point(1, 100.0)], None),
        ([point(1, 100.1)], 100.1),
        ([point(1, 105.0, 100.0, 110.0)], None),
        ([point(1, 105.0, 100.1, 110.0)], 105.0),
        ([point(1, 105.0), point(2, 107.0), point(3, 106.0)], 107.0),
        ([point(1, 105.0, state="invalid"), point(2, 105.0, label="b")], None),
    ],
)
def test_a_limit_is_exceeded_by_a_point_whose_whole_interval_is_above_it(
    points: list[series.Point], exceeded: float | None
) -> None:
    found = throughput._exceeding(points, "a", 100.0)
    assert (None if found is None else (found.point.value, found.limit)) == (
        None if exceeded is None else (exceeded, 100.0)
    )


def tiers(**of: tuple[float | None, float | None]) -> dict[str, Any]:
    return {name: {"cpu_demand_s": {"value": demand}, "cpus_allotted": cpus} for name, (demand, cpus) in of.items()}


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        (tiers(web=(0.02, 2), db=(0.005, 1)), 100.0),
        (tiers(web=(0.02, 4), db=(0.01, 1)), 100.0),
        (tiers(web=(0.02, None), db=(0.01, 1)), None),
        (tiers(web=(0.0, 2), db=(0.01, 1)), None),
        ({}, None),
    ],
)
def test_the_bound_of_the_demands_is_that_of_the_highest_load_that_counts(
    known: dict[str, Any], limit: float | None
) -> None:
    points = [
        {"load": 10, "tiers": tiers(web=(0.001, 1)), "verdicts": ["valid"]},
        {"load": 20, "tiers": known, "verdicts": ["valid"]},
        {"load": 30, "tiers": tiers(web=(0.5, 1)), "verdicts": ["invalid"]},
    ]
    assert throughput._of_demands(Configuration.model_validate({"points": points})) == limit


def test_bounds_are_drawn_up_to_a_multiple_of_the_measured_throughput() -> None:
    points = [point(1, 100.0), point(2, 900.0, state="invalid")]
    most = throughput._HIGHEST_AT_MOST * 100.0
    numbers: Any = SimpleNamespace(points=points, highest={"a": most, "b": 1.001 * most, "c": 50.0})
    assert list(throughput._drawn_highest(numbers)) == ["a", "c"]


def test_slopes_that_are_close_have_one_name() -> None:
    assert throughput._apart([1.0, 1.02, 1.021, 1.03, 1.05], 1.02) == [1.0, 1.021, 1.05]


@pytest.mark.parametrize(
    ("times", "domain"),
    [([1.0, 100.0, 900.0], [1.0, 1000.0]), ([0.02, 3.0], [0.01, 10.0]), ([1.0, 1.5], None)],
)
def test_times_that_are_far_apart_have_whole_decades(times: list[float], domain: list[float] | None) -> None:
    axis = panel.time_axis("response time [s]", [point(1, value) for value in times])
    assert axis["scale"].get("domain") == (None if domain is None else pytest.approx(domain))
    if domain is None:
        assert axis["scale"]["domainMax"] == pytest.approx(1.04 * max(times))
    else:
        ticks = axis["axis"]["values"]
        assert (ticks[0], ticks[-1]) == (pytest.approx(domain[0]), pytest.approx(domain[1]))
        assert ticks == sorted(ticks)


def test_the_scale_of_times_includes_the_ends_of_intervals_of_points_that_count() -> None:
    points = [point(1, 1.0, 0.5, 1.8), point(2, 1.5), point(3, 90.0, state="invalid")]
    assert panel.time_axis("t", points)["scale"]["domainMax"] == pytest.approx(1.04 * 1.8)
    wide = [point(1, 1.0, 0.05, 2.0), point(2, 900.0, 800.0, 1100.0)]
    assert panel.time_axis("t", wide)["scale"]["domain"] == pytest.approx([0.01, 10_000.0])


def test_the_axis_of_loads_ends_beyond_the_highest_load() -> None:
    axis = panel.load_axis("users", [20.0, 10.0, 20.0])
    assert (axis["axis"]["values"], axis["scale"]["domain"][0]) == ([0, 10.0, 20.0], 0)
    assert 20 < axis["scale"]["domain"][1] < 22


def test_levels_far_apart_have_a_logarithmic_axis_with_a_tick_at_each() -> None:
    loads = [1.0, 10.0, 31.0]
    axis = panel.load_axis("users", loads)
    assert (axis["scale"]["type"], axis["axis"]["values"]) == ("log", loads)
    assert axis["title"] == "virtual users, logarithmic"
    low, high = axis["scale"]["domain"]
    assert 0 < low < 1 and high > 31
    # On a logarithmic axis, a straight line is drawn as a curve of 41 points. On a linear axis, two points suffice.
    assert panel.line_loads([1.0, 30.0]) == [0.0, 30.0]
    curve = panel.line_loads(loads)
    assert (len(curve), curve[0], curve[-1]) == (41, 1.0, pytest.approx(31.0))
    assert "log" not in panel.load_axis("users", [0.0, 100.0])["scale"].values()


def test_the_middle_of_a_colour_scale_is_between_its_ends() -> None:
    assert matrix._middle([1.0, 9.0, 2.0], logarithmic=True) == pytest.approx(3.0)
    assert matrix._middle([1.0, 9.0, 2.0], logarithmic=False) == pytest.approx(5.0)
    assert matrix._middle([], logarithmic=True) == 0.0


def test_seconds_of_a_drive_are_rates_of_their_lengths() -> None:
    rows = [(1.0, 5), (2.0, 8), (2.0, 9), (2.5, 3)]
    document = {"intervals": [{"t_s": at, "requests": number, "p95_ms": 2.0} for at, number in rows]}
    assert [(row.t_s, row.per_s) for row in drive_seconds.compute(document)] == [
        (1.0, 5.0),
        (2.0, 8.0),
        (2.5, 6.0),
    ]
    assert drive_seconds.compute({}) == []


def timed(number: int, stages: list[dict[str, Any]], **more: Any) -> every_run.TimedRun:
    timeline = {
        "t_s": [float(second) + 0.5 for second in range(number)],
        "throughput_per_s": [float(second) for second in range(number)],
        "response_mean_s": [None] * number,
        "errors_per_s": [0.0] * number,
        "stages": stages,
        **more,
    }
    run = RunResult("r001", {}, {"timeline": timeline})
    results: Any = SimpleNamespace(label=lambda _run: "a", load_factor="users")
    return every_run._timed(results, run)


def test_a_run_ends_where_its_ramp_down_begins() -> None:
    stages = [{"phase": "steady", "end_s": 8.0}, {"phase": "ramp_down", "end_s": 12.0}]
    found = timed(12, stages)
    assert (found.end_s, found.times, found.rates) == (
        8.0,
        [second + 0.5 for second in range(8)],
        [float(second) for second in range(8)],
    )
    assert timed(12, stages[1:]).end_s == 12.0
    assert timed(12, []).end_s == 11.5


def test_a_long_run_has_means_of_equal_groups_of_seconds() -> None:
    most = every_run.POINTS_AT_MOST
    errors = [0.0] * (3 * most - 1) + [1.0]
    found = timed(3 * most, [{"phase": "steady", "end_s": 3.0 * most}], errors_per_s=errors)
    assert len(found.times) == len(found.rates) == most
    assert (found.times[0], found.rates[0], found.rates[-1]) == (1.5, 1.0, 3 * most - 2)
    assert found.responses == [None] * most
    assert found.failed == [False] * (most - 1) + [True]
    assert len(timed(most, [{"phase": "steady", "end_s": float(most)}]).times) == most
    assert len(timed(most + 1, [{"phase": "steady", "end_s": most + 1.0}]).times) == (most + 2) // 2


def test_means_leave_out_missing_values() -> None:
    assert every_run._means([1.0, None, 4.0, 8.0, None], 2, 5) == [1.0, 6.0, None]
    assert every_run._means(None, 2, 3) == [None, None]


def test_failures_are_rates_and_the_most_frequent_kind_comes_first() -> None:
    """Failures are shown as rates. The last interval lasts only 0.01 s, while the load ends, so it has no rate."""
    lengths = np.array([1.0, 0.5, 0.01])
    measurement: Any = SimpleNamespace(
        stages=[RecordedStage(name="steady"), RecordedStage(name=DRAIN_STAGE)],
        stage=np.array([0, 0, 1]),
        lengths=lengths,
        lengths_of_rates=lengths,
    )
    counts = {"timeout": np.array([1.0, 0, 0]), "status": np.array([2.0, 2, 1]), "none": np.zeros(3)}
    assert _rates(measurement, counts) == {"status": [2.0, 4.0, None], "timeout": [1.0, 0.0, None]}


@pytest.mark.parametrize(
    ("band", "value", "low", "high", "verdict"),
    [
        ((1.0, 2.0), 1.5, None, None, "inside"),
        ((1.0, 2.0), 1.0, None, None, "inside"),
        ((1.0, 2.0), 0.99, None, None, "below"),
        ((1.0, 2.0), 0.9, 0.8, 1.0, "inside"),
        ((1.0, 2.0), 0.9, 0.8, 0.99, "below"),
        ((1.0, 2.0), 2.0, None, None, "inside"),
        ((1.0, 2.0), 2.1, 2.0, 2.2, "inside"),
        ((1.0, 2.0), 2.2, 2.1, 2.3, "above"),
        ((None, 2.0), 0.1, None, None, "inside"),
        ((1.0, None), 9.0, None, None, "inside"),
    ],
)
def test_a_measurement_is_outside_of_a_band_with_its_whole_interval(
    band: tuple[float | None, float | None], value: float, low: float | None, high: float | None, verdict: str
) -> None:
    measured: Any = {"value": value, "low": low, "high": high}
    assert prediction.verdict(PredictedBand(median=1.5, band_95=band), measured) == verdict


def test_the_longest_window_is_that_of_a_run_with_both_edges() -> None:
    edges = [(5.0, 25.0), (10.0, 20.0), (0.0, None), (None, None)]
    measured = [SimpleNamespace(summary={"window": {"start_s": low, "end_s": high}}) for low, high in edges]
    assert tables._longest_window_s(SimpleNamespace(measured=measured)) == 20.0  # type: ignore[arg-type]
    assert tables._longest_window_s(SimpleNamespace(measured=[])) == 0.0  # type: ignore[arg-type]


def test_transactions_whose_shares_differ_most_are_named() -> None:
    asked = {"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}
    seen = {"a": 0.45, "b": 0.3, "c": 0.2, "d": 0.05}
    test = AuditTest("mix", None, None, "chi-square", 1.0, 3, 0.5, 100, asked, seen, "ok")
    assert audit._parts(test)[:1] == ["b"]
    assert audit._parts(replace(test, asked={"a": 0.5, "b": 0.5}, seen={"a": 0.6})) == ["b", "a"]


@pytest.mark.parametrize(
    ("objective", "drawn"),
    [
        ({"metric": "p95_s", "value": 1.0}, True),
        ({"metric": "p95_s", "value": 0.0}, False),
        ({"metric": "errors", "value": 0.01}, False),
        ({"metric": "p95_s", "value": 1.0, "users": 10}, False),
        ({"metric": "response_time.mean", "value": 1.0}, True),
    ],
)
def test_an_objective_of_all_loads_is_drawn(objective: dict[str, Any], drawn: bool) -> None:
    assert answer.is_drawn(Objective.read(objective)) is drawn


@pytest.mark.parametrize(
    ("knee", "drawn"), [((15.0, 10.0, 20.0), True), ((15.0, 10.0, 20.1), False), ((15.0, 0.0, 20.0), False)]
)
def test_a_knee_is_drawn_within_the_measured_loads(knee: tuple[float, ...], drawn: bool) -> None:
    ends = dict(zip(("value", "low", "high"), knee, strict=True))
    limit = {"kind": "cpu", "reached": True, "knee_users": ends}
    results = Results("a", {}, {"configurations": [{"label": "a", "limit": limit}]})
    rates: Any = SimpleNamespace(points=[point(20.0, 5.0)])
    assert [knee.load for knee in answer._knees(results, rates)] == [15.0] * drawn
    results = Results("a", {}, {"configurations": [{"label": "a", "limit": {**limit, "reached": False}}]})
    assert answer._knees(results, rates) == []


def test_the_rest_of_a_tier_is_what_its_parts_do_not_use() -> None:
    def used(value: float) -> dict[str, Any]:
        return {"cpus_used": {"value": value}}

    tier = TierAtLoad.model_validate({**used(3.0), "parts": {"java": used(1.5), "nginx": used(0.5)}})
    found = [(each.part, each.cpus) for each in cpu_by_tier._tier("a", 10, "valid", "web", tier)]
    assert found == [("web: java", 1.5), ("web: nginx", 0.5), ("web: rest", 1.0)]
    whole = TierAtLoad.model_validate(used(3.0))
    assert [each.part for each in cpu_by_tier._tier("a", 10, "valid", "web", whole)] == ["web"]


@pytest.mark.parametrize(
    ("rate", "rate_band", "time", "time_band", "drawn"),
    [
        (10.0, (9.0, 11.0), 0.2, (0.1, 0.3), [(10.0, 9.0, 11.0), (0.2, 0.1, 0.3)]),
        (10.0, (0.0, 11.0), 0.2, (0.0, 0.3), [(10.0, 0.0, 11.0), (0.2, None, None)]),
        (10.0, (None, None), 0.0, (0.0, 0.3), [(10.0, None, None)]),
        (0.0, (0.0, 1.0), None, (None, None), []),
    ],
)
def test_a_band_down_to_zero_is_not_drawn_on_a_logarithmic_axis(
    rate: float, rate_band: Any, time: float | None, time_band: Any, drawn: list[tuple[Any, ...]]
) -> None:
    row = HeldOutLevel(
        load=20.0,
        predicted_throughput=rate,
        throughput_band_95=rate_band,
        predicted_response_s=time,
        response_band_95=time_band,
    )
    found = capacity_curve._predicted("a", row)
    assert [(each.value, each.low, each.high) for each in found] == drawn
