from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from compared_runs import NAMES, drawn_side
from statsmodels.stats.multitest import multipletests

from towtank.analysis import Side, compare
from towtank.analysis.comparing.differing import facts_of_study
from towtank.analysis.comparing.failing import failure_line
from towtank.analysis.comparing.family import chances_of, holm
from towtank.analysis.comparing.lines import line_of
from towtank.analysis.comparing.runs import FILES, ComparedRun, Failures, Measured, Metric, Place
from towtank.cli.compare_table import headline
from towtank.errors import StudyError

MEAN = Place(Metric.MEAN)


def side(values: list[float], *, metric: Metric = Metric.MEAN, cell: str = "", error: float | None = None) -> Side:
    runs = [
        ComparedRun(f"r{number}", cell, "valid", {Place(metric): Measured(value, error)}, {})
        for number, value in enumerate(values)
    ]
    return Side("side", tuple(runs))


def joined(*sides: Side) -> Side:
    return Side("side", tuple(run for each in sides for run in each.runs))


def failing(*counts: tuple[int, int]) -> Side:
    runs = [
        ComparedRun(f"r{number}", "", "valid", {}, {"": Failures(failed, ended)})
        for number, (failed, ended) in enumerate(counts)
    ]
    return Side("side", tuple(runs))


A, B = [10.0, 11.0, 10.4], [12.6, 12.0, 12.9, 12.2]


def test_the_interval_is_that_of_welchs_test_of_the_logarithms() -> None:
    line = line_of(MEAN, side(A).runs, side(B).runs)
    assert line is not None
    oracle = scipy.stats.ttest_ind(np.log(B), np.log(A), equal_var=False)
    expected = oracle.confidence_interval(0.95)
    assert line.interval(0.95) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert line.ratio == pytest.approx(scipy.stats.gmean(B) / scipy.stats.gmean(A))
    assert chances_of([line]) == pytest.approx([oracle.pvalue])


def test_errors_within_the_runs_bound_the_interval_from_below() -> None:
    # The two runs of each side have the same value by chance, but the error within each run is 5 %.
    line = line_of(MEAN, side([10.0, 10.0], error=0.05).runs, side([11.0, 11.0], error=0.05).runs)
    assert line is not None
    # The difference of two sides with two runs each has the standard error sqrt(2 x 0.05^2 / 2) = 0.05, and t has two
    # degrees of freedom.
    half = scipy.stats.t.ppf(0.975, 2) * 0.05
    assert line.interval(0.95) == pytest.approx((1.1 * math.exp(-half), 1.1 * math.exp(half)))


def test_cells_are_blocks_so_a_load_that_differs_is_no_scatter() -> None:
    a = joined(side([10.0, 10.1], cell="10 users"), side([100.0, 101.0], cell="60 users"))
    b = joined(side([11.0, 11.1], cell="10 users"), side([110.0, 111.0], cell="60 users"))
    line = line_of(MEAN, a.runs, b.runs)
    assert line is not None
    # Four series of two runs each, with nearly equal variances, have nearly four degrees of freedom together.
    assert line.freedom == pytest.approx(4, abs=0.05)
    low, high = line.interval(0.95)
    assert 1.07 < low < 1.1 < high < 1.13


def test_two_runs_that_agree_by_chance_do_not_lend_their_precision() -> None:
    # The degrees of freedom are (u + v)^2 / (u^2 / 9 + v^2 / 1), with u = (1 / 10)^1.5 for ten runs and v = (1 / 2)^1.5
    # for two runs. Unlike in Welch's formula, the measured variances do not matter.
    u, v = 0.1**1.5, 0.5**1.5
    ten = [math.exp(value) for value in np.random.default_rng(1).normal(0, 0.05, 10)]
    line = line_of(MEAN, side(ten).runs, side([1.1, 1.1001]).runs)
    assert line.freedom == pytest.approx((u + v) ** 2 / (u**2 / 9 + v**2))
    assert scipy.stats.ttest_ind(np.log(ten), np.log([1.1, 1.1001]), equal_var=False).df == pytest.approx(9, abs=0.01)


