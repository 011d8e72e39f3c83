"""Models the growth of a load: a yearly rate that the user states, or a history that is extrapolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Protocol

import numpy as np
import numpy.typing as npt

from towtank.arrays import Floats
from towtank.distributions import normal_quantile, normal_tail
from towtank.sizing.highest_day import HighestDay
from towtank.sizing.history import History
from towtank.sizing.interval import ENDS
from towtank.sizing.quantities import YEAR_D

NORMAL_95 = normal_quantile(0.975)
FARTHEST_D = 20 * YEAR_D
"""Horizon of predictions: no load is predicted and no date is reported that is farther in the future. [d]"""


def _logarithms(factors: Floats) -> Floats:
    """Return the logarithms of load factors. A factor of 0 is replaced by a tiny positive number."""
    return np.asarray(np.log(np.maximum(factors, 1e-300)), dtype=float)


class GrowthModel(Protocol):
    """Interface of growth models, which predict the load on a later day."""

    @property
    def source(self) -> str:
        """Origin of the growth of the load, as text for reports."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the growth that qualify the sizing answer."""

    @property
    def yearly(self) -> float:
        """Growth factor of the load in one year. [1]"""

    def factor(self, days: float) -> float:
        """Return the expected load after `days`, relative to the load on the first day. [1]"""

    def trend(self, days: float) -> float:
        """Return the growth of the load after `days` without its season, as a factor of the load on the first day.
        [1]
        """

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Return the probability that the load after `days` exceeds each factor. Factors are relative to the load on
        the first day.
        """

    def interval(self, days: float) -> tuple[float, float]:
        """Return the lower and upper end of the 95 % confidence interval of the growth factor after `days`. [1]"""

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Return quantiles of the load after `days`, relative to the load on the first day. [1]

        `shares` are the probabilities of the quantiles, in (0, 1).
        """

    @property
    def certain(self) -> bool:
        """True if the growth counts as certain, because it is stated without an interval."""


@dataclass(frozen=True)
class GivenGrowth:
    """Growth that the user states: a log-normal distribution with different widths below and above its median.

    Attributes
    ----------
    yearly : float
        Median of the growth factor of one year, > 0. [1]
    low, high : float
        2.5 % and 97.5 % quantiles of the factor, `low <= yearly <= high`; both equal `yearly` without an interval. [1]

    Notes
    -----
    ln g = ln m + w z for the yearly factor g, with z standard normal. The width w is ln(m / low) / 1.96 below the
    median m and ln(high / m) / 1.96 above the median, so each side has probability 1/2. If m / low = high / m, this is
    the ordinary log-normal distribution. If an end equals the median, the median itself has the probability 1/2 of that
    side.
    """

    yearly: float
    low: float
    high: float
    source: str = "growth given"
    notes: tuple[str, ...] = ()

    def _widths(self, above: npt.NDArray[np.bool_]) -> Floats:
        """Return the standard deviation of the logarithm of the yearly growth factor, above or below the median. [1]"""
        lower, upper = math.log(self.yearly / self.low), math.log(self.high / self.yearly)
        return np.asarray(np.where(above, upper, lower) / NORMAL_95, dtype=float)

    def factor(self, days: float) -> float:
        """Return the expected load after `days`, relative to the load on the first day. [1]"""
        return float(self.yearly ** (days / YEAR_D))

    def trend(self, days: float) -> float:
        """Return the growth of the load after `days`, which has no season, as a factor of the load on the first day.
        [1]
        """
        return self.factor(days)

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Return the probability that the load after `days` exceeds each factor. Factors are relative to the load on
        the first day. [ratio]
        """
        beyond = _logarithms(factors) - math.log(self.yearly) * days / YEAR_D
        widths = self._widths(beyond >= 0) * days / YEAR_D
        # If an end of the interval equals the median, the probability beyond this end is 0.
        wide = widths > 1e-12
        sharp = (beyond < -1e-9).astype(float)
        return np.asarray(np.where(wide, normal_tail(beyond / np.where(wide, widths, 1.0)), sharp), dtype=float)

    def interval(self, days: float) -> tuple[float, float]:
        """Return the lower and upper end of the 95 % confidence interval of the growth factor after `days`. [1]"""
        return float(self.low ** (days / YEAR_D)), float(self.high ** (days / YEAR_D))

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Return quantiles of the load after `days`, relative to the load on the first day. [1]"""
        scores = normal_quantile(shares)
        logarithms = math.log(self.yearly) + scores * self._widths(scores > 0)
        return np.asarray(np.exp(logarithms * days / YEAR_D), dtype=float)

    @property
    def certain(self) -> bool:
        """True if the growth has no interval, that is, if `low` and `high` are equal."""
        return self.low == self.high


