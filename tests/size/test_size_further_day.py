"""Histories in which some days are far from the fitted line. The forecast must expect such days as often as they
occurred.
"""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pytest
from scipy.stats import norm, t

from towtank.sizing.further_day import FurtherDay
from towtank.sizing.growth import HistoricGrowth
from towtank.sizing.history import History

GROWTH, NOISE, PEAK, DAYS = 0.0005, 0.05, 1.6, 364


def with_peaks(every: int) -> HistoricGrowth:
    """Return a year of daily loads with growth of 0.05 % a day and 5 % of noise. On every `every`-th day the load is
    1.6 times as high.
    """
    start, times = date(2025, 11, 24), np.arange(DAYS)
    peaks = np.where(times % every == every - 1, PEAK, 1.0)
    noise = np.exp(NOISE * np.random.default_rng(2).standard_normal(DAYS))
    days = tuple(start + timedelta(days=int(day)) for day in times)
    history = History(days, 300 * np.exp(GROWTH * times) * peaks * noise, "none")
    return HistoricGrowth(history, days[-1])


def true_chance(factor: float, every: int) -> float:
    """Return the probability that the load a year ahead exceeds `factor` times the load at the start of the fitted
    line.

    The load is a mixture of two log-normal distributions: of usual days and of days with peaks.
    """
    over = math.log(factor) - GROWTH * 365
    ordinary, peak = norm.sf(over / NOISE), norm.sf((over - math.log(PEAK)) / NOISE)
    return float((1 - 1 / every) * ordinary + peak / every)


@pytest.mark.parametrize("every", [30, 14, 7, 5])
def test_recurring_days_count_in_the_load_of_a_future_day(every: int) -> None:
    """The forecast must expect days with 1.6 times the load as often as the history has them.

    The load grows by a factor of 1.2 in a year. With such days, the 99 % quantile of the load a year ahead is about 1.6
    x 1.2 = 1.92 times that of today. Without them, noise of 5 % would make it 1.2 exp(2.33 x 5 %) = 1.35.
    """
    growing = with_peaks(every)
    # Days with peaks do not change the estimated growth, which is exp(0.0005 x 365) = 1.2 in a year.
    assert growing.factor(365) == pytest.approx(math.exp(GROWTH * 365), rel=0.04)
    for share in (0.9, 0.99):
        factor = float(growing.drawn(365, np.array([share]))[0])
        # The noise of the 364 days and the error of the slope change the probability by up to a quarter of its value.
        assert true_chance(factor, every) <= 1.25 * (1 - share)
        assert growing.chances_above(365, np.array([factor]))[0] == pytest.approx(1 - share, abs=1e-6)
    assert growing.drawn(365, np.array([0.99]))[0] == pytest.approx(1.6 * 1.2, rel=0.15)


def test_recurring_days_are_a_doubt_with_their_number() -> None:
    assert any("12 of 364 days lie far from the line" in note for note in with_peaks(30).history.notes)


def test_a_single_outage_hardly_moves_the_load_of_a_future_day() -> None:
    days = tuple(date(2025, 1, 1) + timedelta(days=day) for day in range(DAYS))
    loads = 300 * np.exp(NOISE * np.random.default_rng(3).standard_normal(DAYS))
    clean = HistoricGrowth(History(days, loads.copy(), "none"), days[-1])
    loads[100] *= 0.05
    loads[100] *= 0.05
    found = HistoricGrowth(History(days, loads, "none"), days[-1])
    shares = np.array([0.5, 0.9, 0.99])
    assert found.drawn(30, shares) == pytest.approx(clean.drawn(30, shares), rel=0.005)
    assert not any("days lie far" in note for note in found.history.notes)


def test_the_quantiles_of_a_future_day_are_those_of_its_mixture() -> None:
    further = FurtherDay(50, 0.2, np.array([0.4, 0.6]))
    shares, deviation = np.array([0.01, 0.5, 0.9, 0.99]), np.full(4, 0.05)
    found = further.quantiles(shares, deviation)
    below = (
        0.8 * t.cdf(found / 0.05, 50) + 0.1 * t.cdf((found - 0.4) / 0.05, 50) + 0.1 * t.cdf((found - 0.6) / 0.05, 50)
    )
    assert below == pytest.approx(shares, abs=1e-9)
    ordinary = FurtherDay(50, 0.0, np.zeros(0)).quantiles(shares, deviation)
    assert ordinary == pytest.approx(0.05 * t.ppf(shares, 50), rel=1e-12)


def test_joining_many_far_days_keeps_their_mean_probability() -> None:
    misses = np.random.default_rng(4).normal(0.5, 0.02, 1000)
    beyond = np.array([0.1, 0.5, 0.6])
    found = FurtherDay(500, 0.1, misses).chances_above(beyond, np.full(3, 0.05))
    each = np.mean(t.sf((beyond[:, None] - misses[None, :]) / 0.05, 500), axis=1)
    assert found == pytest.approx(0.9 * t.sf(beyond / 0.05, 500) + 0.1 * each, abs=1e-4)
