"""First days on which a growing load exceeds a limit, and the growth in both halves of a history."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np
import pytest
import statsmodels.api as sm

from towtank.sizing.growth import GivenGrowth, HistoricGrowth, _first, missed, reached
from towtank.sizing.history import History
from towtank.sizing.history_steps import evidence
from towtank.sizing.quantities import YEAR_D

START = date(2026, 1, 1)


@pytest.mark.parametrize("last", [0, 5, 6, 7, 12, 13, 14, 365, 2_000, 7_300])
def test_the_first_day_above_a_limit_follows_the_last_day_at_it(last: int) -> None:
    """At 20 % a year without uncertainty, the load equals the limit on a day and exceeds it on the next."""
    limit = 1.2 ** (last / YEAR_D)
    assert _first(GivenGrowth(1.2, 1.2, 1.2), [limit], 0.1) == last + 1


def test_a_limit_below_the_load_of_today_is_exceeded_today() -> None:
    assert _first(GivenGrowth(1.2, 1.2, 1.2), [0.99], 0.1) == 0
    assert _first(GivenGrowth(0.8, 0.8, 0.8), [0.99], 0.1) == 0
    assert _first(GivenGrowth(1.2, 1.2, 1.2), [1.2**20.01], 0.1) is None


@pytest.mark.parametrize(("chance", "years"), [(0.24, 1), (0.25, 2), (0.49, 2), (0.5, 3), (0.74, 3), (0.75, 4)])
def test_more_than_the_allowed_share_of_the_draws_must_be_exceeded(chance: float, years: int) -> None:
    """The first day is the day on which more than the fraction `chance` of the random limits is exceeded.

    The load exceeds the first of four limits in the first year, and one more in each further year. So 1/4 of the limits
    are exceeded in the first year: too many for 24 %, but not for 25 %.
    """
    limits = [1.2 ** (year - 0.5) for year in (1, 2, 3, 4)]
    found = _first(GivenGrowth(1.2, 1.2, 1.2), limits, chance)
    assert found == pytest.approx((years - 0.5) * YEAR_D, abs=1)


def test_each_draw_of_the_limit_meets_its_own_draw_of_the_growth() -> None:
    """Each random limit is compared with the random growth of the same sample.

    The growth is 10 to 40 % a year. So after a year, the load is 1.1 at slow growth (2.5 % quantile), and 1.4 at fast
    growth (97.5 % quantile). The limits are 1.1 and 1.4. If the low limit belongs to slow growth, both limits are
    exceeded after exactly a year. If it belongs to fast growth, it is exceeded after ln 1.1 / ln 1.4 years, and the
    high limit after ln 1.4 / ln 1.1 years.
    """
    growing, limits = GivenGrowth(1.2, 1.1, 1.4), [1.1, 1.4]
    same, other = (np.array(shares) for shares in ([0.025, 0.975], [0.975, 0.025]))
    assert _first(growing, limits, 0.4, same) == _first(growing, limits, 0.6, same) == 366
    early, late = (np.log(low) / np.log(high) * YEAR_D for low, high in ((1.1, 1.4), (1.4, 1.1)))
    assert _first(growing, limits, 0.4, other) == int(early) + 1
    assert _first(growing, limits, 0.6, other) == int(late) + 1


def test_the_expected_day_is_that_of_the_median_limit_unless_a_better_one_is_known() -> None:
    growing, limits = GivenGrowth(1.2, 1.2, 1.2), [1.2**0.5, 1.2, 1.2**4]
    assert reached(growing, START, limits, 0.1).expected == START + timedelta(days=366)
    assert reached(growing, START, limits, 0.1, best=1.2**2).expected == START + timedelta(days=731)
    assert reached(growing, START, limits, 0.1).between == (START + timedelta(days=183), START + timedelta(days=1462))


@pytest.fixture(scope="module")
def weekly() -> HistoricGrowth:
    """Return daily loads of 26 weeks that double; Fridays have twice the load of other days."""
    days = [date(2026, 1, 5) + timedelta(days=day) for day in range(182)]
    noise = np.exp(0.05 * np.random.default_rng(1).standard_normal(182))
    loads = noise * [2 ** (day / 182) * (2 if day % 7 == 4 else 1) for day in range(182)]
    return HistoricGrowth(History(tuple(days), loads, "weekly"), START)


@pytest.mark.parametrize("limit", [2.2, 2.3, 3.0])
def test_no_earlier_day_of_a_week_exceeds_the_limit(weekly: HistoricGrowth, limit: float) -> None:
    found = _first(weekly, [limit], 0.1)
    assert found is not None
    chances = [float(missed(weekly, day, np.array([limit]))[0]) for day in range(max(0, found - 15), found + 1)]
    assert chances[-1] > 0.1
    assert max(chances[:-1], default=0.0) <= 0.1


def test_both_halves_of_a_history_have_the_growth_of_two_joined_lines() -> None:
    """The note states the growth in both halves of a history, as statsmodels estimates it.

    The load falls by a tenth a year in the first half, and triples a year in the second. The fitted lines of both
    halves meet in the middle.
    """
    count = 365
    middle = (count - 1) / 2
    days = np.arange(count, dtype=float)
    late = np.maximum(days - middle, 0.0)
    logs = (np.log(0.9) * np.minimum(days, middle) + np.log(3.0) * late) / YEAR_D
    logs += 0.03 * np.random.default_rng(1).standard_normal(count)
    found = History(tuple(START + timedelta(days=day) for day in range(count)), np.exp(logs), "none")
    (note,) = [note for note in found.notes if "not constant" in note]
    fitted = sm.OLS(logs, np.column_stack([np.ones(count), days, late])).fit()
    texts = re.findall(r"\S+ \[\S+ \S+\](?= %)", note)
    assert "in the first half of the history" in note.partition(texts[1])[0]
    for text, contrast in zip(texts, ([0, 1, 0], [0, 1, 1]), strict=True):
        test = fitted.t_test(contrast)
        ends = [test.effect[0], *test.conf_int()[0]]
        numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]
        assert numbers == pytest.approx([100 * float(np.expm1(end * YEAR_D)) for end in ends], rel=0.02, abs=0.06)


def test_correlated_residuals_are_less_evidence_than_independent_ones() -> None:
    """The evidence between two fits counts as many residuals as are independent.

    The sums of the squared residuals have the ratio 4, so the evidence is n ln 4; each further parameter counts ln 20.
    Of 20 alternating residuals, all count: n = 20. Two blocks of ten equal residuals have the autocorrelation (9 + 9 -
    1) / 20 = 0.85, so only n = 20 (1 - 0.85) / (1 + 0.85) of them count.
    """
    alternating, blocks = np.tile([1.0, -1.0], 10), np.repeat([1.0, -1.0], 10)
    assert evidence(2 * alternating, alternating) == pytest.approx(20 * np.log(4))
    assert evidence(alternating, 2 * alternating, 3) == pytest.approx(-20 * np.log(4) + 3 * np.log(20))
    assert evidence(2 * alternating, blocks) == pytest.approx(20 * 0.15 / 1.85 * np.log(4))
    assert evidence(2 * blocks, alternating) == pytest.approx(20 * np.log(4)), (
        "the correlation is that of the residuals of the better fit"
    )
