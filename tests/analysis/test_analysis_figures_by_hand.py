from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestIndPower

from towtank.analysis.checks import course
from towtank.analysis.comparing.lines import line_of
from towtank.analysis.comparing.power import Family
from towtank.analysis.comparing.runs import ComparedRun, Measured, Metric, Place
from towtank.analysis.diagnosis.signs import _is_full, _is_saturated
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.elasticity import elasticity_of_groups
from towtank.analysis.factorial import FactorLevels, _effect
from towtank.analysis.generator import _long_stalls, _stalls
from towtank.analysis.history import History, Key, Point, Series
from towtank.analysis.ideal import _think_time
from towtank.analysis.judgement.omission import omission_of
from towtank.analysis.recovery import StudyEvent, study_events
from towtank.analysis.statistics.change_points import ChangePoint
from towtank.analysis.statistics.effects import Effect
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.permuted import _statistics, permuted_steps
from towtank.analysis.statistics.ranks import design_effect
from towtank.analysis.system import hosts
from towtank.analysis.system.entries import MachineUse
from towtank.analysis.user_groups import UserGroup
from towtank.foreign import Requests
from towtank.results import Stalled


def users(pace_s: float | None, response_s: float, cycle_s: float, number: float = 20.0) -> UserGroup:
    return UserGroup(("a",), number, number / cycle_s, response_s, pace_s, pace_is_fixed=False)


def test_the_throughput_of_a_single_group_falls_by_no_more_than_the_speed() -> None:
    """The elasticity of throughput is at most 1 for a single group of users, but not for several groups.

    The cycle is 2 s, the pace 1.8 s, and the response time 1.9 s. So the fraction of the cycle that grows with the
    response time is between (2 - 1.8) / 2 = 0.1 and 1.9 / 2 = 0.95. At a station with a utilization of 1, the response
    time has the elasticity 1 / 0.1 = 10, and throughput has at most 10 x 0.95 = 9.5.
    """
    alone, two = (elasticity_of_groups(1.0, [users(1.8, 1.9, 2.0)] * number) for number in (1, 2))
    assert (alone.response_time, alone.throughput) == (pytest.approx(10.0), 1.0)
    assert (two.response_time, two.throughput) == (pytest.approx(10.0), pytest.approx(9.5))


def test_equal_groups_have_the_elasticities_of_one_group() -> None:
    """Half of each cycle is response time, and the utilization of the station is 80 %. So the elasticity of the
    response time is 1 / (1 - 0.8 + 0.8 / 2) = 1 / 0.6, and that of the throughput is half of this.
    """
    found = elasticity_of_groups(0.8, [users(None, 1.0, 2.0), users(None, 1.0, 2.0)])
    assert (found.response_time, found.throughput) == (pytest.approx(1 / 0.6), pytest.approx(0.5 / 0.6))


def test_a_mix_that_moves_to_longer_responses_adds_to_their_elasticity() -> None:
    """The first group has 20 users with a cycle of 1 s, the second 20 users with a cycle of 4 s. So 20 /s and 5 /s
    complete. The fraction w of a cycle in the system is 0.1 and 0.75.

    The demands of the groups may differ by a factor of 12, so the mean of w by utilization is at least (12 x 20 x 0.1 +
    5 x 0.75) / (12 x 20 + 5) = 27.75 / 245. At a utilization of 0.5, this gives the elasticity `common` for each group.
    By throughput, the mean of w is (20 x 0.1 + 5 x 0.75) / 25 = 0.23. By time in the system, it is larger: (2 x 0.1 +
    15 x 0.75) / 17 = 0.67. So the mix moves to the short responses of the first group, and nothing is added.
    """
    groups = [users(None, 0.1, 1.0), users(None, 3.0, 4.0)]
    found = elasticity_of_groups(0.5, groups)
    common = 1 / (0.5 + 0.5 * 27.75 / 245)
    assert found.response_time == pytest.approx(common)
    assert found.throughput == pytest.approx(0.23 * common)
    # Now 2 users spend 0.9 of a cycle of 0.1 s in the system, and 40 users 0.1 of a cycle of 20 s. So 20 /s and 2 /s
    # complete, and 1.8 and 4 users are in the system. The mean of w is 18.2 / 22 by throughput, and smaller by time in
    # the system. So the mix moves to the long responses of the second group, and the difference is added.
    longer = elasticity_of_groups(0.5, [users(None, 0.09, 0.1, 2.0), users(None, 2.0, 20.0, 40.0)])
    common = 1 / (0.5 + 0.5 * (12 * 2 * 0.1 + 20 * 0.9) / (12 * 2 + 20))
    assert longer.response_time == pytest.approx(common * (1 + 18.2 / 22 - (1.8 * 0.9 + 4 * 0.1) / 5.8))


