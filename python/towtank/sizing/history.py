"""Reads the history of a load from a CSV file and fits its growth. Lasting steps and outliers do not count as
growth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

from towtank.analysis import looks_independent
from towtank.arrays import Floats
from towtank.distributions import t_quantile
from towtank.errors import Fault, StudyError
from towtank.estimates import share_estimate
from towtank.sizing.csv_columns import read_rows
from towtank.sizing.further_day import FurtherDay
from towtank.sizing.history_steps import evidence, foreign, steps_beside
from towtank.sizing.measured_loads import SUFFIX, measured_loads
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.trend import SURE, Form, Trend, fitted_line
from towtank.units import shown

_PARTS = {"none": 1, "weekly": 7, "yearly": 12}
_CYCLE_D = {"none": 1, "weekly": 7, "yearly": 366}
_MONTH = re.compile(r"\d{4}-\d{2}")
_SPACINGS = ((300.0, "years"), (27.0, "months"), (6.5, "weeks"))
"""Units in which the number of loads in a history is stated. Each unit is used from the given median spacing of the
loads; for smaller spacings the unit is days. [d]
"""
ROWS_AT_MOST = 100_000
# Parameters per step, for the comparison of two forms of growth: one for the size of the step, and two for its
# position, which the fit also searches. [1]
_OF_A_STEP = 3
# Smallest number of residuals for which the correlation of neighbouring residuals is tested.
_SERIES = 30
# A note lists at most this number of excluded days by date. It gives only the number of the other excluded days.
_NAMED = 3
_OF_TESTS = (
    "the loads are throughputs of load tests: they show how the tests grew, not how much the system is used; for a "
    "purchase, give a CSV file with loads of the system in use"
)
# Share of excluded days above which a note states that such days are expected to recur. [ratio]
_OFTEN = 0.02
# Largest exponent. The exponential function of a larger number would overflow.
_LARGEST = 700.0


@dataclass(frozen=True)
class History:
    """Loads by day, and the exponential or linear growth fitted to their logarithms.

    Attributes
    ----------
    days : tuple of date
        Days in ascending order.
    loads : ndarray of shape (n_days,)
        Loads, > 0.
    season : str
        `none`, `weekly` or `yearly`.
    steps : tuple of date
        First days after lasting steps of the load. A step does not count as growth.
    bent : bool
        True if the growth rate changes over time, so that a single rate does not describe the growth.
    asked : str
        Requested form, `linear` or `exponential`; `auto` for the form that fits better.
    of_tests : bool
        True if the loads are throughputs of load tests. Such loads depend on the tests and not on the use of the
        system.
    trend : Trend
        Form of the growth that is used.
    margin : float
        Information criterion of exponential growth minus that of linear growth: positive if linear growth fits better,
        negative if exponential growth fits better; 0 if only one form was fitted. [1]
    """

    days: tuple[date, ...]
    loads: Floats
    season: str
    asked: str = "auto"
    of_tests: bool = False
    trend: Trend = field(init=False, repr=False)
    margin: float = field(init=False, repr=False)
    steps: tuple[date, ...] = field(init=False, repr=False)
    bent: bool = field(init=False, repr=False)
    _kept: npt.NDArray[np.bool_] = field(init=False, repr=False)
    _rows: Floats = field(init=False, repr=False)
    _inverse: Floats = field(init=False, repr=False)
    parameters: Floats = field(init=False, repr=False)
    notes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # `_fit` returns None for a straight line that falls, since it would reach 0.
        straight = None if self.asked == "exponential" else self._fit("linear")
        curve = self._fit("exponential") if straight is None or self.asked == "auto" else None
        chosen, margin = curve or straight, 0.0
        assert chosen is not None
        if curve is not None and straight is not None:
            both = curve.kept & straight.kept
            # Steps count as parameters. Otherwise a form of growth could be chosen only because it has more steps.
            more = _OF_A_STEP * (len(curve.steps) - len(straight.steps))
            margin = evidence(curve.left[both], straight.left[both], more)
            chosen = straight if margin > SURE else curve
        found = {
            "trend": chosen.trend,
            "steps": chosen.steps,
            "bent": chosen.bent,
            "margin": margin,
            "_kept": chosen.kept,
        }
        found |= {"_rows": chosen.rows, "_inverse": chosen.inverse, "parameters": chosen.parameters}
        for name, value in found.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "notes", self._notes())

    def _fit(self, form: Form) -> _Fit | None:
        """Fit linear or exponential growth; None if linear growth is requested and the best straight line does not
        rise.
        """
        logs, times = np.log(self.loads), self._times(self.days)
        trend = Trend()
        kept = ~foreign(self._columns(self.days, trend, ()), logs)
        steps: tuple[date, ...] = ()
        bent = False
        # The line depends on the outliers and steps that are excluded from it, and vice versa. Two iterations suffice.
        for _ in range(2):
            better = self._trend(form, times[kept], self._columns(self.days, trend, steps)[kept], logs[kept])
            if better is None:
                return None
            trend = better
            rest = logs - trend.offset(times)
            kept = ~foreign(self._columns(self.days, trend, ()), rest)
            days = [day for day, keep in zip(self.days, kept, strict=True) if keep]
            found = steps_beside(self._columns(days, trend, ()), rest[kept])
            steps, bent = tuple(days[place] for place in found.places), found.bends > 0
            kept = ~foreign(self._columns(self.days, trend, steps), rest)
            if form == "exponential":
                break
        rows = self._columns(self.days, trend, steps)
        inverse = np.asarray(np.linalg.pinv(rows[kept].T @ rows[kept]), dtype=float)
        parameters = inverse @ rows[kept].T @ rest[kept]
        return _Fit(trend, steps, bent, kept, rows[kept], inverse, parameters, rest - rows @ parameters)

    @staticmethod
    def _trend(form: Form, times: Floats, rows: Floats, logs: Floats) -> Trend | None:
        return fitted_line(times, rows[:, 1:], logs) if form == "linear" else Trend()

    def _notes(self) -> tuple[str, ...]:
        """Return notes on lasting steps of the load, excluded days and correlated residuals."""
        first = len(self.parameters) - len(self.steps)
        found = [_OF_TESTS] if self.of_tests else []
        found += [
            f"the load changes by {self._step_size(first + place)} on {day} and stays at the new level; this step "
            "is not "
            f"counted as growth, but may recur"
            for place, day in enumerate(self.steps)
        ]
        if self.bent:
            found.append(
                f"the growth is not constant: {self._growth_of(first=True)} a year in the first half of the history, "
                f"{self._growth_of(first=False)} in the second; the forecast continues the mean of both"
            )
        out = [place for place, keep in enumerate(self._kept) if not keep]
        levels = np.exp(self.level([self.days[place] for place in out]))
        named = [
            f"{self.days[place]} ({100 * self.loads[place] / level:.0f} % of the line)"
            for place, level in zip(out[:_NAMED], levels, strict=False)
        ]
        if named:
            more = f" and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
            found.append(f"excluded from the fit, as trend and season do not explain them: {', '.join(named)}{more}")
        if len(out) > _OFTEN * len(self.days):
            found.append(
                f"{len(out)} of {len(self.days)} days lie far from the line: the forecast expects such days at the "
                f"same frequency, and takes the given load as that of an ordinary day"
            )
        if len(self._residuals) >= _SERIES and not looks_independent(self._residuals):
            found.append("the loads of neighbouring days are correlated: the interval is too narrow")
        return tuple(found)

    @property
    def _residuals(self) -> Floats:
        known = np.log(self.loads) - self.trend.offset(self._times(self.days))
        return np.asarray(known[self._kept] - self._rows @ self.parameters, dtype=float)

    def _times(self, days: Sequence[date]) -> Floats:
        """Return the time of each day since the first day of the history. [d]"""
        return np.array([(day - self.days[0]).days for day in days], dtype=float)

    def _design(self, days: Sequence[date]) -> Floats:
        return self._columns(days, self.trend, self.steps)

    def _columns(self, days: Sequence[date], trend: Trend, steps: Sequence[date]) -> Floats:
        """Return the design matrix: columns for the trend, for each part of the season, and for each step."""
        parts = _PARTS[self.season]
        place = [0 if parts == 1 else day.weekday() if parts == 7 else day.month - 1 for day in days]
        after = np.array([[float(day >= step) for step in steps] for day in days]).reshape(len(days), len(steps))
        return np.column_stack([trend.column(self._times(days)), np.eye(parts)[place], after])

    @property
    def slope(self) -> float:
        """Growth rate of the logarithm of the load. For linear growth, this is the rate on the last day. [1/d]"""
        if self.trend.form == "exponential":
            return float(self.parameters[0])
        return float(self.parameters[0] + self.trend.rate) / (1 + self.trend.rate * self.length_d)

    @property
    def yearly(self) -> float:
        """Growth factor of one year, without the season. [1]

        For linear growth, this is the growth in the year after the last day.
        """
        return self._in_a_year(float(self.parameters[0]))

    def _in_a_year(self, parameter: float) -> float:
        """Return the growth factor of one year for a given value of the slope."""
        if self.trend.form == "exponential":
            return math.exp(min(parameter * YEAR_D, _LARGEST))
        rate = self.trend.rate + parameter
        return 1 + max(rate * YEAR_D / max(1 + rate * self.length_d, 1e-9), -1 + 1e-9)

    def _half_width(self, place: int) -> float:
        """Return half the width of the 95 % interval of the fitted parameter with the given index."""
        scale = float(self._residuals @ self._residuals) / self.freedom
        return t_quantile(0.975, self.freedom) * math.sqrt(max(scale * float(self._inverse[place, place]), 0.0))

    def _step_size(self, place: int) -> str:
        size, half = float(self.parameters[place]), self._half_width(place)
        ends = [math.expm1(end) for end in (size, size - half, size + half)]
        return ("+" if size > 0 else "") + share_estimate(ends[0], ends[1], ends[2])

    def _growth_of(self, *, first: bool) -> str:
        """Render the yearly growth in one half of the history, with its interval."""
        logs = np.log(self.loads)[self._kept]
        rows = self._columns(self.days, Trend(), self.steps)[self._kept]
        middle = self.length_d / 2
        bend = np.maximum(rows[:, 0] - middle, 0.0)
        both = np.column_stack([rows, bend])
        inverse = np.linalg.pinv(both.T @ both)
        found = inverse @ both.T @ logs
        left = logs - both @ found
        weights = np.zeros(both.shape[1])
        weights[0], weights[-1] = 1.0, 0.0 if first else 1.0
        error = math.sqrt(max(float(left @ left) / (self.freedom - 1) * float(weights @ inverse @ weights), 0.0))
        slope, half = float(weights @ found), t_quantile(0.975, self.freedom - 1) * error
        ends = (math.expm1(min((slope + sign * half) * YEAR_D, _LARGEST)) for sign in (0, -1, 1))
        return share_estimate(*ends)

    @property
    def yearly_interval(self) -> tuple[float, float]:
        """95 % interval of the yearly growth factor without the season, computed from the least-squares slope. [1]"""
        half = self._half_width(0)
        low, high = (self._in_a_year(float(self.parameters[0]) + sign * half) for sign in (-1, 1))
        return low, high

    @property
    def cycle_d(self) -> int:
        """Length of the season of the load. [d]"""
        return _CYCLE_D[self.season]

    @property
    def spacing_d(self) -> float:
        """Median time between successive days of the history. [d]"""
        return float(np.median(np.diff([day.toordinal() for day in self.days])))

    @property
    def extent(self) -> str:
        """Number of loads in the unit of their spacing, such as `144 months`."""
        unit = next((name for least, name in _SPACINGS if self.spacing_d >= least), "days")
        return f"{len(self.days)} {unit}"

    @property
    def length_d(self) -> int:
        """Time from the first to the last day of the history. [d]"""
        return (self.days[-1] - self.days[0]).days

    def busiest_day(self) -> date:
        """Return the day with the highest expected load in the last week of the history; without a weekly season, the
        last day.
        """
        if self.season != "weekly":
            return self.days[-1]
        week = [self.days[-1] - timedelta(days=back) for back in range(self.cycle_d)]
        return week[int(np.argmax(self.level(week)))]

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the fit of the growth. [1]"""
        return int(self._rows.shape[0] - self._rows.shape[1])

    @property
    def further(self) -> FurtherDay:
        """Distribution of the distance between a future day's load and the growth line."""
        far = ~self._kept
        far_days = [day for day, is_far in zip(self.days, far, strict=True) if is_far]
        misses = np.log(self.loads)[far] - self.level(far_days)
        return FurtherDay(self.freedom, float(np.mean(far)), np.asarray(misses, dtype=float))

    def level(self, days: Sequence[date]) -> Floats:
        """Return the logarithm of the expected load on each of the given days."""
        known = self.trend.offset(self._times(days))
        return np.asarray(known + self._design(days) @ self.parameters, dtype=float)

    def trend_level(self, days: Sequence[date]) -> Floats:
        """Return the logarithm of the expected load on each of the given days, without season and steps, up to a
        constant.
        """
        times = self._times(days)
        return np.asarray(self.trend.offset(times) + self.trend.column(times) * self.parameters[0], dtype=float)

    @property
    def noise(self) -> float:
        """Standard deviation of the logarithm of a load around the growth line, without the error of the line. [1]"""
        return math.sqrt(max(float(self._residuals @ self._residuals) / self.freedom, 1e-24))

    def deviation(self, days: Sequence[date]) -> Floats:
        """Return the standard deviation of the logarithm of the load on a future day that is no outlier. [1]"""
        scale = float(self._residuals @ self._residuals) / self.freedom
        rows = self._design(days)
        # Loads exactly on the line leave no residuals. A lower bound of the standard deviation avoids a division by
        # zero later.
        spread = scale * (1 + np.einsum("ij,jk,ik->i", rows, self._inverse, rows))
        return np.asarray(np.sqrt(np.maximum(spread, 1e-24)), dtype=float)


