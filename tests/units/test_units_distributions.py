"""Quantiles and tail probabilities agree with scipy.stats in the range that intervals need."""

import math

import numpy as np
import pytest
from scipy import stats

from towtank import distributions

FREEDOMS = (1, 2, 2.5, 5, 29, 1000.0, 1e7, math.inf)
SHARES = (1e-9, 0.0005, 0.025, 0.31, 0.5, 0.975, 0.9995, 1 - 1e-9)
VALUES = np.array([-8.0, -1.0, 0.0, 0.3, 2.0, 8.0, 40.0])


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_t(freedom: float) -> None:
    for share in SHARES:
        assert distributions.t_quantile(share, freedom) == pytest.approx(
            stats.t.ppf(share, freedom), rel=1e-9, abs=1e-12
        )
    assert distributions.t_quantile(np.array(SHARES), freedom) == pytest.approx(
        stats.t.ppf(SHARES, freedom), rel=1e-9, abs=1e-12
    )
    assert distributions.t_tail(VALUES, freedom) == pytest.approx(stats.t.sf(VALUES, freedom), rel=1e-9)
    assert distributions.t_tail(2.0, freedom) == pytest.approx(stats.t.sf(2.0, freedom), rel=1e-9)


def test_the_normal_distribution() -> None:
    assert distributions.normal_quantile(np.array(SHARES)) == pytest.approx(stats.norm.ppf(SHARES), abs=1e-12)
    assert distributions.normal_tail(VALUES) == pytest.approx(stats.norm.sf(VALUES), rel=1e-9)
    assert distributions.normal_density(1.7) == pytest.approx(stats.norm.pdf(1.7))


@pytest.mark.parametrize(
    ("low", "high"),
    [(-2.0, 2.0), (-1.0, math.inf), (-0.5, 8.0), (5.0, 5.1), (30.0, math.inf), (-41.0, -40.0), (-9.0, -3)],
)
def test_the_truncated_normal_distribution(low: float, high: float) -> None:
    values = np.linspace(low - 1, min(high, low + 3) + 1, 41)
    found = distributions.truncated_normal_cdf(values, low, high)
    assert found == pytest.approx(stats.truncnorm.cdf(values, low, high), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 7), (3, 40), (12.5, 2)])
def test_fishers_f(numerator: float, denominator: float) -> None:
    for value in (-1.0, 0.0, 0.4, 3.0, 90.0, math.inf):
        expected = stats.f.sf(value, numerator, denominator)
        assert distributions.f_tail(value, numerator, denominator) == pytest.approx(expected, rel=1e-9)
    for share in SHARES[1:-1]:
        expected = stats.f.ppf(share, numerator, denominator)
        assert distributions.f_quantile(share, numerator, denominator) == pytest.approx(expected, rel=1e-7)


def test_chi_square() -> None:
    for freedom in (1, 2, 30, 400):
        for value in (0.0, 0.2, 12.0, 500.0):
            expected = stats.chi2.cdf(value, freedom), stats.chi2.sf(value, freedom)
            assert distributions.chi_square_tails(value, freedom) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("trials", [1, 2, 17, 300, 100_000])
@pytest.mark.parametrize("probability", [1e-6, 0.01, 0.37, 0.5, 0.95, 0.999])
def test_the_binomial_distribution(trials: int, probability: float) -> None:
    counts = sorted({-1, 0, 1, trials // 3, trials // 2, trials - 1, trials, trials + 1})
    for count in counts:
        expected = stats.binom.sf(count, trials, probability)
        assert distributions.binomial_tail(count, trials, probability) == pytest.approx(expected, rel=1e-7, abs=1e-300)
    for share in SHARES:
        assert distributions.binomial_quantile(share, trials, probability) == stats.binom.ppf(
            share, trials, probability
        )


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 50), (3, 50), (50, 50), (999, 100_000)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_exact_interval_of_a_share(successes: int, trials: int, confidence: float) -> None:
    expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    assert distributions.binomial_interval(successes, trials, confidence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mean", [0.01, 3.0, 250.0])
def test_the_poisson_distribution(mean: float) -> None:
    counts = np.arange(0, 400)
    assert distributions.poisson_probabilities(counts, mean) == pytest.approx(stats.poisson.pmf(counts, mean), rel=1e-9)
    for count in (0, 1, 3, 240, 300):
        expected = stats.poisson.cdf(count, mean), stats.poisson.sf(count - 1, mean)
        assert distributions.poisson_tails(count, mean) == pytest.approx(expected, rel=1e-9)