def runs_of(cells: dict[str, float]) -> list[ComparedRun]:
    return [
        ComparedRun(cell, cell, "valid", {Place(Metric.MEAN): Measured(value, None)}, {})
        for cell, value in cells.items()
    ]


A = {"10 users": 10.0, "20 users": 12.0, "30 users": 20.0}
B = {"10 users": 12.0, "20 users": 13.0, "30 users": 27.0}


def test_single_runs_at_three_loads_vary_from_load_to_load() -> None:
    line = line_of(Place(Metric.MEAN), runs_of(A), runs_of(B))
    assert line is not None
    logs = [math.log(B[cell] / A[cell]) for cell in A]
    assert line.ratio == pytest.approx(math.exp(np.mean(logs)))
    expected = scipy.stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)
    assert line.interval(0.95) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert line.runs == (3, 3)
    assert [part.is_tested for part in line.cells] == [False] * 3


def test_single_runs_at_two_loads_have_no_interval() -> None:
    two = [{cell: values[cell] for cell in list(A)[:2]} for values in (A, B)]
    line = line_of(Place(Metric.MEAN), *map(runs_of, two))
    assert line is not None
    assert line.interval(0.95) is None


def test_a_cell_with_more_runs_weighs_more() -> None:
    """The first cell (load) has two runs on each side, and so the weight 1 / (1/2 + 1/2) = 1. The second cell has four
    runs on each side and the weight 2. The ratios of the cells are 2 and 1, so their weighted geometric mean is
    2^(1/3).
    """
    sides = [
        [run for _ in range(2) for run in runs_of({"x": first})]
        + [run for _ in range(4) for run in runs_of({"y": second})]
        for first, second in ((1.0, 1.0), (2.0, 1.0))
    ]
    line = line_of(Place(Metric.MEAN), *sides)
    assert line is not None
    assert line.ratio == pytest.approx(2 ** (1 / 3))


def stalled(seconds: dict[int, float], longest: float) -> Any:
    """Return ten seconds of a load thread.

    `seconds` maps a second to the time for which the thread was stalled. The gap `longest` ends in the last of these
    seconds.
    """
    inside, gaps = np.zeros(10), np.zeros(10)
    for second, time_s in seconds.items():
        inside[second] = time_s
    gaps[max(seconds)] = longest
    starts = np.arange(10.0)
    return SimpleNamespace(stalled_s=inside, longest_gap_s=gaps, starts=starts, ends=starts + 1.0)


def with_stalls(found: Any) -> Any:
    """Add the seconds with a stall to a measurement, from its arrays."""
    columns = zip(found.starts, found.ends, found.stalled_s, found.longest_gap_s, strict=True)
    found.stalls = [(number, Stalled(*map(float, second))) for number, second in enumerate(columns) if second[2] > 0]
    return found


@pytest.mark.parametrize(
    ("seconds", "longest", "found"),
    [
        ({2: 0.3, 3: 1.0, 4: 0.6}, 1.9, [(2.7, 4.6)]),
        ({2: 0.3, 3: 0.7}, 1.0, [(2.7, 3.7)]),
        ({2: 0.3, 3: 0.6}, 0.9, []),
        ({5: 1.0}, 1.0, [(5.0, 6.0)]),
    ],
)
def test_a_stall_of_a_second_has_a_start_and_an_end(
    seconds: dict[int, float], longest: float, found: list[tuple[float, float]]
) -> None:
    stalls = [(each.start_s, each.end_s) for each in _long_stalls(with_stalls(stalled(seconds, longest)))]
    assert stalls == [pytest.approx(each) for each in found]


def test_stalls_with_a_free_second_between_them_are_two() -> None:
    two = stalled({1: 0.5, 2: 0.9, 4: 0.4, 5: 0.8}, 1.2)
    two.longest_gap_s[2] = 1.4
    assert [(each.start_s, each.end_s) for each in _long_stalls(with_stalls(two))] == [
        pytest.approx((1.5, 2.9)),
        pytest.approx((4.6, 5.8)),
    ]


def test_the_window_has_its_longest_gap_and_the_sum_of_its_stalls() -> None:
    whole = stalled({2: 0.3, 3: 1.0, 4: 0.6}, 1.9)
    whole.longest_gap_s[3] = np.nan
    chosen = np.arange(10) >= 3
    found = _stalls(whole, chosen)
    assert found == (1.9, pytest.approx(1.6))
    whole.longest_gap_s[:] = np.nan
    assert _stalls(whole, chosen)[0] is None


