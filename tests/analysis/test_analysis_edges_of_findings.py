from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis import capacity
from towtank.analysis.claims.judging import _mean
from towtank.analysis.claims.over_levels import Step, _above, _together
from towtank.analysis.claims.places import Places, UntestableError, in_run
from towtank.analysis.comparing.failing import RELEVANT, FailureLine
from towtank.analysis.comparing.findings import Outcome, _at_load, _failing, _is_within, _worst
from towtank.analysis.comparing.findings import _together as together
from towtank.analysis.comparing.runs import Metric, Place
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.factors import Factor
from towtank.analysis.judgement import doubting
from towtank.analysis.limits.search import PLATEAUS_AT_MOST, PlateauFailure, PlateauOutcome, _stop
from towtank.analysis.run_summary import RunSummary, Users
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.study_verdict import _worse
from towtank.analysis.system.entries import TierUse
from towtank.analysis.system.rates import EDGE_S, Track
from towtank.analysis.user_groups import _Group, _users
from towtank.foreign import Requests

NOTE, SUSPECT, INVALID = DoubtLevel.NOTE, DoubtLevel.SUSPECT, DoubtLevel.INVALID


def line(ratio: float, half: float, metric: Metric = Metric.MEAN, step: float = 0.0) -> Any:
    """Return the comparison of a metric. The interval of the ratio is from `ratio / half` to `ratio * half`."""
    return SimpleNamespace(
        cell="a",
        ratio=ratio,
        difference=math.log(ratio),
        place=Place(metric),
        step=step,
        interval=lambda _confidence: (ratio / half, ratio * half),
    )


@pytest.mark.parametrize(
    ("found", "chance", "outcome"),
    [
        (line(1.05, 1.01), 0.04, Outcome.WORSE),
        (line(1.0501, 1.01, Metric.THROUGHPUT), 0.04, Outcome.BETTER),
        (line(1 / 1.051, 1.01), 0.04, Outcome.BETTER),
        (line(1 / 1.051, 1.01, Metric.THROUGHPUT), 0.04, Outcome.WORSE),
        (line(1.049, 1.04), 0.04, Outcome.UNDECIDED),
        (line(1.10, 1.10), 0.04, Outcome.UNDECIDED),
        (line(1.10, 1.01), 0.05, Outcome.UNDECIDED),
        (line(1.0, 1.05), 1.0, Outcome.SAME),
        (line(1.0, 1.051), 1.0, Outcome.UNDECIDED),
        (line(1.02, 1.01), 0.001, Outcome.SAME),
        (line(1.0, 1.01, step=0.05), 1.0, Outcome.SAME),
        (line(1.0, 1.01, step=0.051), 1.0, Outcome.UNDECIDED),
    ],
)
def test_a_change_counts_beyond_chance_and_from_its_threshold_on(found: Any, chance: float, outcome: Outcome) -> None:
    assert _at_load(found, {"a": chance}, 0.05).verdict is outcome


@pytest.mark.parametrize(
    ("bounds", "within"),
    [((1 / 1.05, 1.05), True), ((0.952, 1.0), False), ((1.0, 1.051), False), ((0.99, 1.01), True), (None, False)],
)
def test_a_change_is_small_if_its_whole_interval_is(bounds: tuple[float, float] | None, within: bool) -> None:
    assert _is_within(bounds, 0.05) is within


def failing(a: float, b: float, low: float | None, high: float | None) -> FailureLine:
    return FailureLine("", a, b, 1.0, low, high, (3, 3), cell="a")


@pytest.mark.parametrize(
    ("found", "chance", "outcome"),
    [
        (failing(0.0, 0.0010, None, None), 0.01, Outcome.WORSE),
        (failing(0.0, 0.0009, None, None), 0.01, Outcome.UNDECIDED),
        (failing(0.0, 0.0010, None, None), 0.05, Outcome.UNDECIDED),
        (failing(0.002, 0.0, None, None), 0.01, Outcome.BETTER),
        (failing(0.10, 0.105, None, None), 0.01, Outcome.WORSE),
        (failing(0.10, 0.1049, None, None), 0.01, Outcome.UNDECIDED),
        (failing(0.0, 0.0, -0.0009, 0.0009), 1.0, Outcome.SAME),
        (failing(0.0, 0.0, -RELEVANT, 0.0009), 1.0, Outcome.UNDECIDED),
        (failing(0.0, 0.0, -0.0009, RELEVANT), 1.0, Outcome.UNDECIDED),
        (failing(0.0, 0.0, None, 0.0), 1.0, Outcome.UNDECIDED),
    ],
)
def test_failures_count_from_a_thousandth_on(found: FailureLine, chance: float, outcome: Outcome) -> None:
    assert _failing(found, {"a": chance}, 0.05 - 1e-12).verdict is outcome


