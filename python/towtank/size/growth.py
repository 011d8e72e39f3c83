"""How a load grows: by a rate given with its interval, or by a history with what the future may add to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol

import numpy as np
from scipy.stats import norm, t

from towtank.size.history import History
from towtank.size.quantities import YEAR_D

NORMAL_95 = float(norm.ppf(0.975))
FARTHEST_D = 20 * YEAR_D
"""Nobody knows a load so far ahead; a later date is told as none. [d]"""


class Growing(Protocol):
    """What tells the load of a later day."""

    @property
    def source(self) -> str:
        """Where it is from."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the answer."""

    @property
    def yearly(self) -> float:
        """Factor of one year. [1]"""

    def factor(self, days: float) -> float:
        """Expected load after some days over that of the start. [1]"""

    def chance_above(self, days: float, factor: float) -> float:
        """Probability that the load is then more than so many times that of the start. [ratio]"""

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""


@dataclass(frozen=True)
class GivenGrowth:
    """Growth as somebody expects it: log-normal between the ends given, certain where there are none.

    Attributes
    ----------
    yearly : float
        Factor of one year, > 0. [1]
    low, high : float
        Between what it lies with 95 %. [1]
    """

    yearly: float
    low: float
    high: float
    source: str = "growth given"
    notes: tuple[str, ...] = ()

    @property
    def _spread(self) -> float:
        """Standard deviation of the logarithm of the factor of one year. [1]"""
        return (math.log(self.high) - math.log(self.low)) / 2 / NORMAL_95

    def factor(self, days: float) -> float:
        """Expected load after some days over that of the start. [1]"""
        return float(self.yearly ** (days / YEAR_D))

    def chance_above(self, days: float, factor: float) -> float:
        """Probability that the load is then more than so many times that of the start. [ratio]"""
        if factor <= 0:
            return 1.0
        beyond = math.log(factor) - math.log(self.yearly) * days / YEAR_D
        width = self._spread * days / YEAR_D
        # A millionth is below what dates tell: with equal ends the load is known.
        return 0.5 * math.erfc(beyond / width / math.sqrt(2)) if width > 1e-12 else float(beyond < -1e-9)

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""
        middle, width = math.log(self.yearly) * days / YEAR_D, NORMAL_95 * self._spread * days / YEAR_D
        return math.exp(middle - width), math.exp(middle + width)


@dataclass(frozen=True)
class HistoricGrowth:
    """Growth from a history: the logarithm of the load on the time, with a factor for each part of a season.

    Attributes
    ----------
    history : History
    start : date
        Day of the load now; factors are over the load that the line has on this day.

    Notes
    -----
    Least squares of ln N = a + b t + s(t); the load of a further day has the variance s^2 (1 + x' (X'X)^-1 x) and the
    distribution of Student with n - p degrees of freedom [1]_. Assumes that growth goes on as it did, and residuals
    that do not resemble their neighbours; where they do, a note says so and the interval is too narrow.

    References
    ----------
    .. [1] N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd ed., Wiley, 1998, section 5.3,
           doi:10.1002/9781118625590.
    """

    history: History
    start: date

    source: str = "history"

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.history.notes

    @property
    def yearly(self) -> float:
        """Factor of one year, without its season. [1]"""
        return math.exp(self.history.slope * YEAR_D)

    def factor(self, days: float) -> float:
        """The highest load of the season that ends then, over that of the start. [1]"""
        last = self.start + timedelta(days=days)
        cycle = self.history.cycle_d
        days_of = [last - timedelta(days=back) for back in range(min(cycle, max(1, math.ceil(days) + 1)))]
        return float(np.exp(max(self.history.level(days_of)) - self._level))

    @property
    def _level(self) -> float:
        return float(self.history.level([self.start])[0])

    def chance_above(self, days: float, factor: float) -> float:
        """Probability that the load is then more than so many times that of the start. [ratio]"""
        if factor <= 0:
            return 1.0
        then = [self.start + timedelta(days=days)]
        beyond = math.log(factor) + self._level - self.history.level(then)[0]
        return float(t.sf(beyond / self.history.deviation(then)[0], self.history.freedom))

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""
        then = [self.start + timedelta(days=days)]
        middle = float(self.history.level(then)[0]) - self._level
        width = float(t.ppf(0.975, self.history.freedom) * self.history.deviation(then)[0])
        return math.exp(middle - width), math.exp(middle + width)


@dataclass(frozen=True)
class Reached:
    """When a load passes a limit.

    Attributes
    ----------
    day : date or None
        First day on which the chance is more than allowed; None where that is farther than anybody knows.
    days : int or None
        From the start. [d]
    expected : date or None
        Day on which the expected load passes the limit, that is with a chance of one half.
    """

    day: date | None
    days: int | None
    expected: date | None


def reached(growing: Growing, start: date, limits: Sequence[float], chance: float) -> Reached:
    """The first day on which the load is above a limit with more than a chance.

    Parameters
    ----------
    growing : Growing
    start : date
    limits : sequence of float
        Draws of the limit, over the load of the start. [1]
    chance : float
        Allowed, in (0, 1). [ratio]
    """
    day = _first(growing, limits, chance)
    half = _first(growing, [float(np.median(limits))], 0.5)
    told = [None if one is None else start + timedelta(days=one) for one in (day, half)]
    return Reached(told[0], day, told[1])


def _first(growing: Growing, limits: Sequence[float], chance: float) -> int | None:
    """The first day, from coarse steps to single days; seasons are a week or a year long."""

    def above(day: int) -> bool:
        return float(np.mean([growing.chance_above(day, limit) for limit in limits])) > chance

    step = 7
    found = next(
        (day for day in range(0, int(FARTHEST_D), step) if any(above(one) for one in _week(day, growing))), None
    )
    if found is None:
        return None
    return next((day for day in range(max(0, found - step), found + step) if above(day)), found)


def _week(day: int, growing: Growing) -> range:
    """Days to look at: each where a week has a season, else the first one."""
    weekly = isinstance(growing, HistoricGrowth) and growing.history.season == "weekly"
    return range(day, day + 7) if weekly else range(day, day + 1)
