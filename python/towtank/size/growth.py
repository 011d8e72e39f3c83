"""How a load grows: by a rate given with its interval, or by a history with what the future may add to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from towtank.analysis.statistics.robust import Floats
from towtank.size.highest_day import HighestDay
from towtank.size.history import History
from towtank.size.interval import ENDS
from towtank.size.quantities import YEAR_D

NORMAL_95 = float(norm.ppf(0.975))
FARTHEST_D = 20 * YEAR_D
"""Nobody knows a load so far ahead; a later date is told as none. [d]"""


def _logarithms(factors: Floats) -> Floats:
    """Logarithms of factors; that of a limit of 0 is below every load."""
    return np.asarray(np.log(np.maximum(factors, 1e-300)), dtype=float)


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

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Probabilities that the load after `days` exceeds `factors` times the load of the start. [ratio]"""

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Quantiles of the factor of the load after `days`, at probabilities in (0, 1). [1]"""

    @property
    def certain(self) -> bool:
        """Whether the growth has no interval."""


@dataclass(frozen=True)
class GivenGrowth:
    """Growth that the user expects: a log-normal of two pieces through its median and the ends of its interval.

    Attributes
    ----------
    yearly : float
        Median of the factor of one year, > 0. [1]
    low, high : float
        Its quantiles of 2.5 and 97.5 %, `low <= yearly <= high`; both equal `yearly` without an interval. [1]

    Notes
    -----
    ln g = ln m + w z, z standard normal, w = ln(m / low) / 1.96 below the median m and ln(high / m) / 1.96 above it, so
    each side has probability 1/2. If m / low = high / m it is the ordinary log-normal; if an end equals the median, the
    median itself has the probability of that side.
    """

    yearly: float
    low: float
    high: float
    source: str = "growth given"
    notes: tuple[str, ...] = ()

    def _widths(self, above: npt.NDArray[np.bool_]) -> Floats:
        """Standard deviation of the logarithm of the factor of one year, above or below the median. [1]"""
        lower, upper = math.log(self.yearly / self.low), math.log(self.high / self.yearly)
        return np.asarray(np.where(above, upper, lower) / NORMAL_95, dtype=float)

    def factor(self, days: float) -> float:
        """Expected load after some days over that of the start. [1]"""
        return float(self.yearly ** (days / YEAR_D))

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Probabilities that the load after `days` exceeds `factors` times the load of the start. [ratio]"""
        beyond = _logarithms(factors) - math.log(self.yearly) * days / YEAR_D
        widths = self._widths(beyond >= 0) * days / YEAR_D
        # If an end of the interval equals the growth, that side has no width and no probability.
        wide = widths > 1e-12
        sharp = (beyond < -1e-9).astype(float)
        return np.asarray(np.where(wide, norm.sf(beyond / np.where(wide, widths, 1.0)), sharp), dtype=float)

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""
        return float(self.low ** (days / YEAR_D)), float(self.high ** (days / YEAR_D))

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Quantiles of the factor of the load after `days`. [1]"""
        scores = norm.ppf(shares)
        logarithms = math.log(self.yearly) + scores * self._widths(scores > 0)
        return np.asarray(np.exp(logarithms * days / YEAR_D), dtype=float)

    @property
    def certain(self) -> bool:
        """Whether the growth has no interval: both ends equal it."""
        return self.low == self.high


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
    Least squares of ln N = a + b t + s(t). The load of a future day has the variance s^2 (1 + x' (X'X)^-1 x) and a
    Student distribution with n - p degrees of freedom [1]_; with the frequency of the days left out of the slope, it
    lies as far from the line as one of these (`FurtherDay`). Assumes that growth continues and that residuals are
    independent. If neighbouring residuals are correlated, the interval is too narrow, and a note states it.

    References
    ----------
    .. [1] N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd ed., Wiley, 1998, section 5.3,
           doi:10.1002/9781118625590.
    """

    history: History
    start: date

    source: str = "history"
    _tables: dict[tuple[int, int, int], HighestDay] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.history.notes

    @property
    def yearly(self) -> float:
        """Factor of one year, without its season. [1]"""
        return math.exp(self.history.slope * YEAR_D)

    def factor(self, days: float) -> float:
        """The highest load of the season that ends then, over that of the start: of a week its median. [1]"""
        if self.history.season == "weekly":
            return float(self.drawn(days, np.array([0.5]))[0])
        return float(np.exp(max(self.history.level(self._cycle(days))) - self._level))

    def _cycle(self, days: float) -> list[date]:
        """Days of the season that ends after `days`, without days before the start."""
        last = self.start + timedelta(days=days)
        count = min(self.history.cycle_d, max(1, math.ceil(days) + 1))
        return [last - timedelta(days=back) for back in range(count)]

    def _highest(self, days: float, cycle: list[date]) -> HighestDay:
        """Distribution of the highest day of a week, tabulated once for each weekday and four weeks."""
        key = (len(cycle), cycle[0].weekday(), int(days // 28))
        if key not in self._tables:
            history = self.history
            self._tables[key] = HighestDay.of(
                history.further, history.level(cycle) - self._level, history.deviation(cycle), history.noise
            )
        return self._tables[key]

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Quantiles of the highest load of the season that ends after `days`, over the load of the start. [1]"""
        cycle = self._cycle(days)
        if self.history.season == "weekly":
            shares = self._highest(days, cycle).of_one(shares)
        middles = self.history.level(cycle) - self._level
        deviations = self.history.deviation(cycle)
        rows = np.broadcast_to(shares, (len(cycle), len(shares)))
        widths = self.history.further.quantiles(rows, np.broadcast_to(deviations[:, None], rows.shape))
        highest = (middles[:, None] + widths).max(axis=0)
        return np.asarray(np.exp(highest), dtype=float)

    @property
    def certain(self) -> bool:
        """False: the residuals of a history give an interval."""
        return False

    @property
    def _level(self) -> float:
        return float(self.history.level([self.start])[0])

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Probabilities that the load exceeds `factors` times that of the start, after `days` or on a day of the week
        that ends then. [ratio]"""
        weekly = self.history.season == "weekly"
        then = self._cycle(days) if weekly else [self.start + timedelta(days=days)]
        middles, deviations = self.history.level(then) - self._level, self.history.deviation(then)
        logarithms, further = _logarithms(factors), self.history.further
        chances = [
            further.chances_above(logarithms - middle, np.full(len(logarithms), width))
            for middle, width in zip(middles, deviations, strict=True)
        ]
        highest = np.asarray(np.max(chances, axis=0), dtype=float)
        return 1 - self._highest(days, then).below(1 - highest) if weekly else highest

    def interval(self, days: float) -> tuple[float, float]:
        """Between what the factor lies with 95 %. [1]"""
        then = [self.start + timedelta(days=days)]
        middle = float(self.history.level(then)[0]) - self._level
        low, high = self.history.further.quantiles(np.array([0.025, 0.975]), np.repeat(self.history.deviation(then), 2))
        return math.exp(middle + low), math.exp(middle + high)


def _times_until(days: float) -> tuple[float, float, float]:
    """Today, after a week, and the horizon: at one of them a load that grows or shrinks is highest. [d]"""
    return 0.0, min(7.0, days), days


def highest_factor(growing: Growing, days: float) -> float:
    """Highest expected load from today until the horizon, over that of today; at least that of today. [1]"""
    return max(growing.factor(time) for time in _times_until(days))


def highest_drawn(growing: Growing, days: float, shares: Floats) -> Floats:
    """Quantiles of the highest load from today until the horizon, over that of today. [1]"""
    return np.asarray(np.max([growing.drawn(time, shares) for time in _times_until(days)], axis=0), dtype=float)


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
    between : (date or None, date or None)
        First days with a chance of 2.5 % and of 97.5 %: the interval of the day on which the limit is passed.
    """

    day: date | None
    days: int | None
    expected: date | None
    between: tuple[date | None, date | None] = (None, None)


def reached(
    growing: Growing,
    start: date,
    limits: Sequence[float] | Floats,
    chance: float,
    shares: Floats | None = None,
    *,
    best: float | None = None,
) -> Reached:
    """Find the first day on which the load exceeds a limit with more than the allowed probability.

    Parameters
    ----------
    growing : Growing
    start : date
    limits : sequence of float
        Draws of the limit, over the load of the start. [1]
    chance : float
        Allowed, in (0, 1). [ratio]
    shares : ndarray of shape (n_limits,), optional
        Draws of the growth, one for each limit, as `Growing.drawn` takes them, so that a day is missed in the same
        draws as in the probability. By default every limit is compared with the whole distribution of the growth.
    best : float, optional
        Best estimate of the limit; by default the median of the draws. [1]
    """
    day = _first(growing, limits, chance, shares)
    half = _first(growing, [float(np.median(limits)) if best is None else best], 0.5)
    ends = [_first(growing, limits, share) for share in ENDS]
    dates = [None if days is None else start + timedelta(days=days) for days in (day, half, *ends)]
    return Reached(dates[0], day, dates[1], (dates[2], dates[3]))


def missed(growing: Growing, day: int, factors: Floats, shares: Floats | None = None) -> Floats:
    """Chances that limits are exceeded on a day; with the growth of their draws, `shares`, they are 0 or 1. [ratio]"""
    chances = growing.chances_above(day, factors)
    return chances if shares is None else np.asarray(chances > 1 - shares, dtype=float)


def _first(
    growing: Growing, limits: Sequence[float] | Floats, chance: float, shares: Floats | None = None
) -> int | None:
    """The first day, from coarse steps to single days; seasons are a week or a year long."""

    factors = np.asarray(limits, dtype=float)

    def above(day: int) -> bool:
        return float(np.mean(missed(growing, day, factors, shares))) > chance

    step = 7
    found = next(
        (day for day in range(0, int(FARTHEST_D), step) if any(above(one) for one in _week(day, growing))), None
    )
    if found is None:
        return None
    return next((day for day in range(max(0, found - step), found + step) if above(day)), found)


def _week(day: int, growing: Growing) -> range:
    """Days to look at: with a weekly season the last of the week, whose chance is that of the week; else the first."""
    weekly = isinstance(growing, HistoricGrowth) and growing.history.season == "weekly"
    return range(day + 6, day + 7) if weekly else range(day, day + 1)