def at_load(outcome: Outcome) -> Any:
    return SimpleNamespace(verdict=outcome)


def test_the_worst_load_decides() -> None:
    same, better, worse, open_ = (
        at_load(outcome) for outcome in (Outcome.SAME, Outcome.BETTER, Outcome.WORSE, Outcome.UNDECIDED)
    )
    assert together(Outcome.SAME, [same, worse, better]) is Outcome.WORSE
    assert together(Outcome.BETTER, [same, open_]) is Outcome.BETTER
    assert together(Outcome.SAME, [same, open_]) is Outcome.UNDECIDED
    assert together(Outcome.SAME, [same]) is Outcome.SAME
    assert _worst([same, worse, better], [0.5, 0.1, 0.9]) is worse
    assert _worst([same, better], [0.5, 0.1]) is same
    assert _worst([], []) is None


@pytest.mark.parametrize(
    ("low", "high", "above"),
    [(0.11, 1.0, True), (0.1, 1.0, None), (-1.0, 0.1, None), (-1.0, 0.09, False), (None, 0.0, None), (0.2, None, None)],
)
def test_a_difference_is_above_a_bound_with_its_whole_interval(
    low: float | None, high: float | None, above: bool | None
) -> None:
    assert _above(Estimate(0.0, low, high), 0.1) is above


def test_several_conditions_hold_together_if_all_do() -> None:
    assert _together([True, True]) is True
    assert _together([True, None]) is None
    assert _together([None, False]) is False
    assert _together([]) is True


def test_a_step_that_may_go_back_says_by_how_much() -> None:
    def why(value: float, low: float, high: float) -> str:
        return Step("1 to 2", "fall", Estimate(value, low, high), 0.5).why("users", "")

    assert "may fall by up to 1, 0.5 allowed" in why(0.0, -1.0, 1.0)
    assert "too close to the allowed bound" in why(1.0, 0.0, 2.0)
    assert "falls by" in why(-2.0, -3.0, -1.0)
    assert Step("1 to 2", "fall", Estimate(1.0), 0.5).why("users", "") == ""


PLACES = Factor("users", ("20", "100", "40"), (20.0, 100.0, 40.0))


@pytest.mark.parametrize(
    ("written", "levels"),
    [
        ("first", ["20"]),
        ("last", ["40"]),
        ("lowest", ["20"]),
        ("highest", ["100"]),
        ("all", ["20", "100", "40"]),
        ("40", ["40"]),
        (["last", "20", "first"], ["40", "20"]),
    ],
)
def test_words_for_levels_are_resolved_by_place_or_by_value(written: str | list[str], levels: list[str]) -> None:
    assert Places([PLACES], []).resolved("users", written) == levels


def test_a_quantity_per_load_needs_a_load() -> None:
    run = RunSummary(throughput_per_s=Estimate(20.0), users=Users(50), factors={"users": 50})
    assert in_run(run, "throughput", None).value == 20.0
    assert in_run(run, "throughput", "load").value == pytest.approx(0.4)
    assert in_run(RunSummary(throughput_per_s=Estimate(20.0)), "throughput", "load").value is None


def test_the_mean_of_ratios_is_geometric() -> None:
    assert _mean("ratio", [1.0, 4.0], 0.95).value == pytest.approx(2.0)
    assert _mean("value", [1.0, 4.0], 0.95).value == pytest.approx(2.5)
    for values in ([0.0, 4.0], [-1.0, 4.0]):
        with pytest.raises(UntestableError, match="zero or negative"):
            _mean("ratio", values, 0.95)


def foreign(rows: int, read: int, not_sent: int = 0) -> Any:
    skipped = SimpleNamespace(rows=rows, by_reason={"x": rows}, first_line=3)
    return SimpleNamespace(skipped=skipped, requests=range(read), cut="", not_sent=not_sent)


