"""Tests claims about all levels of a factor. Such a claim is about a trend, or about the level with the highest or
lowest value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from towtank.analysis.claims.places import (
    NOT_IN_PRESET,
    OTHER_PRESET,
    Levels,
    NotRecoveredError,
    Places,
    UntestableError,
)
from towtank.analysis.claims.verdicts import MeasuredLevel, Tested
from towtank.analysis.statistics import difference_interval, ratio_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.claim_words import estimate_text, number_text
from towtank.study import HIGHEST_MEASURE, AtLevels, CourseMeasure, TrendDirection

LevelSeries = list[tuple[str, Estimate]]
# Smallest number of levels of a factor for which a level exists between the first and the last. [1]
_INSIDE_AT_LEAST = 3
# Between two neighbouring levels, a quantity may change against the trend. This is the largest such change, as a share
# of the change from the first to the last level. [1]
_OF_THE_WAY = 0.1
_MORE_LEVELS = "run a preset with more levels (--preset)"


@dataclass(frozen=True)
class Step:
    """Condition of a trend: between two levels, a quantity changes against the trend by less than `allowed`.

    Attributes
    ----------
    between : str
        Names of the two levels, such as `120 to 240`.
    against : str
        Verb for a change against the trend: `fall` or `rise`.
    change : Estimate
        Change in the direction of the trend.
    allowed : float
        Largest change against the trend that does not contradict it.
    """

    between: str
    against: str
    change: Estimate
    allowed: float

    @property
    def holds(self) -> bool | None:
        """True if the change is significantly above `-allowed`, False if it is significantly below, None if it is
        neither.
        """
        return _above(self.change, -self.allowed)

    def why(self, factor: str, unit: str) -> str:
        """Render why the change between two levels refutes the trend or leaves it undecided; empty if the change has no
        interval.
        """
        value, low, high = self.change.value, self.change.low, self.change.high
        if value is None or low is None or high is None:
            return ""
        bound = f", {number_text(self.allowed, unit)} allowed" if self.allowed else ""
        if self.holds is False:
            back = estimate_text({"value": -value, "low": -high, "high": -low}, unit)
            return f"from {factor} {self.between} the quantity {self.against}s by {back}{bound}"
        if low < 0:
            return (
                f"from {factor} {self.between} the quantity may {self.against} by up to "
                f"{number_text(-low, unit)}{bound}"
            )
        return f"from {factor} {self.between} the change is too close to the allowed bound to decide"


def trend(given: CourseMeasure, holds: TrendDirection, places: Places, unit: str) -> Tested:
    """Test whether a quantity rises, falls or stays constant over the levels of a factor.

    Notes
    -----
    The quantity rises if two conditions hold. The last level is significantly above the first (95 %). Between
    neighbouring levels, a fall by more than a bound is excluded. The bound is the allowed share or a tenth of the total
    change, whichever is larger. The tests of all neighbouring levels together have an error probability of 5 %
    (Bonferroni).

    The claim is refuted if a fall between neighbouring levels is significantly larger than the bound, or if the last
    level is significantly below the first. The quantity stays constant if every level differs from the first by
    significantly less than the allowed share.
    """
    series = _level_series(given, places, skip_inner=True)
    if len(series) < 2:
        raise UntestableError(f"{given.over} has only one level in this preset", _MORE_LEVELS)
    steps = (
        _stays(series, given.allow, places.confidence)
        if holds.name == "stays"
        else _moves(series, given.allow, holds.name, places.confidence)
    )
    seen = _together([step.holds for step in steps])
    reasons = () if seen else (step.why(given.over, unit) for step in steps if step.holds is seen)
    change = ratio_of(series[-1][1], series[0][1])
    return Tested(seen, next(filter(None, reasons), ""), change, levels=_measured_levels(series))


def ratio_of(top: Estimate, bottom: Estimate) -> Estimate:
    """Return the ratio of two estimates, with an interval. The interval does not extend below 0 if neither estimate has
    an interval that does.
    """
    found = ratio_interval(top, bottom)
    ends = (top.low, bottom.low)
    return found.of_quantity() if all(end is not None and end >= 0 for end in ends) else found


def extreme(kind: str, given: CourseMeasure, holds: AtLevels, places: Places) -> Tested:
    """Test whether a quantity is highest or lowest at one of the named levels.

    Notes
    -----
    A level is a candidate for the highest value if no other level significantly exceeds it; the confidence is 95 % for
    all comparisons of the level together (Bonferroni). The level with the highest true value is therefore excluded with
    a probability of at most 5 % [1]_. Candidates for the lowest value are found in the same way.

    References
    ----------
    .. [1] S. S. Gupta, "On some multiple decision (selection and ranking) rules", Technometrics 7(2), 225-245, 1965,
           doi:10.1080/00401706.1965.10490251 (the idea of a subset that holds the best; bounds here by Bonferroni).
    """
    series = _level_series(given, places, skip_inner=False)
    names = [level for level, _ in series]
    allowed = _allowed(given.over, holds, names)
    upward = kind == HIGHEST_MEASURE
    may_be = [level for level in names if _may_be(level, series, places.confidence, upward=upward)]
    best = (max if upward else min)(series, key=lambda pair: pair[1].value or 0.0)[0]
    inside, outside = [level in allowed for level in may_be], [level for level in may_be if level not in allowed]
    verdict = True if all(inside) else None if any(inside) else False
    why = f"the {kind} value may also be at {given.over} {' or '.join(outside)}" if verdict is None else ""
    return Tested(verdict, why, found=best, may_be=tuple(may_be), levels=_measured_levels(series))


def _measured_levels(series: LevelSeries) -> tuple[MeasuredLevel, ...]:
    return tuple(MeasuredLevel(level, estimate) for level, estimate in series)


def _allowed(factor: str, holds: AtLevels, names: list[str]) -> list[str]:
    if not holds.levels:
        if len(names) < _INSIDE_AT_LEAST:
            raise UntestableError(f"{factor} has fewer than three levels in this preset", _MORE_LEVELS)
        return names[1:-1]
    words = {"first": names[0], "last": names[-1]}
    found = [level if level in names else words.get(level) for level in holds.levels]
    allowed = [level for level in found if level in names]
    if not allowed:
        raise UntestableError(f"{factor} {' or '.join(holds.levels)}{NOT_IN_PRESET}", OTHER_PRESET)
    return [str(level) for level in allowed]


def _level_series(given: CourseMeasure, places: Places, *, skip_inner: bool) -> LevelSeries:
    """Return the measured quantity at each level of a factor.

    If `skip_inner` is True, a level without runs is skipped and recorded in `places`, unless it is the first or last
    level.
    """
    at, levels = places.one_place(given.at), places.levels_of(given.over)
    found: LevelSeries = []
    for number, level in enumerate(levels):
        try:
            found.append((level, _there(given, {**at, given.over: level}, places)))
        except UntestableError as why:
            if not skip_inner or isinstance(why, NotRecoveredError) or number in (0, len(levels) - 1):
                raise
            places.left_out.append(str(why))
    return found


def _there(given: CourseMeasure, place: Levels, places: Places) -> Estimate:
    here = places.quantity(given.of, given.per, place)
    if not given.to:
        return here
    return ratio_interval(here, places.quantity(given.of, given.per, {**place, **places.one_place(given.to)}))


def _moves(series: LevelSeries, allow: float, direction: str, overall: float) -> list[Step]:
    confidence = 1 - (1 - overall) / (len(series) - 1)
    upward, against = (direction == "rises", "fall" if direction == "rises" else "rise")
    steps, way = [], abs((series[-1][1].value or 0.0) - (series[0][1].value or 0.0))

    def step(first: tuple[str, Estimate], second: tuple[str, Estimate], allowed: float, confidence: float) -> Step:
        ends = (second[1], first[1]) if upward else (first[1], second[1])
        return Step(f"{first[0]} to {second[0]}", against, difference_interval(*ends, confidence), allowed)

    for before, after in pairwise(series):
        free = max(allow * abs(before[1].value or 0.0), _OF_THE_WAY * way)
        steps.append(step(before, after, free, confidence))
    return [*steps, step(series[0], series[-1], 0.0, overall)]


def _stays(series: LevelSeries, allow: float, overall: float) -> list[Step]:
    name, first = series[0]
    free = allow * abs(first.value or 0.0)
    confidence = 1 - (1 - overall) / (len(series) - 1)
    found = []
    for other_name, other in series[1:]:
        change = difference_interval(other, first, confidence)
        opposite = Estimate(None) if change.value is None else difference_interval(first, other, confidence)
        between = f"{name} to {other_name}"
        found += [Step(between, "fall", change, free), Step(between, "rise", opposite, free)]
    return found


def _above(difference: Estimate, bound: float) -> bool | None:
    """Return True if a difference is significantly above a bound, False if it is significantly below, None if it is
    neither.
    """
    if difference.low is None or difference.high is None:
        return None
    return True if difference.low > bound else False if difference.high < bound else None


def _together(parts: list[bool | None]) -> bool | None:
    """Combine the results of several conditions: False if any is False, True if all are True, and None otherwise."""
    if any(part is False for part in parts):
        return False
    return True if all(parts) else None


def _may_be(level: str, series: LevelSeries, overall: float, *, upward: bool) -> bool:
    """Return True if `level` is a candidate for the highest value, or for the lowest value if `upward` is False: no
    other level is significantly beyond it.
    """
    mine = dict(series)[level]
    confidence = 1 - (1 - overall) / max(1, len(series) - 1)
    for name, other in series:
        if name != level:
            beyond = (
                difference_interval(other, mine, confidence) if upward else difference_interval(mine, other, confidence)
            )
            if _above(beyond, 0.0):
                return False
    return True