def test_a_machine_of_its_own_is_used_in_proportion_to_its_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    tiers = {"web": {"host": "far"}, "db": {"host": "near"}, "cache": {"host": "far"}}
    observed: Any = SimpleNamespace(remote={"far": None}, tiers=tiers)
    for used, cpus, share in ((3.0, 4, 0.75), (0.0, 4, 0.0), (None, 4, None), (3.0, None, None)):
        whole = MachineUse(cpus, Estimate(used))
        monkeypatch.setattr(hosts, "host", lambda *_, whole=whole: whole)
        found = hosts._machine_of_its_own(observed, "far", SimpleNamespace(), np.ones(1, dtype=bool))  # type: ignore[arg-type]
        assert (found.utilization, found.cpus_allotted, found.tiers) == (share, cpus, ("web", "cache"))


def observed_tier(*samples: tuple[float, dict[str, Any]], ended_at: float | None = None) -> Any:
    where = SimpleNamespace(
        samples=SimpleNamespace(times_s=[at for at, _ in samples]),
        probe=SimpleNamespace(samples=[{"groups": {"web": group}} for _, group in samples]),
    )
    planned = [] if ended_at is None else [StudyEvent("kill", "kill", "web", ended_at, processes=("web",))]
    observed = SimpleNamespace(tiers={"web": {}}, where=lambda _: where)
    return SimpleNamespace(run_end_s=30.0, observed=observed, study_events=planned)


ALIVE, DEAD = {"alive": True, "root_start_ticks": 7}, {"alive": False}


@pytest.mark.parametrize(
    ("samples", "ended_at", "kinds"),
    [
        ([(0.0, ALIVE), (10.0, ALIVE)], None, []),
        ([(10.0, ALIVE), (30.0, DEAD)], None, [DoubtKind.SERVICE_DIED]),
        ([(10.0, ALIVE), (30.1, DEAD)], None, []),
        ([(-0.1, DEAD), (10.0, ALIVE)], None, []),
        ([(0.0, DEAD), (10.0, ALIVE)], None, [DoubtKind.SERVICE_DIED]),
        ([(10.0, ALIVE), (20.0, DEAD)], 15.0, []),
        ([(10.0, ALIVE), (15.0, DEAD)], 15.0, [DoubtKind.SERVICE_DIED]),
        ([(10.0, ALIVE), (20.0, DEAD | {"processes_alive": 2})], None, [DoubtKind.ROOT_LEFT]),
        ([(10.0, ALIVE), (20.0, ALIVE | {"root_start_ticks": 9})], None, [DoubtKind.SERVICE_RESTARTED]),
        ([(10.0, ALIVE), (20.0, DEAD | {"root_start_ticks": 9})], None, [DoubtKind.SERVICE_DIED]),
    ],
)
def test_a_tier_must_be_alive_until_the_run_or_an_event_ends_it(
    samples: list[tuple[float, dict[str, Any]]], ended_at: float | None, kinds: list[DoubtKind]
) -> None:
    found = list(course.services_seen(observed_tier(*samples, ended_at=ended_at)))
    assert [doubt.kind for doubt in found] == kinds
    if kinds == [DoubtKind.SERVICE_DIED]:
        dead = next(at for at, group in samples if not group["alive"] and at >= 0)
        assert found[0].seen == dead


def test_the_three_most_frequent_kinds_of_failure_are_named() -> None:
    counts = {"timeout": 3, "status": 1_200, "refused": 40, "reset": 2}
    assert course._kinds(counts) == "1,200 status, 40 refused, 3 timeout"


@pytest.mark.parametrize(
    ("low", "high", "differs"),
    [
        (1.0, 3.0, True),
        (0.0, 4.0, False),
        (-3.0, 0.0, False),
        (-3.0, -1.0, True),
        (-1.0, 5.0, False),
        (None, None, None),
    ],
)
def test_an_effect_differs_if_its_interval_excludes_zero(
    low: float | None, high: float | None, differs: bool | None
) -> None:
    middle = 2.0 if low is None or high is None else (low + high) / 2
    effect = Effect((1,), Estimate(middle, low, high, "t", 4), 1.0, 0.5)
    found = _effect(effect, [FactorLevels(name, ("small", "large")) for name in ("cache", "memory")])
    assert (tuple(found.factors), found.differs, found.change.value) == (("memory",), differs, 2 * middle)