@dataclass(frozen=True)
class _Fit:
    """Growth fitted in one form, linear or exponential. `rows` is the design matrix without outliers; `left` contains
    the residuals of all days.
    """

    trend: Trend
    steps: tuple[date, ...]
    bent: bool
    kept: npt.NDArray[np.bool_]
    rows: Floats
    inverse: Floats
    parameters: Floats
    left: Floats


def read_history(path: Path, date_column: str, load_column: str, season: str, trend: str = "auto") -> History:
    """Read the history of a load from a CSV file, or from the output of `towtank history --json` (suffix `.json`).

    Raises
    ------
    StudyError
        If the file is invalid; contains every fault with its line.
    """
    if path.suffix == SUFFIX:
        return _of_days(path, measured_loads(path), [], season, trend)
    found: dict[date, float] = {}
    faults: list[Fault] = []
    for number, cells in read_rows(path, (date_column, load_column)):
        _read_line((path, number), (date_column, load_column), cells, found, faults)
    return _of_days(path, found, faults, season, trend)


def _of_days(path: Path, found: dict[date, float], faults: list[Fault], season: str, trend: str) -> History:
    """Return a history of the given loads; raise a StudyError with all faults if the loads do not cover the season."""
    needed = _PARTS[season] + 3
    if not faults and not needed <= len(found) <= ROWS_AT_MOST:
        what = f"from {needed} to {ROWS_AT_MOST} days for a season {season!r}"
        faults.append(Fault(str(path), 0, 0, "", f"must have {what}, got {len(found)} instead"))
    if not faults and season == "yearly" and len({day.month for day in found}) < 12:
        faults.append(Fault(str(path), 0, 0, "", "must have days of all twelve months for a season 'yearly'"))
    if not faults and season == "weekly" and len({day.weekday() for day in found}) < 7:
        faults.append(Fault(str(path), 0, 0, "", "must have all seven days of a week for a season 'weekly'"))
    if faults:
        raise StudyError(faults)
    days = sorted(found)
    return History(tuple(days), np.array([found[day] for day in days]), season, trend, path.suffix == SUFFIX)


def _read_line(
    at: tuple[Path, int], names: tuple[str, str], cells: dict[str, str], found: dict[date, float], faults: list[Fault]
) -> None:
    """Read the date and the load of a line of the CSV file into `found`, or append the faults of the line to
    `faults`.
    """
    texts = [cells.get(name, "") for name in names]

    def add(column: int, message: str) -> None:
        faults.append(Fault(str(at[0]), at[1], 0, names[column], message))

    day = None
    try:
        # A date that gives only year and month is read as the first day of the month.
        day = date.fromisoformat(f"{texts[0]}-01" if _MONTH.fullmatch(texts[0]) else texts[0])
    except ValueError:
        add(0, f"must be a date such as 2026-01-31 or a month such as 2026-01, got {shown(texts[0])} instead")
    try:
        load = float(texts[1])
    except ValueError:
        load = math.nan
    if not 0 < load < math.inf:
        add(1, f"must be a number above 0, got {shown(texts[1])} instead")
    elif day in found:
        add(0, f"must come once, got {texts[0]} again")
    elif day is not None:
        found[day] = load