def test_a_single_run_on_one_side_decides_nothing() -> None:
    found = compare(side([10.0, 10.01, 9.99, 10.005]), side([20.0]))
    assert [(str(each.verdict), each.low) for each in found.findings] == [("undecided", None)]
    assert str(found.verdict) == "undecided"
    assert found.runs_needed is not None


@pytest.mark.parametrize(
    ("runs", "spreads"),
    [
        ((10, 2), ((0.02, 0.10),)),
        ((10, 3), ((0.02, 0.10),)),
        ((5, 2), ((0.02, 0.10),)),
        ((2, 2), ((0.005, 0.005),) * 4 + ((0.3, 0.3),)),
        ((3, 3), ((0.005, 0.005),) * 4 + ((0.3, 0.3),)),
    ],
)
def test_equal_systems_of_unequal_spread_are_seldom_found_to_differ(runs, spreads) -> None:
    # The systems are equal, so at most 5 % of the comparisons should report a difference; 7 % are allowed. A pooled
    # variance would give up to 45 %.
    rng, pairs, alarms = np.random.default_rng(5), 1200 if len(spreads) == 1 else 300, 0
    for _ in range(pairs):
        a, b = (
            joined(
                *(
                    side([math.exp(value) for value in rng.normal(0, spread[number], count)], cell=f"{cell}")
                    for cell, spread in enumerate(spreads)
                )
            )
            for number, count in enumerate(runs)
        )
        alarms += str(compare(a, b).verdict) in ("worse", "better")
    assert alarms / pairs <= 0.07


def test_single_runs_of_three_loads_are_pairs() -> None:
    cells = ("10 users", "20 users", "30 users")
    a = joined(*(side([value], cell=cell) for value, cell in zip((10.0, 20.0, 40.0), cells, strict=True)))
    b = joined(*(side([value], cell=cell) for value, cell in zip((11.0, 22.2, 44.1), cells, strict=True)))
    line = line_of(MEAN, a.runs, b.runs)
    assert line is not None
    oracle = scipy.stats.ttest_rel(np.log([11.0, 22.2, 44.1]), np.log([10.0, 20.0, 40.0])).confidence_interval(0.95)
    assert line.interval(0.95) == pytest.approx((math.exp(oracle.low), math.exp(oracle.high)))


def test_holm_is_that_of_statsmodels() -> None:
    chances = np.random.default_rng(1).uniform(0, 0.2, 20)
    assert holm(list(chances)) == pytest.approx(multipletests(chances, method="holm")[1])


def test_one_run_a_side_is_undecided_and_says_how_many_it_would_take() -> None:
    found = compare(side([10.0]), side([12.0]))
    assert str(found.verdict) == "undecided"
    assert found.findings[0].low is None
    assert found.least_detectable is None
    # The number of runs is the smallest n at which a t test detects a factor of 1.2 with a power of 80 %, if runs vary
    # by 10 %.
    power = [
        scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, 2 * n - 2), 2 * n - 2, math.log(1.2) / 0.1 / math.sqrt(2 / n))
        for n in (found.runs_needed - 1, found.runs_needed)
    ]
    assert power[0] < 0.8 <= power[1]


@pytest.mark.parametrize(
    ("metric", "factor", "verdict"),
    [
        (Metric.MEAN, 1.2, "worse"),
        (Metric.MEAN, 1 / 1.2, "better"),
        (Metric.THROUGHPUT, 1.2, "better"),
        (Metric.THROUGHPUT, 1 / 1.2, "worse"),
        (Metric.CPU, 1.2, "worse"),
        (Metric.MEAN, 1.0, "same"),
        # The change is significant, but smaller than the threshold of 2 %.
        (Metric.MEAN, 1.01, "same"),
    ],
)
def test_verdicts_by_direction_and_threshold(metric: Metric, factor: float, verdict: str) -> None:
    values = [10.0, 10.01, 9.99, 10.005]
    found = compare(side(values, metric=metric), side([factor * value for value in values], metric=metric))
    assert [str(each.verdict) for each in found.findings] == [verdict]
    assert str(found.verdict) == verdict
    assert found.is_worse == (verdict == "worse")


