from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

from towtank.analysis.aggregation import aggregate
from towtank.analysis.checks.course import _kinds
from towtank.analysis.checks.window import _relaxation_s
from towtank.analysis.ideal import ideal_line
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import batches
from towtank.analysis.statistics.change_points import _p_value, _worth
from towtank.analysis.statistics.estimates import BATCH_MEANS, ORDER_STATISTICS, RUNS, Estimate
from towtank.analysis.statistics.intervals import difference_interval, ratio_interval
from towtank.analysis.statistics.run_to_run import METHOD, with_run_to_run
from towtank.analysis.system.entries import TierUse

NORMAL = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


def point_of(kind, load, runs):
    return aggregate(kind, load, list(map(RunSummary.read, runs)))


def mean_of(values: list[float]) -> Estimate:
    """Return the mean of independent values with Student's interval."""
    half = float(stats.t.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return Estimate(mean, mean - half, mean + half, RUNS, len(values))


@pytest.mark.parametrize(
    ("first", "second"),
    [([10.0, 12.0, 11.0, 15.0], [3.0, 9.0]), ([1.0, 2.0, 4.0, 2.5, 2.5], [7.0, 1.0, 12.0, 5.0, 9.0])],
)
def test_a_difference_is_that_of_welch(first: list[float], second: list[float]) -> None:
    """The interval of a difference equals that of `scipy.stats.ttest_ind` with unequal variances."""
    known = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = difference_interval(mean_of(first), mean_of(second))
    assert (found.value, found.n) == (pytest.approx(np.mean(first) - np.mean(second)), min(len(first), len(second)))
    assert (found.low, found.high) == pytest.approx((known.low, known.high), rel=1e-9)
    wider = difference_interval(mean_of(first), mean_of(second), 0.99)
    known = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.99)
    assert (wider.low, wider.high, wider.confidence) == pytest.approx((known.low, known.high, 0.99), rel=1e-9)


def test_two_runs_that_agree_by_chance_are_worth_no_more_than_with_equal_errors() -> None:
    """The degrees of freedom are those of equal errors of all runs, not those of the measured errors.

    Means of 2 and 6 runs with equal errors have (1/2 + 1/6)^2 / ((1/2)^2 / 1 + (1/6)^2 / 5) = 40/23 degrees of freedom.
    Welch's formula with the measured errors would give 5, because the two runs agree by chance.
    """
    few, many = [10.0, 10.001], [8.0, 9.0, 10.0, 11.0, 12.0, 13.0]
    error, t = math.hypot(0.0005, math.sqrt(3.5 / 6)), stats.t.ppf(0.975, 40 / 23)
    found = difference_interval(mean_of(few), mean_of(many))
    assert found.high - found.value == pytest.approx(t * error, rel=1e-6)
    welch = stats.ttest_ind(few, many, equal_var=False).confidence_interval(0.95)
    assert found.high - found.value > 1.8 * (welch.high - found.value)


def test_a_ratio_of_means_over_runs_is_symmetric_in_its_logarithm() -> None:
    """The means 20 and 10 each have a relative standard error of 5 % / sqrt(3), with 2 degrees of freedom. The
    logarithm of their ratio has the standard error 0.05 sqrt(2 / 3), with 4 degrees of freedom.
    """
    found = ratio_interval(mean_of([19.0, 20.0, 21.0]), mean_of([9.5, 10.0, 10.5]))
    half = stats.t.ppf(0.975, 4) * 0.05 * math.sqrt(2 / 3)
    assert (found.value, found.method, found.n) == (2.0, RUNS, 3)
    assert (found.low, found.high) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)), rel=1e-9)