def test_what_an_event_left_free_is_kept() -> None:
    moments = [("event_begins", 5), ("event_filled", 6), ("event_ends", 9)]
    recorded: list[dict[str, Any]] = [
        {"k": kind, "t_ns": round(at * 1e9) + 1, "event": "fill", "do": "fill_disk", "on": "db"} for kind, at in moments
    ]
    recorded[1] |= {"free_bytes": 4096, "seen_by": "df"}
    (found,) = study_events(recorded, 1)
    assert (found.begin_s, found.end_s, found.left) == (5.0, 9.0, {"free_bytes": 4096})


def test_the_statistic_of_a_position_is_the_standardised_difference_of_the_means() -> None:
    """The statistic is the difference of the means before and after a position, times sqrt(n1 n2 / (n1 + n2)).

    After three of the values 0, 0, 0, 1, 1, 1, 1, 1, the means differ by 1, and the factor is sqrt(3 x 5 / 8). After
    four values, the means are 1/4 and 1, and the factor is sqrt(2). After five values, the means are 2/5 and 1.
    """
    found = _statistics(np.array([[0.0, 0, 0, 1, 1, 1, 1, 1]]))
    assert found[0] == pytest.approx([math.sqrt(15 / 8), 0.75 * math.sqrt(2), 0.6 * math.sqrt(15 / 8)])


def test_a_step_is_as_likely_as_its_order_among_all_orders() -> None:
    """Six values of 0 and six of 1 have 924 orders.

    In two of these, equal values are together, so the step has the p-value 2 / 924 = 0.0022.
    """
    series = np.repeat([0.0, 1.0], 6)
    (step,) = permuted_steps(series)
    assert (step.index, step.before, step.after) == (6, 0.0, 1.0)
    assert step.p_value == pytest.approx(2 / 924, abs=0.002)
    assert permuted_steps(series, level=step.p_value) == [step]
    assert permuted_steps(series, level=0.99 * step.p_value) == []


def test_parts_between_steps_have_means_of_their_own() -> None:
    wave = np.tile([-0.1, 0.1], 7)
    steps = permuted_steps(np.concatenate([10 + wave, 20 + wave, 15 + wave]))
    assert [(step.index, step.before, step.after) for step in steps] == [
        (14, pytest.approx(10.0), pytest.approx(20.0)),
        (28, pytest.approx(20.0), pytest.approx(15.0)),
    ]


def test_short_and_equal_series_have_no_step() -> None:
    assert permuted_steps(np.repeat([0.0, 1.0], [4, 5])) == []
    assert len(permuted_steps(np.repeat([0.0, 1.0], 5))) == 1
    assert permuted_steps(np.full(12, 5.0)) == []
    assert permuted_steps(np.array([0.0] * 10 + [9.0, 9.0])) == [], "two values at the end are too few for a step"


def series_of(*values: float) -> Series:
    started = datetime(2026, 1, 1, tzinfo=UTC)
    points = [Point(started + timedelta(days=day), f"r{day}", value, 3) for day, value in enumerate(values)]
    return Series(Key("shop", "10 users", "response_time_mean", "", "cpu"), tuple(points))


def test_a_change_in_a_history_is_a_ratio() -> None:
    found = series_of(*[0.1] * 6, *[0.15] * 6)
    (change,) = found.document()["changes"]  # type: ignore[misc]
    assert (change["folder"], change["before"], change["after"], change["ratio"]) == (
        "r6",
        pytest.approx(0.1),
        pytest.approx(0.15),
        pytest.approx(1.5),
    )
    assert found.steps == [
        ChangePoint(6, pytest.approx(math.log(0.1)), pytest.approx(math.log(0.15)), found.steps[0].p_value)
    ]


def test_a_history_searches_series_of_ten_and_expects_one_change_in_a_hundred() -> None:
    series = [series_of(*[0.1] * number) for number in (9, 10, 12)]
    assert [each.is_searched for each in series] == [False, True, True]
    found = History(tuple(series), 12, ())
    assert (found.searched, found.expected_by_chance) == (2, pytest.approx(0.02))


def test_neighbours_that_resemble_each_other_count_from_twenty_results() -> None:
    wave = [1 + 0.1 * math.sin(2 * math.pi * place / 20) for place in range(20)]
    assert series_of(*wave).is_correlated
    assert not series_of(*wave[:19]).is_correlated
    assert not series_of(*[1 + 0.1 * (-1) ** place for place in range(20)]).is_correlated