def test_noise_that_hides_the_threshold_is_undecided_not_the_same() -> None:
    found = compare(side([9.0, 10.0, 11.0]), side([9.1, 9.9, 11.1]))
    assert str(found.verdict) == "undecided"
    assert found.runs_needed > 3


def _runs(found):
    return found.a.runs, found.b.runs


def test_a_larger_threshold_makes_a_change_the_same() -> None:
    a, b = side([10.0, 10.01, 9.99]), side([10.4, 10.41, 10.39])
    assert str(compare(a, b).verdict) == "worse"
    assert str(compare(a, b, 0.06).verdict) == "same"


def test_failures_of_none_before_are_worse_without_a_ratio() -> None:
    found = compare(failing((0, 1000), (0, 1000), (0, 1000)), failing((9, 1000), (11, 1000), (10, 1000)))
    (finding,) = found.findings
    assert (str(finding.name), finding.ratio, str(finding.verdict)) == ("errors", None, "worse")
    assert finding.shares == (0.0, 0.01)


def test_a_few_failures_by_chance_are_no_finding() -> None:
    found = compare(failing((0, 1000), (0, 1000), (0, 1000)), failing((1, 1000), (2, 1000), (1, 1000)))
    assert str(found.findings[0].verdict) == "undecided"
    line = failure_line("", *_runs(found))
    # If both sides are equal, all four failures are on the same side with a probability of 2 / 2^4.
    assert line.chance == pytest.approx(0.125)


def test_no_failures_at_all_are_the_same() -> None:
    found = compare(failing((0, 9000), (0, 9000)), failing((0, 9000), (0, 9000)))
    assert str(found.findings[0].verdict) == "same"


def test_equal_systems_are_seldom_found_to_differ_and_a_planted_change_is_found_where_it_is() -> None:
    rng = np.random.default_rng(4)
    alarms = found = only = 0
    for _ in range(20):
        alarms += any(str(each.verdict) in ("worse", "better") for each in compare(*_pair(rng, None)).findings)
        differing = {
            each.transaction
            for each in compare(*_pair(rng, NAMES[2])).findings
            if str(each.verdict) in ("worse", "better")
        }
        found += NAMES[2] in differing
        only += NAMES[2] in differing and differing <= {NAMES[2], None}
    assert alarms <= 2
    assert found >= 18
    assert only >= 17


def _pair(rng: np.random.Generator, planted: str | None) -> tuple[Side, Side]:
    return drawn_side(rng, 3), drawn_side(rng, 3, {} if planted is None else {planted: 1.2})


def test_invalid_runs_are_left_out_and_a_side_without_others_is_invalid() -> None:
    a, b = side(A), side(B)
    bad = replace(b.runs[0], verdict="invalid", reasons=("the generator was at its limit",))
    found = compare(a, Side("b", (*b.runs[1:], bad)))
    assert not found.is_invalid
    assert found.findings[0].runs == (3, 3)
    assert found.doubts == ["r0 is left out, because it is invalid: the generator was at its limit"]
    none = compare(a, Side("b", (bad,)))
    assert none.is_invalid
    assert (none.findings, str(none.verdict)) == ((), "undecided")


def test_sides_without_a_common_load_are_an_error_of_the_input() -> None:
    with pytest.raises(StudyError, match="'30 users' of A and '60 users' of B"):
        compare(side(A, cell="30 users"), side(B, cell="60 users"))
    # A results file of another tool does not state its load, so it can be compared with any load.
    assert compare(side(A, cell="30 users"), side(B, cell=FILES)).findings