def test_a_ratio_of_single_runs_or_to_a_value_that_may_be_negative_is_that_of_fieller() -> None:
    """For 20 (exact) divided by 10 [9, 11], Fieller's g is (1 / 10)^2 = 0.01. The interval ends at 2 (1 -+ 0.1) / (1 -
    0.01).

    For 20 [-4, 44] divided by 10 (exact), the interval ends at -4 / 10 = -0.4 and 44 / 10 = 4.4.
    """
    exact, about = Estimate(20.0, 20.0, 20.0, ORDER_STATISTICS, 9), Estimate(10.0, 9.0, 11.0, ORDER_STATISTICS, 9)
    found = ratio_interval(exact, about)
    assert (found.low, found.high) == pytest.approx((1.8 / 0.99, 2.2 / 0.99), rel=1e-9)
    below = ratio_interval(Estimate(20.0, -4.0, 44.0, RUNS, 3), Estimate(10.0, 10.0, 10.0, RUNS, 3))
    assert (below.low, below.high) == pytest.approx((-0.4, 4.4), rel=1e-9)


def test_a_ratio_of_runs_whose_interval_would_say_nothing_has_none() -> None:
    """Runs of 5 and 15 have the mean 10 with a standard error of 5. The logarithm of the mean has the half width 12.7 *
    5 / 10 = 6.4, which is too wide to state anything.
    """
    found = ratio_interval(mean_of([5.0, 15.0]).of_quantity(), mean_of([10.0, 10.0]))
    assert (found.value, found.low, found.high, found.method) == (1.0, None, None, "none")


def test_a_difference_to_a_value_without_an_interval_has_none() -> None:
    found = difference_interval(mean_of([1.0, 2.0, 3.0]), Estimate(0.5, n=7))
    assert (found.value, found.low, found.high, found.n) == (1.5, None, None, 3)


def test_an_assumed_error_of_a_percentile_is_added_in_squares() -> None:
    """An assumed standard error of 10 % of 100 has the half width 1.96 * 10 = 19.6. Its square is added to the squares
    of the lower and upper half widths of the percentile, 5 and 20.
    """
    found = with_run_to_run(Estimate(100.0, 95.0, 120.0, ORDER_STATISTICS, 500), 0.1)
    assert found.low == pytest.approx(100 - math.hypot(5, 10 * NORMAL), rel=1e-9)
    assert found.high == pytest.approx(100 + math.hypot(20, 10 * NORMAL), rel=1e-9)
    assert (found.n, found.method) == (1000, f"{ORDER_STATISTICS}, {METHOD}")


def test_an_assumed_error_of_a_mean_has_the_freedom_of_welch() -> None:
    """A standard error of 2 with 9 degrees of freedom and an exact standard error of 10 together have (2^2 + 10^2)^2 /
    (2^4 / 9) degrees of freedom.
    """
    half = 2 * float(stats.t.ppf(0.975, 9))
    found = with_run_to_run(Estimate(100.0, 100 - half, 100 + half, BATCH_MEANS, 10), 0.1)
    freedom = (2**2 + 10**2) ** 2 / (2**4 / 9)
    reach = float(stats.t.ppf(0.975, freedom)) * 10
    assert found.high - 100 == pytest.approx(math.hypot(half, reach), rel=1e-9)
    assert 100 - found.low == pytest.approx(math.hypot(half, reach), rel=1e-9)
    assert found.n == math.floor(freedom) + 1


def test_an_assumed_error_keeps_a_time_above_zero_and_a_value_without_interval_as_it_is() -> None:
    found = with_run_to_run(Estimate(1.0, 0.0, 9.0, ORDER_STATISTICS, 50), 0.5)
    assert found.low == 0.0
    assert found.high is not None
    below = with_run_to_run(Estimate(-1.0, -1.5, -0.5, ORDER_STATISTICS, 50), 0.5)
    assert below.low is not None
    assert below.low < -1.5
    alone = Estimate(1.0, n=3)
    assert with_run_to_run(alone) is alone
    sure = Estimate(1.0, 0.9, 1.1, BATCH_MEANS, 10)
    assert with_run_to_run(sure, 0.0) is sure


def test_sums_of_neighbours_keep_all_values() -> None:
    """Seven values are summed in groups of three. One value is left over; it is added to the first group."""
    assert batches._summed(np.arange(1.0, 8.0), 3).tolist() == [1 + 2 + 3 + 4, 5 + 6 + 7]
    assert batches._summed(np.arange(1.0, 7.0), 2).tolist() == [3.0, 7.0, 11.0]