@pytest.mark.parametrize(
    ("gap_s", "in_progress_s", "missing"),
    [(5.0, 5.0, 0), (6.0, 6.0, 5), (6.0, 4.7, 0), (6.0, 4.9, 5), (20.0, 20.0, 19)],
)
def test_a_stop_is_longer_than_five_gaps_and_waits_for_a_response(
    gap_s: float, in_progress_s: float, missing: int
) -> None:
    """Requests begin one second apart, except for a gap of `gap_s` before one of them. The request before this gap
    takes `in_progress_s`. `missing` is the number of requests that were due in the gap and are counted as missing.
    """
    starts = np.arange(200.0)
    starts[100:] += gap_s - 1.0
    elapsed = np.full(200, 0.01)
    elapsed[99] = in_progress_s
    found = omission_of(Requests(starts, elapsed, np.ones(200, bool), np.zeros(200, np.int64), ("",)))
    assert (0 if found is None else found.missing) == missing
    if found is not None:
        assert (found.stops, found.longest_s, found.share) == (1, gap_s, pytest.approx(missing / (missing + 200)))


@pytest.mark.parametrize("size", [0.5, 1.0, 1.5, 3.0])
def test_the_runs_that_detect_a_change_are_those_of_the_t_test(size: float) -> None:
    """statsmodels computes the power of a t test with the same standard deviation on both sides."""
    needed = TTestIndPower().solve_power(effect_size=size, alpha=0.025, power=0.8, alternative="larger")
    family = Family((), 1, 0.02)
    finds = [family._finds(runs, size, 0) for runs in range(2, 100)]
    assert finds.index(True) + 2 == max(2, math.ceil(needed))
    assert finds == sorted(finds)
    # With ten tests, a p-value is significant only if it is at most a tenth of the usual level.
    needed = TTestIndPower().solve_power(effect_size=size, alpha=0.0025, power=0.8, alternative="larger")
    tenfold = [Family((), 10, 0.02)._finds(runs, size, 0) for runs in range(2, 200)]
    assert tenfold.index(True) + 2 == max(2, math.ceil(needed))


@pytest.mark.parametrize(
    ("levels", "mean"),
    [
        ([(2.0, 15.0), (2.0, 15.0)], 2.0),
        ([(2.0, 15.0), (2.0, 14.9)], None),
        ([(2.0, 15.0), None], None),
        ([(2.0, 300.0), (1.8, 100.0)], 1.95),
        ([(2.0, 3e6), (1.8, 1e6)], None),
        ([(2.0, 3e6), (1.97, 1e6)], 1.9925),
    ],
)
def test_a_think_time_is_that_of_all_levels_if_they_are_enough_and_agree(
    levels: list[tuple[float, float] | None], mean: float | None
) -> None:
    points: Any = [SimpleNamespace(thinks=lambda level=level: level) for level in levels]
    found = _think_time(points, 0.05)
    assert (None if found is None else found.mean_s) == (None if mean is None else pytest.approx(mean))


def test_the_design_effect_is_near_one_for_independent_values_and_twice_that_for_pairs() -> None:
    """Each of six records has 200 intervals with 100 independent values. If each value occurs twice, the design effect
    is twice as large.
    """
    effects = []
    for seed in range(6):
        below = np.random.default_rng(seed).binomial(100, 0.9, 200).astype(float)
        counts = np.full(200, 100.0)
        single, pairs = (design_effect(times * below, times * counts, 0.9)[0] for times in (1, 2))
        assert single == 1.0 or pairs == pytest.approx(2 * single)
        effects.append(single)
    assert min(effects) >= 1.0
    # With 30 to 200 degrees of freedom, Student's t enlarges the effect by a few percent.
    assert np.mean(effects) < 1.6


@pytest.mark.parametrize(
    ("used", "cpus", "full"), [(3.8, 4, True), (3.79, 4, False), (None, 4, False), (3.8, None, False), (0.0, 0, False)]
)
def test_a_machine_is_full_at_95_percent(used: float | None, cpus: float | None, full: bool) -> None:
    seen: Any = SimpleNamespace(machine_used=used, machine_cpus=cpus)
    assert _is_full(seen) is full


@pytest.mark.parametrize(
    ("group", "used", "cpus", "saturated"),
    [
        (None, 1.8, 2, True),
        (None, 1.79, 2, False),
        ("/web", 1.9, 2, False),
        (None, None, 2, False),
        (None, 1.8, None, False),
    ],
)
def test_a_tier_without_a_quota_is_saturated_at_90_percent(
    group: str | None, used: float | None, cpus: float | None, saturated: bool
) -> None:
    tier: Any = SimpleNamespace(group=group, cpus_used=used, cpus_allotted=cpus)
    assert _is_saturated(tier) is saturated
