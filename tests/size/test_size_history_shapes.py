"""Histories of various shapes: smooth growth must not be taken for a step, and forecasts of the highest load of a
period must be calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towtank.sizing.growth import HistoricGrowth
from towtank.sizing.history import History, read_history
from towtank.sizing.trend import SURE

WEEK = np.array([1.0, 0.98, 0.97, 0.96, 0.9, 0.6, 0.52])
START = date(2026, 1, 5)  # a Monday
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "doubles on a line": lambda t: 1 + t,
    "four times on a line": lambda t: 1 + 3 * t,
    "bends up to four times": lambda t: 1 + 3 * t * t,
    "saturates at three times": lambda t: 1 + 2 * (1 - np.exp(-3 * t)),
    "grows four times in its middle": lambda t: 1 + 3 / (1 + np.exp(-10 * (t - 0.5))),
    "doubles evenly": lambda t: 2**t,
}


def history(shape: Callable[[Any], Any], weeks: int, seed: int, *, noise: float = 0.03) -> History:
    """Return daily loads of whole weeks with a weekly season. `shape` maps the time, from 0 at the start to 1 at the
    end, to a relative load.
    """
    count = 7 * weeks
    days = tuple(START + timedelta(days=day) for day in range(count))
    loads = 300 * shape(np.arange(count) / count) * WEEK[[day.weekday() for day in days]]
    return History(days, loads * np.exp(noise * np.random.default_rng(seed).standard_normal(count)), "weekly")


@pytest.mark.parametrize("shape", list(SMOOTH))
def test_smooth_growth_is_no_step(shape: str) -> None:
    """Of 30 histories with smooth growth, ten each of 9, 26 and 52 weeks, at most 3 may be reported with a sudden step.
    The load grows to at least twice its value.
    """
    found = [history(SMOOTH[shape], weeks, seed) for weeks in (9, 26, 52) for seed in range(10)]
    assert sum(bool(each.steps) for each in found) <= 3


@pytest.mark.parametrize("shape", ["bends up to four times", "saturates at three times"])
def test_growth_that_is_not_even_is_a_doubt_with_both_halves(shape: str) -> None:
    found = history(SMOOTH[shape], 52, 1)
    (note,) = [note for note in found.notes if "not constant" in note]
    assert "in the first half of the history" in note
    assert "the forecast continues the mean of both" in note
    assert not any("not constant" in note for note in history(SMOOTH["doubles evenly"], 52, 1).notes)


@pytest.mark.parametrize("before", [1.0, 0.6, 1.3])
def test_a_step_beside_growth_is_found_on_its_day(before: float) -> None:
    """A launch on one day multiplies the load by 1.5 / `before`. In addition, the load may grow gradually by half."""
    for growth in (1.0, 1.5):
        for seed in range(5):
            found = history(lambda t, g=growth: np.where(t < 0.5, before, 1.5) * g**t, 26, seed)
            assert [abs((step - START).days - 91) <= 1 for step in found.steps] == [True]
            assert f"{START + timedelta(days=91):%Y-%m}" in found.notes[0]


@pytest.mark.waits
def test_the_highest_load_of_a_week_is_calibrated() -> None:
    """In a fraction p of 400 histories, the highest load of a week must be below the p-quantile of its forecast.

    The mean loads of four days differ by only 4 %, and the noise is 5 %, so any of them may have the highest load.
    """
    shares = np.array([0.1, 0.5, 0.9])
    below = np.zeros(len(shares))
    for seed in range(400):
        stream = np.random.default_rng(1000 + seed)
        found = history(lambda t: np.exp(0.0035 * 63 * t), 9, seed, noise=0.05)
        growing = HistoricGrowth(found, found.busiest_day())
        last = (growing.start - START).days + 56
        week = [last - back for back in range(7)]
        truth = [
            300 * np.exp(0.0035 * day) * WEEK[(START + timedelta(days=day)).weekday()]
            * np.exp(0.05 * stream.standard_normal())
            for day in week
        ]  # fmt: skip
        base = np.exp(found.level([growing.start])[0])
        below += max(truth) <= base * growing.drawn(56, shares)
    # A fraction of one half, estimated from 400 histories, has a standard error of sqrt(0.5 * 0.5 / 400) = 0.025. A
    # deviation of three standard errors is allowed.
    assert below / 400 == pytest.approx(shares, abs=0.075)


@pytest.mark.waits
def test_the_highest_load_of_a_year_is_calibrated() -> None:
    """In a fraction p of 150 histories, the highest load of a year must be below the p-quantile of its forecast.

    Each history has a load on every third day.
    """
    shares = np.array([0.1, 0.5, 0.9])
    months = np.array([1.0, 1.0, 1.05, 1.1, 1.0, 0.9, 0.8, 0.85, 1.0, 1.1, 1.25, 1.5])
    days = tuple(START + timedelta(days=3 * number) for number in range(244))
    ahead = tuple(days[-1] + timedelta(days=3 * number) for number in range(1, 123))
    below, medians = np.zeros(len(shares)), []
    for seed in range(150):
        stream = np.random.default_rng(3000 + seed)

        def loads(of: tuple[date, ...], stream: np.random.Generator = stream, first: date = days[0]) -> np.ndarray:
            line = np.exp(np.log(1.2) * np.array([(day - first).days for day in of]) / 365.25)
            noise = np.exp(0.1 * stream.standard_normal(len(of)))
            return 300 * line * months[[day.month - 1 for day in of]] * noise

        growing = HistoricGrowth(History(days, loads(days), "yearly"), days[-1])
        base = np.exp(growing.history.level([growing.start])[0])
        drawn = growing.drawn(366, shares)
        below += max(loads(ahead)) <= base * drawn
        line = max(growing.history.level([growing.start + timedelta(days=back) for back in range(366)]))
        medians.append(base * drawn[1] / np.exp(line))
    # A fraction of one half, estimated from 150 histories, has a standard error of sqrt(0.5 * 0.5 / 150) = 0.04. A
    # deviation of three standard errors is allowed.
    assert below / 150 == pytest.approx(shares, abs=0.12)
    assert 1.1 < np.mean(medians) < 1.25


def test_the_highest_load_of_a_year_does_not_depend_on_what_was_asked_before() -> None:
    """The forecast for a year that ends in its peak month must not change if forecasts for other days of this month
    were requested before.
    """
    days = tuple(START + timedelta(days=number) for number in range(700))
    noise = np.exp(0.1 * np.random.default_rng(1).standard_normal(len(days)))
    found = History(days, np.array([450.0 if day.month == 12 else 300.0 for day in days]) * noise, "yearly")
    shares, start = np.array([0.1, 0.5, 0.9]), date(2027, 6, 15)
    ends = [(date(2027, 12, day) - start).days for day in (1, 2, 8, 16, 31)]
    alone = [HistoricGrowth(found, start).drawn(end, shares) for end in ends]
    for order in (range(5), range(4, -1, -1)):
        growing = HistoricGrowth(found, start)
        for place in order:
            assert growing.drawn(ends[place], shares) == pytest.approx(alone[place], rel=1e-12)
    # The highest load of 31 days of the peak month is about 20 % above the load of its first day.
    assert 1.12 < alone[-1][1] / alone[0][1] < 1.3


def test_the_probability_of_a_day_and_the_draws_of_the_growth_agree() -> None:
    """The quantile for the probability p is used as a limit. The probability that the load exceeds it must be 1 - p."""
    found = history(SMOOTH["doubles evenly"], 12, 3, noise=0.08)
    growing = HistoricGrowth(found, found.busiest_day())
    shares = np.linspace(0.05, 0.95, 19)
    for days in (3, 10, 60, 300):
        back = growing.chances_above(days, growing.drawn(days, shares))
        assert back == pytest.approx(1 - shares, abs=2e-3)
        assert growing.chances_above(days, np.array([growing.factor(days)]))[0] == pytest.approx(0.5, abs=2e-3)


def straight(end: float, noise: float, seed: int = 3) -> History:
    """Return weekly loads over three years, on a straight line from 1,000 to `end`."""
    days = range(0, 1096, 7)
    loads = np.array([1000 + (end - 1000) * day / 1095 for day in days])
    loads *= 1 + noise * np.random.default_rng(seed).standard_normal(len(loads))
    return History(tuple(date(2023, 1, 1) + timedelta(days=day) for day in days), loads, "none")


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.03])
@pytest.mark.parametrize("end", [2000.0, 4000.0])
def test_a_straight_line_goes_on_as_a_line(end: float, noise: float) -> None:
    """A load that rises linearly from 1,000 to 4,000 in three years is forecast to reach 7,000 in three more years.
    Exponential growth would give 14,800.
    """
    found = straight(end, noise)
    assert (found.trend.form, found.steps, found.bent) == ("linear", (), False)
    growing = HistoricGrowth(found, found.days[-1])
    later = 3 * 365
    exact = (end + (end - 1000) * (later - (1095 - found.length_d)) / 1095) / (
        1000 + (end - 1000) * found.length_d / 1095
    )
    assert growing.factor(later) == pytest.approx(exact, rel=0.01 + noise)
    low, high = growing.interval(later)
    assert low < exact < high
    assert growing.otherwise is not None
    assert growing.otherwise.history.trend.form == "exponential"
    assert growing.otherwise.factor(later) > 1.2 * exact


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.03])
def test_exponential_growth_stays_exponential(noise: float) -> None:
    """A load that doubles in three years doubles again in the next three years."""
    days = range(0, 1096, 7)
    loads = np.array([1000 * 2 ** (day / 1095) for day in days])
    loads *= np.exp(noise * np.random.default_rng(5).standard_normal(len(loads)))
    found = History(tuple(date(2023, 1, 1) + timedelta(days=day) for day in days), loads, "none")
    assert found.trend.form == "exponential"
    assert found.margin < -SURE
    assert HistoricGrowth(found, found.days[-1]).factor(1095) == pytest.approx(2.0, rel=0.01 + noise)


def test_a_short_history_does_not_choose_a_line() -> None:
    """Nine weeks of 10 % growth with 3 % noise fit a line and exponential growth equally well. The forecast then uses
    the form that grows faster.
    """
    days = tuple(date(2026, 1, 1) + timedelta(days=day) for day in range(63))
    loads = np.linspace(1000, 1100, 63) * np.exp(0.03 * np.random.default_rng(1).standard_normal(63))
    found = History(days, loads, "none")
    assert abs(found.margin) <= SURE
    assert found.trend.form == "exponential"


@pytest.mark.parametrize("noise", [0.0005, 0.01, 0.03])
def test_exponential_growth_forced_on_a_line_is_not_even(noise: float) -> None:
    """If exponential growth is fitted to a linear history, the growth must be marked as uneven (`bent`). This holds at
    each noise, even if the misfit shows only in the curvature.
    """
    assert replace(straight(4000.0, noise), asked="exponential").bent
    assert not straight(4000.0, noise).bent


def test_the_interval_of_a_line_covers_the_line() -> None:
    """The 95 % interval of the yearly growth must contain the true growth in 180 to 198 of 200 histories."""
    held = 0
    for seed in range(200):
        found = straight(3000.0, 0.03, seed)
        low, high = found.yearly_interval
        slope = 2000 / 1095
        exact = 1 + slope * 365.25 / (1000 + slope * found.length_d)
        held += found.trend.form == "linear" and low <= exact <= high
    assert 180 <= held <= 198


def test_a_falling_load_is_exponential_whatever_is_asked() -> None:
    days = tuple(date(2026, 1, 1) + timedelta(days=day) for day in range(100))
    found = History(days, 1000 - 5.0 * np.arange(100), "none", "linear")
    assert found.trend.form == "exponential"
    assert found.yearly < 1


def test_months_are_dates_and_are_counted_as_months(tmp_path: Path) -> None:
    months = [f"{1949 + place // 12}-{place % 12 + 1:02d}" for place in range(144)]
    path = tmp_path / "months.csv"
    path.write_text("date,users\n" + "".join(f"{month},{100 + place}\n" for place, month in enumerate(months)), "utf-8")
    found = read_history(path, "date", "users", "none")
    assert found.days[0] == date(1949, 1, 1)
    assert found.extent == "144 months"


@pytest.mark.parametrize("end", [2000.0, 4000.0])
def test_the_rate_of_a_line_is_that_of_its_last_day(end: float) -> None:
    """The load rises by the same amount each day, so its relative rate is this amount divided by the last load."""
    found = straight(end, 1e-6)
    daily = (end - 1000) / 1095
    assert found.slope == pytest.approx(daily / (1000 + daily * found.length_d), rel=1e-3)
    assert found.yearly == pytest.approx(1 + 365.25 * found.slope, rel=1e-3)