@pytest.mark.parametrize(("correlation", "worth"), [(-0.5, 100.0), (0.0, 100.0), (0.5, 100 / 3), (0.9, 100 / 19)])
def test_values_of_an_autoregressive_series_are_worth_fewer(correlation: float, worth: float) -> None:
    """n values with the lag-1 correlation r are worth n (1 - r) / (1 + r) independent values, but at most n."""
    assert batches._worth(100, correlation) == pytest.approx(worth, rel=1e-9)


@pytest.mark.parametrize("worth", [0.25, 1.0])
def test_the_p_value_of_a_change_is_that_of_the_t_test(worth: float) -> None:
    """There are 8 and 12 observations, each of which is worth `worth` independent observations.

    So Student's t has (8 + 12) worth - 2 degrees of freedom.
    """
    left, right = np.tile([1.0, 3.0], 4), np.tile([2.0, 6.0], 6)
    first, second = 8 * worth, 12 * worth
    freedom = first + second - 2
    # The variances of `left` and `right` are 1 and 4. The published program divides sums of squares by n, not n - 1.
    pooled = ((first - 1) * 1 + (second - 1) * 4) / freedom
    statistic = (4 - 2) / math.sqrt(pooled * (1 / first + 1 / second))
    assert _p_value(left, right, worth) == pytest.approx(2 * stats.t.sf(statistic, freedom), rel=1e-12)
    assert _p_value(right, left, worth) == pytest.approx(2 * stats.t.sf(statistic, freedom), rel=1e-12)


def test_too_few_observations_or_no_spread_decide_a_change_without_a_test() -> None:
    flat, other = np.full(4, 2.0), np.full(4, 3.0)
    assert _p_value(flat, other) == 0.0
    assert _p_value(flat, flat) == 1.0
    assert _p_value(flat, np.array([1.0, 5.0]), 0.25) == 1.0


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_the_worth_of_an_observation_is_that_of_its_autocorrelation(correlation: float) -> None:
    """In a long series with the lag-1 correlation r, an observation is worth (1 - r) / (1 + r) independent ones. A step
    in the series, whose position is known, does not change this.

    The tolerance of 0.02 is four standard errors of r.
    """
    stream = np.random.default_rng(5)
    noise = stream.standard_normal(40_000)
    values = np.zeros(len(noise))
    for place in range(1, len(noise)):
        values[place] = correlation * values[place - 1] + noise[place]
    values[20_000:] += 50
    found = _worth(values, [20_000])
    assert (1 - found) / (1 + found) == pytest.approx(correlation, abs=0.02)


@dataclass(frozen=True)
class Level:
    """Values measured at one load level of a study."""

    response_s: float
    response_half: float
    think_s: float
    failed: float


def run_of(users: int, level: Level) -> dict[str, Any]:
    """Return the summary of a window of 100 s; its intervals are from 10 independent batches."""
    rate = users / (level.think_s + level.response_s)

    def estimate(value: float, half: float) -> dict[str, Any]:
        low, high = value - half, value + half
        return {"value": value, "low": low, "high": high, "confidence": 0.95, "method": BATCH_MEANS, "n": 10}

    times = {key: estimate(level.response_s, level.response_half) for key in ("mean", "p50", "p90", "p95", "p99")}
    return {
        "run": f"r{users}", "factors": {}, "verdict": {"level": "valid", "reasons": []},
        "users": {"asked": users, "mean": users}, "rate": None, "throughput_per_s": estimate(rate, 0.1 * rate),
        "response_time_s": {**times, "min": 0.0, "max": 1.0}, "errors": {"share": level.failed}, "transactions": {},
        "tiers": {}, "host": {"disks": {}}, "window": {"start_s": 0.0, "end_s": 100.0},
        "laws": {"little": {"n": users, "z_s": level.think_s, "x_per_s": rate, "r_s": level.response_s}},
    }  # fmt: skip