@pytest.mark.parametrize(
    ("rows", "read", "expected"),
    [(0, 100, []), (1, 99, [NOTE]), (1, 98, [SUSPECT]), (2, 998, [SUSPECT])],
)
def test_rows_that_were_left_out(rows: int, read: int, expected: list[DoubtLevel]) -> None:
    assert [doubt.level for doubt in doubting.of_file(foreign(rows, read))] == expected


def test_the_share_that_was_not_sent_is_that_of_all_planned() -> None:
    (doubt,) = doubting.of_file(foreign(0, 75, not_sent=25))
    assert doubt.seen == 0.25


@pytest.mark.parametrize(
    ("requests", "errors", "doubted"),
    [
        (100, 100, True),
        (100, 101, True),
        (0, 0, True),
        (1000, 10, False),
        (1000, 11, True),
        (None, 5, False),
        (5, None, False),
    ],
)
def test_counts_of_a_file(requests: int | None, errors: int | None, doubted: bool) -> None:
    assert bool(list(doubting.of_counts(requests, errors))) is doubted


@pytest.mark.parametrize(("length_s", "doubted"), [(9.9, True), (10.0, False)])
def test_a_short_window_of_a_file(length_s: float, doubted: bool) -> None:
    window: Any = SimpleNamespace(changes=(), steps=(), left_out=(), length_s=length_s)
    assert bool(list(doubting.of_window(window))) is doubted


def test_a_start_with_shorter_times_is_no_warm_up() -> None:
    def doubted(share: float, metric: str = "response_time", known: tuple[Any, ...] = ()) -> bool:
        change = SimpleNamespace(metric=metric, share=share, tolerance=0.2)
        window: Any = SimpleNamespace(changes=known, left_out=(change,), start_s=5.0)
        return bool(list(doubting._of_rise(window)))

    assert [doubted(share) for share in (0.2, 0.21, -0.5)] == [False, True, False]
    assert not doubted(0.5, "throughput")
    assert not doubted(0.5, known=(SimpleNamespace(metric="response_time"),))


def requests(*elapsed: float) -> Requests:
    count = len(elapsed)
    return Requests(
        np.arange(float(count)), np.array(elapsed), np.ones(count, dtype=bool), np.zeros(count, dtype=int), ("",)
    )


@pytest.mark.parametrize(
    ("step", "median", "expected"),
    [
        (1.0, 10.0, []),
        (1.0, 9.0, [NOTE]),
        (1.0, 2.0, [NOTE]),
        (1.0, 1.5, [SUSPECT]),
        (1.0, 0.0, [SUSPECT]),
        (0.0, 0.0, []),
    ],
)
def test_coarse_times(monkeypatch: pytest.MonkeyPatch, step: float, median: float, expected: list[DoubtLevel]) -> None:
    monkeypatch.setattr(doubting, "resolution_of", lambda _times: step)
    found = requests(median, median, median, median + 5.0, max(0.0, median - 5.0))
    assert [doubt.level for doubt in doubting.of_times(found)] == expected


def test_equal_times_show_no_variation() -> None:
    assert [doubt.level for doubt in doubting.of_times(requests(0.5, 0.5))] == [SUSPECT]
    assert "are equal" not in "".join(doubt.message for doubt in doubting.of_times(requests(0.5)))


@pytest.mark.parametrize(
    ("share", "corrected", "expected"),
    [
        (0.00049, 9.0, []),
        (0.0005, 9.0, [SUSPECT]),
        (0.0099, 9.0, [SUSPECT]),
        (0.01, 2.0, [SUSPECT]),
        (0.01, 2.1, [INVALID]),
    ],
)
def test_requests_that_were_omitted(
    monkeypatch: pytest.MonkeyPatch, share: float, corrected: float, expected: list[DoubtLevel]
) -> None:
    found = SimpleNamespace(share=share, stops=1, longest_s=1.0, missing=1.0, corrected_p99_s=corrected, p99_s=1.0)
    monkeypatch.setattr(doubting, "omission_of", lambda _requests: found)
    assert [doubt.level for doubt in doubting.of_omission(requests(1.0))] == expected


def test_the_doubt_that_is_farther_from_its_limit_is_worse() -> None:
    near, far = {"seen": 1.5, "limit": 1.0}, {"seen": -1.0, "limit": None}
    assert (_worse(far, near), _worse(near, far), _worse(near, near)) == (True, False, False)