def test_facts_that_differ_are_listed_and_those_of_chance_are_not() -> None:
    runs = [
        {"settings": {"db": {"cache": "1 GiB", "pid": number}}, "tiers": {"db": {"level": number}}} for number in (1, 2)
    ]
    manifest = {"host": {"cpus": 2}, "study": {"name": "x", "stages": [{"steady": "30 s"}]}}
    facts = facts_of_study(manifest, runs)
    assert facts == {"host.cpus": "2", "stages[0].steady": "30 s", "settings.db.cache": "1 GiB"}
    other = facts_of_study({**manifest, "host": {"cpus": 4}}, runs)
    found = compare(replace(side(A), facts=facts), replace(side(B), facts=other))
    assert found.document()["differs_in"] == [{"what": "host.cpus", "a": "2", "b": "4"}]


def lossy(*counts: tuple[int, int], because: str = "errors_above_limit") -> Side:
    """Return a side of a comparison. Its runs with more than 1 % of failures are invalid, as in the summary of
    a study.
    """
    values = [10.0, 10.01, 9.99, 10.005, 9.995]
    runs = []
    for number, (value, (failed, ended)) in enumerate(zip(values, counts, strict=True)):
        is_bad = failed > 0.01 * ended
        figures = {} if is_bad else {MEAN: Measured(value), Place(Metric.THROUGHPUT): Measured(value)}
        reasons = (because,) if is_bad else ()
        runs.append(
            ComparedRun(
                f"r{number}", "", "invalid" if is_bad else "valid", figures, {"": Failures(failed, ended)}, (), reasons
            )
        )
    return Side("side", tuple(runs))


GOOD = ((0, 1000),) * 5


def test_failures_of_runs_that_failures_made_invalid_count() -> None:
    # B has 125 failures and A none. By chance, all 125 failures are on the same side with a probability of 2 / 2^125.
    found = compare(lossy(*GOOD), lossy((24, 1000), (25, 1000), (26, 1000), (25, 1000), (25, 1000)))
    assert (str(found.verdict), found.is_invalid) == ("worse", True)
    (errors,) = found.findings
    assert errors.shares == (0.0, 0.025)
    assert found.document()["b"]["lost"] == 5
    assert headline(found) == (
        "B is worse: errors 0 % to 2.5 % (5 and 0 runs; 5 of 5 of B left out because requests failed)"
    )


def test_the_runs_of_b_that_are_left_do_not_speak_for_those_lost() -> None:
    counts = ((20, 1000), (20, 1000), (20, 1000), (0, 1000), (0, 1000))
    found = compare(lossy(*GOOD), lossy(*counts))
    errors = found.findings[-1]
    assert errors.shares == (0.0, 0.012)
    # The two valid runs of B are as fast as the runs of A. The overall verdict must still not be `same`, because the
    # other runs of B are invalid.
    assert str(found.findings[0].verdict) == "same"
    assert str(found.verdict) in ("undecided", "worse")
    assert "3 of 5 of B left out because requests failed" in headline(found)
    # Runs that are invalid because of the load generator are no evidence against the tested system.
    other = compare(lossy(*GOOD), lossy(*counts, because="generator_saturated"))
    assert other.findings[-1].shares == (0.0, 0.0)
    assert str(other.verdict) == "same"


def loads(factors: dict[str, float], runs: int = 4, spread: float = 0.002, seed: int = 3) -> tuple[Side, Side]:
    """Return two sides A and B at several loads; at each load the times of B are longer by the given factor."""
    rng = np.random.default_rng(seed)
    return tuple(
        joined(
            *(
                side(list(np.exp(rng.normal(math.log(10 * factor**number), spread, runs))), cell=load)
                for load, factor in factors.items()
            )
        )
        for number in (0, 1)
    )


