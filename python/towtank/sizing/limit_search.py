"""Searches for the load at which a candidate violates an objective: for the best estimates, and for every
random draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import numpy as np

from towtank.arrays import Floats, Mask
from towtank.estimates import FEW_DIGITS, significant
from towtank.sizing.drawn import Draws
from towtank.sizing.evaluate import ROUNDING, Outcome, grouped, under_load
from towtank.sizing.factors import Factors
from towtank.sizing.interval import Interval, draws_outside, number_text, share_text
from towtank.sizing.load import Load
from towtank.sizing.question import Question
from towtank.sizing.tiers import Candidate

LIMIT_PRECISION = 2.0**-10
"""Relative precision of the load limit (highest allowed load) that is computed with the best estimates. [ratio]"""
END_PRECISION = 2.0**-8
"""Relative precision of both ends of the interval of a load limit. It suffices for the printed digits. [ratio]"""
DRAW_PRECISION = 2.0**-3
"""Relative precision to which the load limit of a random draw is bounded before it is interpolated. [ratio]"""
_STEPS = (1.1, 1.3)
"""Factors of the first steps of a search for a load limit; later steps have a factor of two. [1] A small first step
finds a nearby limit without solving a network with twice the users."""
_STEPS_AT_MOST = 20
_USERS_AT_MOST = 2_000_000
"""Highest number of users in the search for a load limit; for large loads, `_TIMES_AT_MOST` times the load. [1] A
solution takes longer with more users."""
_TIMES_AT_MOST = 8.0
_DRAWS_AT_MOST = 16.0
"""Highest load in the search for the load limit of a random draw, relative to the limit with the best estimates.
[ratio]"""
_USERS_OF_INTERVALS = 20_000_000
"""Highest sum of users over all solutions for the interval of a load limit. [1] The time of a solution grows with its
number of users. With 200 random draws and about four solutions for each, a limit above 25,000 users gets no interval.
"""
_SOLUTIONS_OF_A_DRAW = 4
"""Approximate number of solutions that each random draw takes in the search for an interval. [1]"""

NO_LIMIT = "no objective limits the load"


def within(question: Question, outcome: Outcome) -> bool:
    """Return True if all objectives except throughput objectives hold, and all utilization limits hold. A throughput
    objective does not bound the load from above."""
    if outcome.why_not or outcome.too_busy(question):
        return False
    checks = zip(question.checks, outcome.values, strict=True)
    return all(check.upward or check.ratio(value) <= 1 + ROUNDING for check, value in checks)


def missed_by_throughput(question: Question, drawn: Draws | None) -> float | None:
    """Return the share of the random draws that violate only a throughput objective; None without random draws or
    without a throughput objective. [ratio] These draws do not affect the load limit, which depends only on response
    times and utilizations.
    """
    if drawn is None or not any(check.upward for check in question.checks):
        return None
    holds = sum(all(within(question, outcome) for outcome in group) for group in drawn.groups)
    return (holds - drawn.met(question)) / len(drawn.groups)


def is_bounded(question: Question, load: Load) -> bool:
    """Return True if a higher load can violate an objective for response time or utilization, or can overload an open
    class.

    In an open class the load can exceed the capacity. In a closed class utilization never exceeds 100 %, whatever the
    number of users."""
    times = any(not check.upward for check in question.checks)
    return times or any(most < 1 for most in question.utilization.values()) or any(load.rate.values())


def nearness(question: Question, outcome: Outcome) -> float:
    """Return the largest ratio of a response time to its limit. In the scenario with all nodes running, the ratios of
    utilizations to their limits count too. [ratio]"""
    if outcome.why_not:
        return math.inf
    pairs = zip(question.checks, outcome.values, strict=True)
    ratios = [check.ratio(value) for check, value in pairs if not check.upward]
    if outcome.job.lost is None:
        ratios += [used / (question.utilization.get(name, 1.0) or 1.0) for name, used in outcome.utilization.items()]
    return max(ratios, default=0.0)


@dataclass
class _Bracket:
    """Range of the load limit in each random draw: objectives hold at load factor `low` and fail at `high`. The
    solutions at both factors are stored."""

    low: Floats
    high: Floats
    at_low: dict[int, Sequence[Outcome]] = field(default_factory=dict)
    at_high: dict[int, Sequence[Outcome]] = field(default_factory=dict)

    def note(self, place: int, factor: float, found: Sequence[Outcome], *, holds: bool) -> None:
        """Record if the objectives hold for random draw number `place` at load `factor`, which narrows the range of the
        load limit of this draw. A factor outside the range changes nothing."""
        if holds and factor >= self.low[place]:
            self.low[place], self.at_low[place] = factor, found
        if not holds and factor <= self.high[place]:
            self.high[place], self.at_high[place] = factor, found


@dataclass(frozen=True)
class _Settings:
    """Settings of a search for a load limit: first load factor, precision, and largest load factor."""

    near: float
    precision: float
    farthest: float


@dataclass
class Limits:
    """Search for the highest load factor of a candidate at which all response times and utilizations are within their
    limits.

    Attributes
    ----------
    scales : dict
        Ratios of simulated to computed values, by scenario and objective. [ratio]
    load : Load, optional
        Load to which factors are relative; by default the load that the hardware must serve.
    near : float, default 1
        Factor at which the search starts.
    changes : dict
        Further arguments of `Job`.

    Notes
    -----
    If objectives hold at a load, they hold at every lower load. The model of a random draw is therefore solved only
    between the highest factor at which its objectives hold and the lowest factor at which they fail. Each end of the
    interval takes about three solutions for each draw.
    """

    question: Question
    candidate: Candidate
    scales: Mapping[str | None, Factors] = field(default_factory=dict)
    load: Load | None = None
    near: float = 1.0
    changes: Mapping[str, Any] = field(default_factory=dict)
    _best: _Bracket | None = None
    _draws: _Bracket | None = None
    _narrowed: bool = False

    @property
    def varies(self) -> bool:
        """True if the load limit differs between random draws. Draws that vary only in growth have the same limit."""
        return bool(set(self.question.counted) - {"growth"})

    @property
    def able(self) -> bool:
        """True if the load limit differs between random draws, and the number of users is small enough to solve all
        draws."""
        users = self._start * self._users
        return self.varies and users * len(self.question.draws) * _SOLUTIONS_OF_A_DRAW <= _USERS_OF_INTERVALS

    @property
    def best(self) -> float:
        """Load limit with the best estimates, found by bisection, as a factor of the load. [1]

        The limit is 0 if even a millionth of the load is too much, and infinite if no objective limits the load."""
        bracket = self._best_bracket()
        return math.inf if math.isinf(bracket.high[0]) else float(bracket.low[0])

    @property
    def no_limit(self) -> str:
        """Reason why no load limit exists with the best estimates; empty if a limit exists."""
        if math.isfinite(self.best):
            return ""
        if not self.is_bounded:
            return NO_LIMIT
        total, unit = self._load.total
        tried = number_text(significant(float(self._best_bracket().low[0]) * total, FEW_DIGITS), None, unit)
        lost = max(
            (max(each.loss.values(), default=0.0) for each in self._best_bracket().at_low.get(0, ())), default=0.0
        )
        dropped = f", of which full stations drop {share_text(lost)}" if lost > ROUNDING else ""
        return f"{NO_LIMIT}, up to {tried}{dropped}"

    @property
    def why_no_interval(self) -> str:
        """Reason why the load limit has no interval although it differs between random draws; otherwise empty."""
        if not self.varies or math.isinf(self.best) or self.interval() is not None:
            return ""
        most = _USERS_OF_INTERVALS / _SOLUTIONS_OF_A_DRAW / len(self.question.draws)
        return (
            f"a load limit of more than {significant(most, FEW_DIGITS):,.0f} users has no interval: "
            f"{len(self.question.draws)} draws take too long to solve"
        )

    @property
    def _load(self) -> Load:
        return self.load or self.question.load

    @property
    def _users(self) -> float:
        return sum(self._load.users.values())

    @property
    def is_bounded(self) -> bool:
        """True if a higher load can violate an objective."""
        return is_bounded(self.question, self._load)

    @property
    def _start(self) -> float:
        """Load factor at which the search for the limit of a random draw starts: the limit with the best estimates, or
        1 if that limit is infinite. [1]"""
        return max(self.best, 1e-6) if math.isfinite(self.best) else 1.0

    @property
    def _farthest(self) -> float:
        """Largest load factor that is tried with the best estimates. If no objective bounds the load, this is the
        factor at which the search starts. [1]"""
        if not self.is_bounded:
            return self.near
        return max(_TIMES_AT_MOST, self.near, _USERS_AT_MOST / self._users) if self._users else math.inf

    def _best_bracket(self) -> _Bracket:
        if self._best is None:
            bracket = _Bracket(np.zeros(1), np.full(1, math.inf))
            ones = np.ones(1)
            how = _Settings(self.near, LIMIT_PRECISION, self._farthest)
            self._search(bracket, lambda: (bracket.low[0], bracket.high[0]), ones, how, [None])
            self._best = bracket
        return self._best

    def know(self, drawn: Draws | None) -> None:
        """Narrow the ranges of the load limits with solutions of the random draws that are already known."""
        if drawn is None or not self.varies:
            return
        grown = self.growth()
        for place, group in enumerate(drawn.groups):
            holds = all(within(self.question, outcome) for outcome in group)
            self._bracket().note(place, float(grown[place]), group, holds=holds)

    def growth(self) -> Floats:
        """Return the load of each random draw relative to the required load. [ratio]"""
        grown = self.question.growth_draws
        return np.array(grown) if grown else np.ones(len(self.question.draws))

    def _bracket(self) -> _Bracket:
        """Return the range of the load limit in each random draw. If the limit does not differ between draws, every
        range is the range of the best estimates.
        """
        if self._draws is None:
            count = len(self.question.draws)
            low, high = np.zeros(count), np.full(count, math.inf)
            if not self.varies:
                best = self._best_bracket()
                low, high = np.repeat(best.low, count), np.repeat(best.high, count)
            self._draws = _Bracket(low, high)
        return self._draws

    def interval(self) -> Interval | None:
        """Return the 95 % interval of the load limit, widened to contain the best estimate; None if no interval is
        known.
        """
        if not self.varies or math.isinf(self.best):
            return None
        found = self.spare(np.ones(len(self.question.draws)))
        return found and found.around(self.best)

    def spare(self, loads: Floats) -> Interval | None:
        """Return the 95 % interval of the ratio of load limit to load, over all random draws; None if the draws take
        too long to solve. [1]

        Notes
        -----
        The search always solves each random draw at the load of the draw. The lower end is therefore above 1 if and
        only if the objectives hold at this load in 97.5 % of the draws.
        """
        if self.varies and not self.able and not self._narrowed:
            return None
        count = len(loads)
        outside = draws_outside(count)
        return Interval(self._statistic(outside, loads), self._statistic(count - 1 - outside, loads))

    def _statistic(self, place: int, loads: Floats) -> float:
        """Return the order statistic of rank `place` (from 0) of the random draws' load limits relative to `loads`."""
        bracket = self._bracket()

        def ends() -> tuple[float, float]:
            # Each draw has a lower and an upper bound of its limit. Sorted lower bounds are lower bounds of the sorted
            # limits, and sorted upper bounds are upper bounds.
            return float(np.sort(bracket.low / loads)[place]), float(np.sort(bracket.high / loads)[place])

        near = self._start / float(np.median(loads))
        how = _Settings(near, END_PRECISION, near * _DRAWS_AT_MOST)
        low, high = self._search(bracket, ends, loads, how, range(len(loads)))
        return math.inf if math.isinf(high) else _middle(low, high)

    def _search(
        self,
        bracket: _Bracket,
        ends: Callable[[], tuple[float, float]],
        loads: Floats,
        how: _Settings,
        draws: Sequence[int | None],
    ) -> tuple[float, float]:
        """Narrow the range of a load limit to a precision. A random draw is solved at a load factor only if its range
        contains the factor.
        """
        steps = chain(_STEPS, repeat(2.0, _STEPS_AT_MOST - len(_STEPS)))
        while True:
            low, high = ends()
            # The load itself (factor 1) is always solved, so that the interval shows if the objectives hold at this
            # load.
            if high <= low * (1 + how.precision) and not low < 1 < high:
                return low, high
            if low > 0 and math.isfinite(high):
                trial = 1.0 if low < 1 < high else _middle(low, high)
            elif low == 0 and math.isinf(high):
                trial = how.near
            else:
                step = next(steps, None)
                if step is None or (math.isinf(high) and low >= how.farthest):
                    return low, high
                trial = low * step if low > 0 else high / step
            factors = trial * loads
            self._solve(bracket, factors, (bracket.low < factors) & (factors < bracket.high), draws)

    def _solve(self, bracket: _Bracket, factors: Floats, open_ones: Mask, draws: Sequence[int | None]) -> None:
        """Solve the model of each selected random draw, at the load factor of the draw."""
        places = [int(place) for place in np.flatnonzero(open_ones)]
        load = self._load
        groups = [
            under_load(
                self.question,
                self.candidate,
                load.times(float(factors[place])),
                self.scales,
                draws[place],
                **self.changes,
            )
            for place in places
        ]
        for place, found in zip(places, grouped(groups, self.question), strict=True):
            holds = all(within(self.question, outcome) for outcome in found)
            bracket.note(place, float(factors[place]), found, holds=holds)

    def narrowed(self) -> None:
        """Narrow the range of the load limit of every random draw to the relative precision `DRAW_PRECISION`."""
        bracket = self._bracket()
        for step in chain(_STEPS, repeat(2.0, _STEPS_AT_MOST - len(_STEPS))):
            wide = (bracket.high > bracket.low * (1 + DRAW_PRECISION)) & self._within_reach(bracket)
            if not wide.any():
                break
            self._halve(bracket, wide, step)
        self._narrowed = True

    def _within_reach(self, bracket: _Bracket) -> Mask:
        """Return a mask of the random draws whose load limit is bounded, or above the highest load tried so far."""
        return np.isfinite(bracket.high) | (bracket.low < self._start * _DRAWS_AT_MOST)

    def narrow(self, open_ones: Mask) -> bool:
        """Halve the range of the load limit of each selected random draw whose range is wider than `LIMIT_PRECISION`.
        Return True if a range was halved.
        """
        bracket = self._bracket()
        wide = open_ones & (bracket.high > bracket.low * (1 + LIMIT_PRECISION)) & self._within_reach(bracket)
        if wide.any():
            self._halve(bracket, wide, 2.0)
        return bool(wide.any())

    def _halve(self, bracket: _Bracket, wide: Mask, step: float) -> None:
        pairs = zip(bracket.low, bracket.high, strict=True)
        factors = np.array([_between(float(low), float(high), step, self._start) for low, high in pairs])
        self._solve(bracket, factors, wide, range(len(factors)))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the load limit of each random draw, as load factors. [1]"""
        return self._bracket().low, self._bracket().high

    @property
    def of_draws(self) -> Floats:
        """Load limit of each random draw, interpolated between its bounds; infinite if the search found no
        limit. [1]"""
        bracket, found = self._bracket(), []
        for place, (low, high) in enumerate(zip(bracket.low, bracket.high, strict=True)):
            finite = low > 0 and math.isfinite(high)
            known = math.inf if math.isinf(high) else _middle(float(low), float(high))
            found.append(low * (high / low) ** self._part(place) if finite else known)
        return np.array(found, dtype=float)

    def _part(self, place: int) -> float:
        """Return the position of the load limit of a random draw between the lower bound (0) and the upper bound (1) of
        the limit, interpolated in logarithms. [ratio]
        """
        bracket = self._bracket()
        if place not in bracket.at_low or place not in bracket.at_high:
            return 0.5
        low, high = (
            max((nearness(self.question, outcome) for outcome in side[place]), default=0.0)
            for side in (bracket.at_low, bracket.at_high)
        )
        if not 0 < low <= 1 < high or math.isinf(high):
            return 0.5
        return math.log(1 / low) / math.log(high / low)

    def used(self, name: str, lost: str | None) -> list[float]:
        """Return the utilization of a station at the load limit of each random draw, interpolated between the bounds of
        the limit. [ratio]
        """
        bracket, found = self._bracket(), []
        for place in range(len(bracket.low)):
            low, high = (_used(side.get(place, ()), name, lost) for side in (bracket.at_low, bracket.at_high))
            part = self._part(place)
            known = low if high is None else high if low is None else low + part * (high - low)
            found.append(1.0 if known is None else known)
        return found


def _used(group: Sequence[Outcome], name: str, lost: str | None) -> float | None:
    """Return the utilization of a station in a failure scenario; None without a solution or a steady state. [ratio]"""
    steady = (outcome for outcome in group if outcome.job.lost == lost and not outcome.why_not)
    return next((outcome.utilization.get(name, 1.0) for outcome in steady), None)


def _middle(low: float, high: float) -> float:
    """Return the geometric mean of two bounds; the lower bound if either bound is unknown."""
    if low <= 0 or math.isinf(high):
        return low
    return math.sqrt(low * high)


def _between(low: float, high: float, step: float, start: float) -> float:
    """Return the next load factor to try: the geometric mean of the two bounds. If only one bound is known, return a
    factor beyond this bound.
    """
    if low > 0 and math.isfinite(high):
        return math.sqrt(low * high)
    if low > 0:
        return low * step
    return high / step if math.isfinite(high) else start
