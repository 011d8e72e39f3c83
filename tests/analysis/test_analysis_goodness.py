from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from synthetic_runs import encode_histogram

from towtank.analysis.statistics import goodness, histograms

LEVEL = 1e-4


def recorded(values_s):
    """Return response times as the histogram that the engine records."""
    return histograms.decode(encode_histogram(1e9 * np.asarray(values_s)))


def test_chi_square_of_mendels_peas():
    # Round yellow, wrinkled yellow, round green and wrinkled green peas are expected in the proportions 9 : 3 : 3 : 1
    # (G. Mendel, "Versuche über Pflanzenhybriden", 1866). With three degrees of freedom, X² = 0.470 has p = 0.925.
    found = goodness.multinomial([315, 101, 108, 32], [9, 3, 3, 1])
    assert found.statistic == pytest.approx(0.470, abs=5e-4)
    assert found.p_value == pytest.approx(0.925, abs=5e-4)
    assert (found.method, found.n, found.freedom) == ("chi-square", 556, 3)


def test_chi_square_is_scipys():
    stream = np.random.default_rng(1)
    weights = np.array([5.0, 1.0, 2.0, 2.0])
    for _ in range(50):
        counts = stream.multinomial(900, weights / weights.sum())
        expected = stats.chisquare(counts, 900 * weights / weights.sum())
        found = goodness.multinomial(counts, weights)
        assert found.statistic == pytest.approx(expected.statistic)
        if found.method == "chi-square":
            assert found.p_value == pytest.approx(expected.pvalue)


def test_draws_agree_with_the_exact_multinomial():
    # 18 random values fall into three equally likely cells. The exact p-value is the sum of SciPy's
    # multinomial probabilities over all outcomes with a statistic at least as large.
    counts = [13, 3, 2]
    found = goodness.multinomial(counts, [1, 1, 1])
    assert found.method == "chi-square by draws"
    expected, exact = 6.0, 0.0
    for first in range(19):
        for second in range(19 - first):
            outcome = [first, second, 18 - first - second]
            if sum((count - expected) ** 2 / expected for count in outcome) >= found.statistic - 1e-9:
                exact += stats.multinomial.pmf(outcome, 18, [1 / 3] * 3)
    # The p-value is a fraction p of 200,000 random values, so its standard error is sqrt(p (1 - p) / 200,000) <
    # sqrt(p / 200,000). Five standard errors are allowed.
    assert found.p_value == pytest.approx(exact, abs=5 * np.sqrt(exact / 200_000))


def test_two_cells_are_an_exact_binomial():
    # In R. A. Fisher's experiment, a lady says of cups of tea how they were made. By chance, at least 9 of 10 answers
    # are right, or at least 9 are wrong, with a probability of 22 / 1024 (exact binomial test).
    found = goodness.multinomial([9, 1], [1, 1])
    assert found.p_value == pytest.approx(22 / 1024)
    assert found.method == "exact binomial"


def test_small_cells_are_pooled():
    # First, the three small cells sum to 4, which is less than the required 5. So only one cell would remain, and no
    # test is possible. Then they sum to 10 and make a second cell.
    assert goodness.multinomial([96, 2, 1, 1], [96, 2, 1, 1]) is None
    found = goodness.multinomial([90, 4, 4, 2], [90, 4, 4, 2])
    assert (found.freedom, found.statistic) == (1, 0.0)


def test_what_cannot_occur_occurred():
    found = goodness.multinomial([10, 10, 1], [1, 1, 0])
    assert (found.p_value, found.statistic) == (0.0, None)


@pytest.mark.parametrize(("counts", "weights"), [([0, 0], [1, 1]), ([7, 0], [1, 0]), ([2, 2], [1, 1])])
def test_nothing_to_test(counts, weights):
    assert goodness.multinomial(counts, weights) is None


def test_variance_beside_the_draws_weakens_the_test():
    plain = goodness.multinomial([70, 20, 10], [50, 25, 25])
    wide = goodness.multinomial([70, 20, 10], [50, 25, 25], [50, 25, 25])
    assert wide.statistic == pytest.approx(plain.statistic / 2)
    assert wide.p_value > plain.p_value


def test_kolmogorov_is_scipys_up_to_the_width_of_buckets():
    stream = np.random.default_rng(2)
    for _ in range(20):
        values = stream.exponential(0.5, size=500)
        expected = stats.ks_1samp(values, stats.expon(scale=0.5).cdf)
        found = goodness.kolmogorov(recorded(values), goodness.exponential(0.5))
        # A bucket at the time t is at most 0.001 t wide, and exponential times have a density f with t f(t) <= 1 / e.
        # So the statistic D from buckets is too small by at most 4e-4 plus the step of one value.
        assert expected.statistic - 0.0024 - 4e-4 <= found.statistic <= expected.statistic + 1e-6
        assert found.p_value >= expected.pvalue - 1e-4
        one_sided = stats.ksone.sf(found.statistic, 500)
        assert found.p_value == pytest.approx(min(1.0, 2 * one_sided))