def test_one_load_of_eight_that_is_slower_is_worse_and_named() -> None:
    # At one of eight loads, B takes 15 % longer. Over all loads the mean ratio is 1.15^(1/8) = 1.0176, below the
    # threshold of 2 %.
    factors = {f"{10 * number} users": 1.15 if number == 6 else 1.0 for number in range(1, 9)}
    found = compare(*loads(factors))
    (finding,) = found.findings
    assert finding.ratio == pytest.approx(1.15 ** (1 / 8), abs=0.002)
    assert (str(found.verdict), finding.worst.load) == ("worse", "60 users")
    assert finding.worst.ratio == pytest.approx(1.15, abs=0.005)
    assert finding.document()["worst_load"]["load"] == "60 users"
    assert headline(found) == f"B is worse: response_time_mean {finding.worst.ratio:.3f} at 60 users (32 and 32 runs)"


def test_loads_of_opposite_changes_do_not_cancel() -> None:
    found = compare(*loads({"10 users": 1.3, "20 users": 1 / 1.3, "30 users": 1.0}))
    assert found.findings[0].ratio == pytest.approx(1.0, abs=0.01)
    assert (str(found.verdict), found.findings[0].worst.load) == ("worse", "10 users")


def test_all_loads_must_be_the_same() -> None:
    assert str(compare(*loads({"10 users": 1.0, "20 users": 1.0})).verdict) == "same"
    # Both ratios are exactly at the threshold of 2 %, so about half of each interval is beyond it.
    near = compare(*loads({"10 users": 1 / 1.02, "20 users": 1.02}))
    assert near.findings[0].ratio == pytest.approx(1.0, abs=0.005)
    assert str(near.verdict) != "same"
    # A load with only one run on each side is no evidence of a difference.
    a, b = loads({"10 users": 1.0, "20 users": 1.0})
    assert str(compare(joined(a, side([10.0], cell="30 users")), joined(b, side([10.0], cell="30 users"))).verdict) == (
        "undecided"
    )


def test_failures_at_one_load_are_not_thinned_by_the_others() -> None:
    def failing_at(*counts: int) -> Side:
        return joined(
            *(
                Side("", tuple(replace(run, cell=f"{cell} users") for run in failing(*((each, 1000),) * 3).runs))
                for cell, each in enumerate(counts)
            )
        )

    found = compare(failing_at(0, 0, 0, 0, 0, 0), failing_at(0, 0, 0, 0, 0, 9))
    (errors,) = found.findings
    assert errors.shares == (0.0, pytest.approx(0.0015))
    assert (str(errors.verdict), errors.worst.load, errors.worst.shares) == ("worse", "5 users", (0.0, 0.009))


def rounded(values: list[float], step: float = 1.0, metric: Metric = Metric.P50) -> Side:
    runs = [
        ComparedRun(f"r{number}", "", "valid", {Place(metric): Measured(value, None, step)}, {})
        for number, value in enumerate(values)
    ]
    return Side("side", tuple(runs))


def test_equal_values_in_steps_are_not_exact() -> None:
    line = line_of(Place(Metric.P50), rounded([4.0, 4.0]).runs, rounded([5.0, 5.0]).runs)
    # Rounding to steps of width u adds the standard deviation of a uniform distribution, u / sqrt(12) (GUM, F.2.2.1).
    # Two series of two runs each have two degrees of freedom together.
    half = scipy.stats.t.ppf(0.975, 2) * math.hypot(1 / 4, 1 / 5) / math.sqrt(12)
    assert line.interval(0.95) == pytest.approx((1.25 * math.exp(-half), 1.25 * math.exp(half)))
    assert str(compare(rounded([4.0, 4.0]), rounded([5.0, 5.0])).verdict) == "undecided"
    # A difference of twenty rounding steps is more than rounding can explain.
    assert str(compare(rounded([4.0] * 3), rounded([24.0] * 3)).verdict) == "worse"


def test_equal_values_of_unknown_resolution_decide_nothing() -> None:
    found = compare(rounded([4.0] * 4, 0.0), rounded([5.0] * 4, 0.0))
    assert [(str(each.verdict), each.low, each.chance) for each in found.findings] == [("undecided", None, 1.0)]