def test_the_ideal_line_has_the_errors_of_think_time_and_response_time() -> None:
    """Each user makes one transaction in 1.5 s + 0.5 s = 2 s, and 10 % of the transactions fail. So 0.9 / 2 = 0.45 /s
    succeed per user.

    The mean of n exponential think times, Z, has the standard error Z / sqrt(n). The errors of think time and of
    response time have 9 degrees of freedom each.
    """
    level = Level(response_s=0.5, response_half=0.1, think_s=1.5, failed=0.1)
    rows = [point_of("users", users, [run_of(users, level)]) for users in (20, 40)]
    line = ideal_line(rows)
    assert line is not None
    assert line.per_user_per_s == pytest.approx(0.9 / 2, rel=1e-9)
    picks = 100 * 20 / 2 + 100 * 40 / 2
    quantile = float(stats.t.ppf(0.975, 9))
    relative = quantile * math.hypot(1.5 / math.sqrt(picks), 0.1 / quantile) / 2
    assert line.interval.low == pytest.approx(0.45 * (1 - relative), rel=1e-6)
    assert line.interval.high == pytest.approx(0.45 * (1 + relative), rel=1e-6)


def tier(busy: float | None, used: float | None, cpus: float | None) -> TierUse:
    return TierUse(utilization=busy, cpus_used=Estimate(used), cpus_allotted=cpus)


def memory_of_mm1(used: float, service_s: float, most: int = 400) -> float:
    """Return the integral of the autocorrelation of the number of requests in an M/M/1 queue, computed from its
    rate matrix. [s]
    """
    rates = np.zeros((most + 1, most + 1))
    for number in range(most):
        rates[number, number + 1], rates[number + 1, number] = used / service_s, 1 / service_s
    rates -= np.diag(rates.sum(axis=1))
    chances = used ** np.arange(most + 1)
    chances /= chances.sum()
    apart = np.arange(most + 1) - float(chances @ np.arange(most + 1))
    # For each state of the queue: the expected integral of the future deviations from the mean. It is known up to a
    # constant, which cancels below.
    ahead = np.linalg.lstsq(-rates, apart, rcond=None)[0]
    return float(chances @ (apart * ahead)) / float(chances @ apart**2)


@pytest.mark.parametrize(("used", "service_s"), [(0.5, 0.01), (0.8, 0.01), (0.3, 0.2)])
def test_the_memory_of_a_tier_is_that_of_m_m_1(used: float, service_s: float) -> None:
    found = _relaxation_s(tier(used, used, 1), used / service_s, 10.0)
    assert found == pytest.approx(memory_of_mm1(used, service_s), rel=1e-6)


def test_the_memory_of_a_tier_by_hand() -> None:
    """The relaxation time is (1 + U) S / (m (1 - U)^2), with utilization U, service time S and m CPUs.

    For one CPU, U = 80 % and S = 10 ms it is 0.45 s; with two CPUs it is half of this.
    """
    assert _relaxation_s(tier(0.8, 0.8, 1), 80.0, 10.0) == pytest.approx(0.45, rel=1e-9)
    assert _relaxation_s(tier(0.5, 1.0, 2), 100.0, 10.0) == pytest.approx(0.03, rel=1e-9)
    # The CPU time is 0.5 / 50 /s = 10 ms per request, but the service time is at most the response time of 5 ms. The
    # other 5 ms are background work.
    assert _relaxation_s(tier(0.5, 0.5, 1), 50.0, 0.005) == pytest.approx(0.03, rel=1e-9)
    for unknown in (tier(None, 0.5, 1), tier(0.5, None, 1), tier(0.5, 0.5, None), tier(0.0, 0.0, 1), tier(1.0, 1.0, 1)):
        assert _relaxation_s(unknown, 50.0, 10.0) == 0.0


def test_kinds_of_failures_are_named_by_their_frequency() -> None:
    """The text names the three most frequent kinds of failures, the most frequent first."""
    assert _kinds({"timeout": 7, "refused": 1200, "check": 30, "closed": 2}) == "1,200 refused, 30 check, 7 timeout"
    assert _kinds({}) == ""