def points(demand: tuple[float, float | None, float | None], users: float = 20.0, rate: float = 10.0) -> list[Any]:
    value, low, high = demand
    use = TierUse(cpus_allotted=2, cpu_demand_s=Estimate(value, low, high, "x", 9))
    run = RunSummary(run="r1", tiers={"app": use})
    throughput = Estimate(rate, rate, rate)
    return [SimpleNamespace(kind="users", load=users, throughput=throughput, tiers={"app": {}}, usable=[run])]


def test_the_knee_by_the_demand_of_the_busiest_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    def demand_of(runs: list[Any], *path: str) -> Estimate:
        assert path == ("tiers", "app", "cpu_demand_s")
        demand: Estimate = runs[0].tiers["app"].cpu_demand_s
        return demand

    monkeypatch.setattr(capacity, "over_runs", demand_of)
    # The knee is the cycle of 20 / 10 /s = 2 s divided by the demand of 0.04 s / 2 = 0.02 s per CPU: 100 users. The
    # interval of the demand is 0.016 to 0.025 s per CPU. At a utilization of 0.2, 0.2^2 / 0.8 = 0.05 requests wait.
    found = capacity.knee(points((0.04, 0.032, 0.05)))
    assert (found.value, found.low, found.high) == pytest.approx((100.0, 2.0 / 0.025 - 0.05, 2.0 / 0.016))
    for low, high in ((None, 0.05), (0.03, None), (0.0, 0.05)):
        alone = capacity.knee(points((0.04, low, high)))
        assert (alone.value, alone.low, alone.high) == (pytest.approx(100.0), None, None)
    # At a utilization of 0.8, 3.2 requests wait. This is more than a tenth of a knee at 25 users, but less than a tenth
    # of a knee at 40 users.
    assert capacity.knee(points((0.16, None, None))).value is None
    assert capacity.knee(points((0.16, None, None), users=32.0)).value == pytest.approx(40.0)


@pytest.mark.parametrize(
    ("start", "end", "covered"), [(0.5, 9.5, True), (0.49, 9.5, False), (0.5, 9.51, False), (2.0, 5.0, True)]
)
def test_samples_cover_a_span_up_to_half_a_second(start: float, end: float, covered: bool) -> None:
    assert EDGE_S == 0.5
    assert bool(Track(np.array([1.0, 9.0]), np.array([3.0, 7.0]), 0).covers(start, end)) is covered
    assert not Track(np.array([1.0]), np.array([3.0]), 0).covers(1.0, 1.0)


def test_the_mean_rate_of_a_counter_needs_two_samples() -> None:
    assert Track(np.array([1.0, 9.0]), np.array([3.0, 7.0]), 0).mean_rate() == 0.5
    assert Track(np.array([1.0]), np.array([3.0]), 0).mean_rate() is None


def test_users_are_divided_by_numbers_or_shares() -> None:
    measurement: Any = SimpleNamespace(
        stage=np.array([0, 0, 1, 2]),
        user_s=np.array([10.0, 10.0, 30.0, 5.0]),
        length_of=lambda chosen: float(chosen.sum()),
    )
    plan = {"load": {"stages": [{}, {"users_by_group": [10, 20]}, {"users_by_group": [0, 0]}]}}
    groups, alike = (
        [_Group.read(0, group) for group in each] for each in ([{"share": 0.25}, {"share": 0.75}], [{}] * 2)
    )
    chosen = np.array([True, True, True, False])
    assert _users(plan, groups, measurement, chosen) == pytest.approx([(5 + 10) / 3, (15 + 20) / 3])
    assert _users(plan, groups, measurement, np.array([False, False, False, True])) == [0.0, 0.0]
    assert _users({}, alike, measurement, chosen) == pytest.approx([25 / 3, 25 / 3])


def test_a_search_has_a_largest_number_of_plateaus() -> None:
    passed = PlateauOutcome(10.0, None, None)
    assert _stop([passed] * (PLATEAUS_AT_MOST - 1), 10.0, None) is None
    assert _stop([passed] * PLATEAUS_AT_MOST, 10.0, None) is not None
    assert _stop([], None, None) is None
    assert _stop([PlateauOutcome(10.0, PlateauFailure.GENERATOR_SATURATED, None)], None, None) is not None
    assert _stop([PlateauOutcome(10.0, PlateauFailure.ERRORS, None)], None, 10.0) is None