def test_steps_above_the_threshold_cannot_show_that_nothing_changed() -> None:
    # A rounding step of 1 in 30 is 3.3 %, which is below a threshold of 5 %, but not below 2 %.
    sides = rounded([30.0] * 6), rounded([30.0] * 6)
    assert [str(compare(*sides, threshold).findings[0].verdict) for threshold in (0.02, 0.05)] == ["undecided", "same"]


def test_rounded_percentiles_of_equal_systems_are_seldom_found_to_differ() -> None:
    # The true percentiles are halfway between two rounding steps. If the resolution were ignored, a third of these
    # pairs would be reported as different.
    rng, alarms, pairs = np.random.default_rng(6), 0, 300
    for _ in range(pairs):
        sides = []
        for _side in range(2):
            runs = []
            for number in range(2):
                values = np.round(np.array([4.5, 12.5, 20.5]) * np.exp(rng.normal(0, 0.02, 3)))
                places = (Place(metric) for metric in (Metric.P50, Metric.P95, Metric.P99))
                figures = {
                    place: Measured(float(value), None, 1.0) for place, value in zip(places, values, strict=True)
                }
                runs.append(ComparedRun(f"r{number}", "", "valid", figures, {}))
            sides.append(Side("side", tuple(runs)))
        alarms += str(compare(*sides).verdict) in ("worse", "better")
    assert alarms / pairs <= 0.05


def test_a_time_of_zero_keeps_its_row() -> None:
    found = compare(rounded([0.0, 0.0, 1.0]), rounded([1.0, 1.0, 1.0]))
    (finding,) = found.findings
    assert (str(finding.name), finding.ratio, str(finding.verdict), finding.runs) == (
        "response_time_p50", None, "undecided", (3, 3),
    )  # fmt: skip
    assert found.doubts == [
        "response_time_p50 is 0 in a run, below the resolution of the recorded times, so the comparison has no ratio"
    ]


def drawn_figures(rng: np.random.Generator, runs: int, transactions: int, lift: float = 0.0) -> Side:
    """Return a side whose metrics vary independently by 5 % from run to run; `lift` is added to the logarithm of the
    mean response time.
    """
    metrics = (Metric.MEAN, Metric.P50, Metric.P95, Metric.P99)
    places = [Place(metric, name) for name in ("", *map(str, range(transactions))) for metric in metrics]
    drawn = []
    for number in range(runs):
        values = rng.normal(0, 0.05, len(places))
        values[0] += lift
        figures = {place: Measured(math.exp(value)) for place, value in zip(places, values, strict=True)}
        drawn.append(ComparedRun(f"r{number}", "", "valid", figures, {}))
    return Side("side", tuple(drawn))


@pytest.mark.parametrize(("runs", "transactions"), [(3, 0), (5, 0), (4, 1)])
def test_the_change_that_is_stated_is_found_in_four_of_five_cases(runs: int, transactions: int) -> None:
    # The second system is slower by the least detectable change (median of 100 comparisons). About 80 % of the
    # comparisons must detect this change. If it were computed for a test of one metric instead of all metrics, only 23
    # to 48 % would detect it.
    rng = np.random.default_rng(8)
    stated = [
        compare(drawn_figures(rng, runs, transactions), drawn_figures(rng, runs, transactions)).least_detectable
        for _ in range(100)
    ]
    lift = math.log1p(float(np.median(stated)))
    found = 0
    for _ in range(200):
        compared = compare(drawn_figures(rng, runs, transactions), drawn_figures(rng, runs, transactions, lift))
        found += str(compared.findings[0].verdict) == "worse"
    assert 0.75 <= found / 200 <= 0.9