@pytest.mark.parametrize("size", [1, 2, 9, 60, 500, 20_000, 1_000_000])
def test_the_p_value_of_kolmogorov_is_at_least_the_exact_one_and_equals_it_if_small(size):
    distinct = min(size, 500)
    times = histograms.decode(encode_histogram(1e9 * np.arange(1, distinct + 1) / distinct))
    times = replace(times, counts=times.counts * (size // distinct))
    seen = []
    for shift in np.linspace(0.0, 2.5, 26) / np.sqrt(size):
        # The times are evenly spaced, and the expected distribution is uniform but shifted, so that D is the shift plus
        # at most a step of 1 / 500.
        found = goodness.kolmogorov(times, lambda values, shift=shift: np.clip(values - shift, 0.0, 1.0))
        exact = stats.kstwo.sf(found.statistic, found.n)
        seen.append(exact)
        is_exact = size < 10_000
        assert found.p_value >= exact * (1 - 1e-9)
        if 1e-4 < exact < 0.1:
            assert found.p_value == pytest.approx(exact, rel=2e-4 if is_exact else 1e-3)
    # The statistics span the p-values at which a verdict depends on the difference.
    assert size < 9 or (min(seen) < 1e-3 and max(seen) > 0.05)


def test_a_statistic_of_kolmogorov_beyond_1_by_rounding_is_1_and_nan_stays():
    times = recorded([1.0, 2.0, 3.0])
    assert goodness.kolmogorov(times, lambda values: np.full_like(values, 1 + 2.2e-16)).p_value == 0.0
    assert np.isnan(goodness.kolmogorov(times, lambda values: np.full_like(values, np.nan)).p_value)


@pytest.mark.parametrize(("counts", "share"), [([0, 20], 0.3), ([40, 9], 0.7), ([9, 40], 0.3), ([800, 100], 0.9)])
def test_the_p_value_of_two_cells_is_twice_the_smaller_tail(counts, share):
    found = goodness.multinomial(counts, [share, 1 - share])
    below, above = stats.binom.cdf(counts[0], sum(counts), share), stats.binom.sf(counts[0] - 1, sum(counts), share)
    assert found.p_value == pytest.approx(min(1.0, 2 * min(below, above)))


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        (goodness.exponential(2.0), lambda stream, n: stream.exponential(2.0, n)),
        (goodness.uniform(1.0, 3.0), lambda stream, n: stream.uniform(1.0, 3.0, n)),
        (
            goodness.truncated_normal(1.0, 1.0, 0.0, 2.0),
            lambda _, n: stats.truncnorm(-1, 1, loc=1, scale=1).rvs(n, random_state=7),
        ),
    ],
)
def test_kolmogorov_distinguishes_each_law_from_one_a_tenth_slower(law, draw):
    values = draw(np.random.default_rng(3), 5000)
    assert goodness.kolmogorov(recorded(values), law).p_value > LEVEL
    assert goodness.kolmogorov(recorded(1.1 * values), law).p_value < LEVEL


def test_one_value_always():
    assert goodness.always(recorded([0.25] * 9), 0.25).p_value == 1.0
    wrong = goodness.always(recorded([0.25] * 9 + [0.26]), 0.25)
    assert (wrong.p_value, wrong.statistic) == (0.0, 1.0)
    assert goodness.always(recorded([0.25] * 9 + [0.26]), 0.25, exempt=1).p_value == 1.0
    # A time of two hours exceeds the range of the histogram, so it is counted in the last bucket.
    assert goodness.always(recorded([3600.0]), 7200.0).p_value == 1.0


def test_number_of_a_poisson_process():
    # Garwood's exact 99 % interval of a Poisson mean, for a count of 10, is 3.72 to 21.40 (F. Garwood, "Fiducial limits
    # for the Poisson distribution", Biometrika 28, 437-442, 1936). At each end the one-sided p-value is 0.5 %.
    for mean in (3.717, 21.398):
        assert goodness.poisson_number(10, mean).p_value == pytest.approx(0.01, rel=2e-3)
    assert goodness.poisson_number(10, 10.0).p_value > 0.9


def test_dispersion_of_horse_kicks():
    # Deaths by horse kicks in 200 corps-years (L. von Bortkiewicz, 1898; R. A. Fisher, Statistical Methods for
    # Research Workers, § 15): 109, 65, 22, 3 and 1 corps-years had 0 to 4 deaths; mean 0.61, variance 0.6109.
    counts = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], [109, 65, 22, 3, 1])
    found = goodness.dispersion(np.random.default_rng(4).permutation(counts), np.ones(200))
    # At least five deaths must be expected in a cell, so the counts of nine corps-years are summed: 9 x 0.61 = 5.5. The
    # 200 corps-years give 22 such cells.
    assert found.freedom == 21
    assert found.p_value > 0.01


def test_dispersion_knows_both_ways_to_be_wrong():
    stream = np.random.default_rng(5)
    bursts = 10.0 * stream.poisson(5, size=40)
    assert goodness.dispersion(bursts, np.ones(40)).p_value < LEVEL
    even = np.full(40, 50.0) + np.tile([1.0, -1.0], 20)
    assert goodness.dispersion(even, np.ones(40)).p_value < LEVEL
    assert goodness.dispersion(stream.poisson(50, size=40).astype(float), np.ones(40)).p_value > LEVEL


def test_dispersion_allows_for_seconds_cut_short():
    lengths = np.array([1.0, 0.5] * 20)
    counts = np.random.default_rng(6).poisson(200 * lengths).astype(float)
    assert goodness.dispersion(counts, lengths).p_value > 0.001
    assert goodness.dispersion(np.array([3.0]), np.ones(1)) is None
    assert goodness.dispersion(np.zeros(5), np.ones(5)) is None
