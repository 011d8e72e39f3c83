"""Confidence intervals, compared with published, exact and simulated cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import case
from covering import Recorded
from scipy import stats

from towtank.analysis import load, statistics
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import Estimate


def differences(identity):
    inputs = case(identity)["inputs"]
    return inputs.get("differences") or [a - b for a, b in zip(inputs["a"], inputs["b"], strict=True)]


@pytest.mark.parametrize("identity", ["V51", "V52", "V53"])
def test_t_interval_reproduces_the_published_one(identity):
    known = case(identity)
    found = statistics.t_interval(differences(identity), known["inputs"].get("level", 0.95))
    assert [found.low, found.high] == pytest.approx(known["verified"]["ci"], rel=1e-9)
    assert found.value == pytest.approx(known["verified"]["mean"], rel=1e-9)
    assert [found.low, found.high] == pytest.approx(known["published"]["ci"], abs=known["tolerance"])
    assert (found.method, found.n) == ("runs", len(differences(identity)))


def test_one_run_has_a_mean_and_no_interval():
    found = statistics.t_interval([3.0])
    assert found.document() == {
        "value": 3.0, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1,
    }  # fmt: skip


@pytest.mark.parametrize("count", [6, 10, 37, 100, 1000, 20_000])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.99])
def test_order_statistics_cover_as_the_binomial_says(count, probability):
    ranks = statistics.order_statistic_ranks(count, probability)
    if ranks is None:
        # A quantile has no interval if all values are on one side of it with a probability above 2.5 %.
        assert probability**count > 0.025 or (1 - probability) ** count > 0.025
        return
    low, high = ranks
    below = stats.binom(count, probability)
    assert below.cdf(low - 1) <= 0.025 < below.cdf(low)
    assert below.sf(high - 1) <= 0.025 < below.sf(high - 2)


def test_order_statistics_of_the_median_of_ten_by_hand():
    # The number B of values below the median is binomial(10, 1/2): P(B <= 1) = 11/1024 = 1.1 %, P(B <= 2) = 56/1024 =
    # 5.5 %. Therefore the ranks are 2 and 9, which cover 1 - 22/1024 = 97.9 %.
    assert statistics.order_statistic_ranks(10, 0.5) == (2, 9)
    covered = sum(math.comb(10, number) for number in range(2, 9)) / 1024
    assert covered == pytest.approx(1 - 22 / 1024, rel=1e-12)


def test_quantile_ranks_stretch_with_the_design_effect():
    # With a design effect of 4, the ranks of 400 values are four times the ranks of 100 independent values.
    low, high = statistics.order_statistic_ranks(100, 0.5)
    assert statistics.effective_ranks(400, 0.5, 4.0) == (4 * low, 4 * high)


def test_design_effect_of_clusters_of_equals_is_their_size():
    # Each second contains ten equal values, so the true design effect is 10. The estimate is conservative, because it
    # is the upper confidence limit of the largest of several estimates.
    effects = []
    for seed in range(60):
        below = 10.0 * np.random.default_rng(seed).integers(0, 2, 400)
        effect, needs = statistics.design_effect(below, np.full(400, 10.0), 0.5)
        effects.append(effect)
        assert needs is None
    assert min(effects) >= 9
    assert 10 <= np.median(effects) <= 15


def test_the_likely_design_effect_of_clusters_of_equals_is_their_size():
    for seconds in (30, 400):
        effects = [
            statistics.likely_design_effect(
                10.0 * np.random.default_rng(seed).integers(0, 2, seconds), np.full(seconds, 10.0), 0.5
            )
            for seed in range(200)
        ]
        assert np.median(effects) == pytest.approx(10, rel=0.1)


def test_a_percentile_in_overload_names_a_length_that_is_long_enough():
    """A percentile without an interval reports the window length that an interval needs.

    In windows of 50 s percentiles have no interval; in windows of the reported length most have an interval. The p95
    needs 72 independent values: 72 x 19 = 1368 s.
    """

    def window(seed, seconds):
        stream = np.random.default_rng(seed)
        level = autoregressive(stream, seconds, 0.9) - 10
        second = np.repeat(np.arange(seconds), 100)
        times = np.exp(0.2 * level[second] + 0.1 * stream.normal(size=len(second)))
        timed, chosen = Recorded(seconds, second, times), np.ones(seconds, dtype=bool)
        return load.quantile(timed, timed.merged(chosen), 0.95, chosen)

    needed = [window(seed, 50).needs_s for seed in range(20)]
    assert sum(needs is None for needs in needed) <= 2
    likely = int(np.median([needs for needs in needed if needs is not None]))
    assert 1368 <= likely <= 3 * 1368
    assert sum(window(100 + seed, likely).low is not None for seed in range(10)) >= 6


def test_a_series_that_is_too_short_says_how_long_it_would_have_to_be():
    # Fewer than 20 observations have no interval, because a test of so few values too often fails to detect their
    # dependence.
    short, _ = statistics.ratio_of_sums(np.random.default_rng(1).normal(10, 1, 12), np.ones(12))
    assert (short.low, short.needs_s) == (None, 20)
    # With a correlation of 0.95, one independent value needs (1 + 0.95) / (1 - 0.95) = 39 s, so 60 s are worth 1.5
    # values. An interval needs six values, or 6 x 39 = 234 s. The reported length is about 1.5 times as long.
    stream = np.random.default_rng(11)
    asked = [statistics.ratio_of_sums(autoregressive(stream, 60, 0.95), np.ones(60))[0].needs_s for _ in range(50)]
    result = [needs for needs in asked if needs is not None]
    assert len(result) >= 45
    assert 150 <= np.median(result) <= 800
    assert short.document()["needs_s"] == 20


def test_error_of_a_mean_finds_the_known_variance_of_an_autoregressive_series():
    # For n much larger than the correlation time, the variance of the mean of n values is s^2 / n / (1 - 0.7)^2, with s
    # = 1.
    stream = np.random.default_rng(12)
    squares = []
    for _ in range(200):
        _, error = statistics.ratio_of_sums(autoregressive(stream, 600, 0.7), np.ones(600))
        squares.append(error**2)
    assert np.mean(squares) == pytest.approx(1 / 600 / 0.3**2, rel=0.2)


def test_denominators_below_one_in_all_have_an_error():
    """Each of the 12 denominators is 0.05, so their sum is only 0.6."""
    stream = np.random.default_rng(4)
    values = stream.normal(1.0, 0.1, 12)
    scaled, whole = (statistics.ratio_of_sums(values, np.full(12, length))[1] for length in (0.05, 1.0))
    assert scaled == pytest.approx(20 * whole)
    assert statistics.ratio_of_sums(values, np.zeros(12))[1] is None


def test_von_neumann_ratio_by_hand():
    # For 1 to 8, the sum of the squared differences of neighbours is 7, and the sum of squares about the mean is 42.
    # The von Neumann ratio 7 / 42 is far below 2, the value for independent numbers.
    assert not statistics.looks_independent(np.arange(1.0, 9.0))
    # For 1 0 1 0 ... the ratio is near 4: neighbours differ more than by chance. The batches of such a series need not
    # be longer, so the series counts as independent.
    assert statistics.looks_independent(np.array([1.0, 0.0] * 10))


def test_ratio_interval_solves_fiellers_equation():
    # The bounds of the ratio r are the roots of (a - r b)^2 = t^2 (s_a^2 + r^2 s_b^2). Here t is a quantile of the
    # normal distribution, which intervals from order statistics use.
    top, bottom = normal(4.0, 0.4), normal(2.0, 0.1)
    t = stats.norm.ppf(0.975)
    roots = sorted(np.roots([2.0**2 - t**2 * 0.1**2, -2 * 4.0 * 2.0, 4.0**2 - t**2 * 0.4**2]))
    found = statistics.ratio_interval(top, bottom)
    assert [found.low, found.high] == pytest.approx(roots, rel=1e-9)
    assert found.value == 2.0


def test_ratio_to_a_value_that_may_be_zero_has_no_interval():
    found = statistics.ratio_interval(normal(4.0, 0.4), normal(0.1, 0.2))
    assert found.value == pytest.approx(40.0)
    assert found.document()["method"] == "none"


def test_ratio_intervals_cover_the_true_ratio():
    # For a true coverage of 0.95, the coverage in 600 trials has a standard error of 0.009.
    stream = np.random.default_rng(8)
    covered = 0
    for _ in range(600):
        top = statistics.t_interval(stream.normal(15, 0.75, 5))
        bottom = statistics.t_interval(stream.normal(10, 1.0, 5))
        found = statistics.ratio_interval(top, bottom)
        covered += found.low <= 1.5 <= found.high
    assert 0.92 <= covered / 600 <= 0.99


def normal(value, error):
    half = float(stats.norm.ppf(0.975)) * error
    return Estimate(value, value - half, value + half, estimates.ORDER_STATISTICS, 1000)


def autoregressive(stream, count, correlation):
    noise = stream.normal(size=count + 100)
    values = np.zeros(count + 100)
    for number in range(1, count + 100):
        values[number] = correlation * values[number - 1] + noise[number]
    return 10 + values[100:]


def test_an_interval_that_says_nothing_is_not_given() -> None:
    """Thirty seconds with a burst at the start are worth only two independent observations.

    Their interval would be useless: from 1e-18 to 1e15 for the value 0.05.
    """
    burst = np.zeros(30)
    burst[:2] = 1.0, 0.5
    found, _ = statistics.ratio_of_sums(burst, np.ones(30))
    assert (found.value, found.low, found.high) == (pytest.approx(0.05), None, None)
    assert (found.n, found.needs_s) == (2, 90)