def test_the_least_change_counts_the_figures_and_the_loads() -> None:
    rng = np.random.default_rng(9)
    values = list(np.exp(rng.normal(0, 0.02, 6))), list(np.exp(rng.normal(0, 0.02, 6)))
    alone = compare(*(side(each) for each in values))
    line = line_of(MEAN, *_runs(alone))
    # Power of a two-sided t test at 5 %, from SciPy's noncentral t. The standard error is corrected for the bias of its
    # median.
    error = line.error() * math.sqrt(line.freedom / scipy.stats.chi2.median(line.freedom))
    shift = math.log1p(alone.least_detectable) / error
    reached = scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, line.freedom), line.freedom, shift)
    beyond = scipy.stats.norm.sf((math.log(1.02) - math.log1p(alone.least_detectable)) / error)
    assert reached * beyond == pytest.approx(0.8, abs=0.001)
    many = [Place(Metric.P99, name) for name in "abcdefghi"]
    sides = [
        Side(
            "side",
            tuple(
                replace(run, figures={**run.figures, **{place: Measured(math.exp(rng.normal())) for place in many}})
                for run in each.runs
            ),
        )
        for each in (alone.a, alone.b)
    ]
    # Ten values are compared, so Holm's method first tests at 0.05 / 10, or 0.05 / 20 on each side.
    shift = math.log1p(compare(*sides).least_detectable) / error
    reached = scipy.stats.nct.sf(scipy.stats.t.ppf(1 - 0.05 / 20, line.freedom), line.freedom, shift)
    assert reached == pytest.approx(0.8, abs=0.002)
    single = side([10.0]), side([12.0])
    with_many = [
        Side(
            "", tuple(replace(run, figures={**run.figures, **dict.fromkeys(many, Measured(1.0))}) for run in each.runs)
        )
        for each in single
    ]
    assert compare(*single).runs_needed < compare(*with_many).runs_needed


def with_tail_and_failures(percentile: list[float], failed: list[int]) -> Side:
    runs = [
        ComparedRun(
            f"r{number}",
            "",
            "valid",
            {MEAN: Measured(mean), Place(Metric.THROUGHPUT): Measured(100 * mean), Place(Metric.P99): Measured(tail)},
            {"": Failures(count, 10_000)},
        )
        for number, (mean, tail, count) in enumerate(zip((1.0, 1.001, 0.999), percentile, failed, strict=True))
    ]
    return Side("side", tuple(runs))


def test_failures_belong_to_what_must_be_the_same_and_the_sentence_says_what_is() -> None:
    before = with_tail_and_failures([5.0, 5.1, 4.9], [0, 0, 0])
    found = compare(before, with_tail_and_failures([5.0, 20.0, 9.0], [0, 90, 2]))
    assert str(found.verdict) == "undecided"
    assert headline(found) == (
        "undecided: throughput and mean are the same within 2 %; p99 and errors are undecided (3 and 3 runs)"
    )
    without = compare(before, with_tail_and_failures([5.0, 20.0, 9.0], [0, 0, 0]))
    assert str(without.verdict) == "same"
    assert headline(without) == (
        "B is the same: throughput, mean and errors are the same within 2 %; p99 is undecided (3 and 3 runs)"
    )


def test_a_side_without_a_transaction_of_the_other_is_never_the_same() -> None:
    def named(*names: str) -> Side:
        runs = side([10.0, 10.01, 9.99, 10.005]).runs
        return Side("side", tuple(replace(run, transactions=names) for run in runs))

    assert str(compare(named("a", "b"), named("a", "b")).verdict) == "same"
    found = compare(named("a", "b"), named("a"))
    assert (str(found.verdict), found.missing) == ("undecided", ([], ["b"]))
    assert headline(found).endswith("; B has no b)")
    assert str(compare(named("a"), named("a", "b")).verdict) == "undecided"
    # A side without transaction names, such as the results file of another tool, is not reported as lacking a
    # transaction.
    assert str(compare(named("a", "b"), named()).verdict) == "same"


@pytest.mark.parametrize("threshold", [2, -0.5, 0.0, 1.0, math.nan, math.inf])
def test_a_threshold_lies_between_0_and_1(threshold: float) -> None:
    with pytest.raises(StudyError, match="threshold: must be above 0 and below 1, got"):
        compare(side(A), side(B), threshold)