@dataclass(frozen=True)
class HistoricGrowth:
    """Growth extrapolated from a history, by a line through the logarithms of the loads and a seasonal pattern.

    Attributes
    ----------
    start : date
        Day of the current load; all factors are relative to the load of the growth line on this day.

    Notes
    -----
    The line ln N = a + b t + s(t), with load N, day t and season s, is fitted by least squares. The logarithm of the
    load on a future day has a Student distribution with n - p degrees of freedom and the variance s^2 (1 + x' (X'X)^-1
    x) [1]_. The fit excludes outliers, but they are
    expected to recur as often as in the history, and as far from the line (`FurtherDay`). The method assumes that the
    growth continues and that residuals are independent. If neighbouring residuals are correlated, the interval is too
    narrow, and a note states this.

    References
    ----------
    .. [1] N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd ed., Wiley, 1998, section 5.3,
           doi:10.1002/9781118625590.
    """

    history: History
    start: date

    source: str = "history"
    _tables: dict[tuple[float, ...], HighestDay] = field(default_factory=dict, init=False, repr=False, compare=False)
    _seasons: dict[float, tuple[list[date], Floats]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the growth that qualify the sizing answer."""
        return self.history.notes

    @property
    def otherwise(self) -> HistoricGrowth | None:
        """Growth in the form (linear or exponential) that was not chosen; None if only one form was fitted."""
        if not self.history.margin:
            return None
        other = "exponential" if self.history.trend.form == "linear" else "linear"
        return replace(self, history=replace(self.history, asked=other))

    @property
    def yearly(self) -> float:
        """Growth factor of the load in one year, without the seasonal pattern. [1]"""
        return self.history.yearly

    def factor(self, days: float) -> float:
        """Return the median of the highest load in the season that ends after `days`, relative to the load on the first
        day. [1]

        Without a season, this is the value of the growth line after `days`.
        """
        if self.history.season == "none":
            return float(np.exp(self.history.level(self._cycle(days))[0] - self._level))
        return float(self.drawn(days, np.array([0.5]))[0])

    def trend(self, days: float) -> float:
        """Return the growth of the load after `days` without its season, as a factor of the load on the first day.
        [1]
        """
        later = self.history.trend_level([self.start, self.start + timedelta(days=days)])
        return float(np.exp(later[1] - later[0]))

    def _cycle(self, days: float) -> list[date]:
        """Return the dates of the season that ends `days` days after the start; dates before the start are left out."""
        last = self.start + timedelta(days=days)
        count = min(self.history.cycle_d, max(1, math.ceil(days) + 1))
        return [last - timedelta(days=back) for back in range(count)]

    def _peaks(self, days: float) -> tuple[list[date], Floats]:
        """Return days of the season that ends after `days`, and the number of days that each of these days represents.

        In a yearly season, the day with the highest expected load represents its month. In other seasons, each day
        represents only itself.
        """
        if days not in self._seasons:
            self._seasons[days] = self._season(days)
        return self._seasons[days]

    def _season(self, days: float) -> tuple[list[date], Floats]:
        cycle = self._cycle(days)
        if self.history.season != "yearly":
            return cycle, np.ones(len(cycle))
        levels = dict(zip(cycle, self.history.level(cycle), strict=True))
        months: dict[tuple[int, int], list[date]] = {}
        for each in cycle:
            months.setdefault((each.year, each.month), []).append(each)
        counts = [max(1.0, len(month) / self.history.spacing_d) for month in months.values()]
        return [max(month, key=lambda each: levels[each]) for month in months.values()], np.array(counts)

    def _highest(self, days: float) -> HighestDay:
        """Return the distribution of the highest load in a season, as a table that is computed once and reused.

        With a weekly season, days on the same weekday within four weeks share a table. Otherwise each day has its own
        table.
        """
        peaks, counts = self._peaks(days)
        weekly = self.history.season == "weekly"
        key = (len(peaks), peaks[0].weekday(), days // 28) if weekly else (days,)
        if key not in self._tables:
            history = self.history
            self._tables[key] = HighestDay.of(
                history.further, history.level(peaks) - self._level, history.deviation(peaks), history.noise, counts
            )
        return self._tables[key]

    def drawn(self, days: float, shares: Floats) -> Floats:
        """Return quantiles of the highest load in the season that ends after `days`, relative to the load on the first
        day. [1]
        """
        peaks, _ = self._peaks(days)
        if self.history.season != "none":
            shares = self._highest(days).of_one(shares)
        middles = self.history.level(peaks) - self._level
        deviations = self.history.deviation(peaks)
        rows = np.broadcast_to(shares, (len(peaks), len(shares)))
        widths = self.history.further.quantiles(rows, np.broadcast_to(deviations[:, None], rows.shape))
        highest = (middles[:, None] + widths).max(axis=0)
        return np.asarray(np.exp(highest), dtype=float)

    @property
    def certain(self) -> bool:
        """Always False, since the residuals of a history make its growth uncertain."""
        return False

    @property
    def _level(self) -> float:
        return float(self.history.level([self.start])[0])

    def chances_above(self, days: float, factors: Floats) -> Floats:
        """Return the probability that the load exceeds each factor. Factors are relative to the load on the first day.
        [ratio]

        With a season, the load is the highest in the season that ends after `days`; otherwise it is the load on that
        day.
        """
        then, _ = self._peaks(days)
        middles, deviations = self.history.level(then) - self._level, self.history.deviation(then)
        logarithms, further = _logarithms(factors), self.history.further
        chances = [
            further.chances_above(logarithms - middle, np.full(len(logarithms), width))
            for middle, width in zip(middles, deviations, strict=True)
        ]
        highest = np.asarray(np.max(chances, axis=0), dtype=float)
        return highest if self.history.season == "none" else 1 - self._highest(days).below(1 - highest)

    def interval(self, days: float) -> tuple[float, float]:
        """Return the lower and upper end of the 95 % confidence interval of the growth factor after `days`. [1]"""
        then = [self.start + timedelta(days=days)]
        middle = float(self.history.level(then)[0]) - self._level
        low, high = self.history.further.quantiles(np.array([0.025, 0.975]), np.repeat(self.history.deviation(then), 2))
        return math.exp(middle + low), math.exp(middle + high)


def _times_until(growing: GrowthModel, days: float) -> tuple[float, float, float]:
    """Return three times since today at which the load may be highest: zero, the end of the first season, and the
    horizon. [d]

    """
    season = growing.history.cycle_d if isinstance(growing, HistoricGrowth) else 0
    return 0.0, min(float(season), days), days


def highest_factor(growing: GrowthModel, days: float) -> float:
    """Return the highest expected load between today and the horizon, relative to the load of today; at least 1. [1]"""
    return max(growing.factor(time) for time in _times_until(growing, days))


def highest_drawn(growing: GrowthModel, days: float, shares: Floats) -> Floats:
    """Return quantiles of the highest load between today and the horizon, relative to the load of today. [1]"""
    return np.asarray(
        np.max([growing.drawn(time, shares) for time in _times_until(growing, days)], axis=0), dtype=float
    )


@dataclass(frozen=True)
class LimitDates:
    """Dates on which a growing load exceeds a limit: first day on which this is more probable than allowed, `days` from
    the start [d], None if later than `FARTHEST_D`; first day of probability 1/2; and its interval, from the first days
    of probability 2.5 % and 97.5 %.
    """

    day: date | None
    days: int | None
    expected: date | None
    between: tuple[date | None, date | None] = (None, None)


def reached(
    growing: GrowthModel,
    start: date,
    limits: Sequence[float] | Floats,
    chance: float,
    shares: Floats | None = None,
    *,
    best: float | None = None,
) -> LimitDates:
    """Find the first day on which the load exceeds a limit with more than the allowed probability.

    Parameters
    ----------
    limits : sequence of float
        Random draws of the limit, relative to the load of the start. [1]
    chance : float
        Allowed probability of exceeding the limit, in (0, 1). [ratio]
    shares : ndarray of shape (n_limits,), optional
        Random draws of the growth, one for each limit, as probabilities for `GrowthModel.drawn`. Each limit is then
        compared with its own draw of the growth. By default every limit is compared with the whole distribution of the
        growth.
    best : float, optional
        Best estimate of the limit; by default the median of the draws. [1]
    """
    day = _first(growing, limits, chance, shares)
    half = _first(growing, [float(np.median(limits)) if best is None else best], 0.5)
    ends = [_first(growing, limits, share) for share in ENDS]
    dates = [None if days is None else start + timedelta(days=days) for days in (day, half, *ends)]
    return LimitDates(dates[0], day, dates[1], (dates[2], dates[3]))


def missed(growing: GrowthModel, day: int, factors: Floats, shares: Floats | None = None) -> Floats:
    """Return the probability that the load on a day exceeds each limit. [ratio]

    If `shares` gives a random draw of the growth for each limit, each result is 0 or 1.
    """
    chances = growing.chances_above(day, factors)
    return chances if shares is None else np.asarray(chances > 1 - shares, dtype=float)


def _first(
    growing: GrowthModel, limits: Sequence[float] | Floats, chance: float, shares: Floats | None = None
) -> int | None:
    """Return the first day on which the mean probability of exceeding the limits is above `chance`; None if no day up
    to `FARTHEST_D` is found.
    """

    factors = np.asarray(limits, dtype=float)

    def above(day: int) -> bool:
        return float(np.mean(missed(growing, day, factors, shares))) > chance

    # With a yearly season, steps of 28 days miss no day: a high load raises `factor` for a year.
    step = 28 if isinstance(growing, HistoricGrowth) and growing.history.season == "yearly" else 7
    found = next(
        (day for day in range(0, int(FARTHEST_D), step) if any(above(later) for later in _week(day, growing))), None
    )
    if found is None:
        return None
    return next((day for day in range(max(0, found - step), found + step) if above(day)), found)


def _week(day: int, growing: GrowthModel) -> range:
    """Return the day on which the load is checked in the week that begins on `day`, as a range of length 1: the last
    day of the week if the history has a weekly season, otherwise the first day.
    """
    weekly = isinstance(growing, HistoricGrowth) and growing.history.season == "weekly"
    return range(day + 6, day + 7) if weekly else range(day, day + 1)
