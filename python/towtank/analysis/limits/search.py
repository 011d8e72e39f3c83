"""Searches for the highest load that a system sustains: chooses the next load level, and ends the search.

Each decision depends only on the measured plateaus, so a search can be tested without load and repeated on recorded
data. The search raises the load by the planned steps until a level fails. The interval between the highest level that
passed and the lowest level that failed is called the bracket. The search halves the bracket until it is narrow enough.
Then it repeats the two levels that bound the bracket alternately, so that a drift of the system affects both levels.

A level passes if the majority of its plateaus passes; after a tie, it is measured again. If a repeated measurement
reverses the result of a level, the bracket moves, and the search continues. If a level above the lowest failing level
passes, the search repeats both levels. If the results still contradict each other and no test decides, the search
yields only a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from towtank.analysis.limits.estimate import tested_ends
from towtank.digging import dig


class PlateauFailure(StrEnum):
    """Reasons why a plateau (a stage of constant load) fails, and reasons for the limit of a search."""

    OBJECTIVE_MISSED = "objective_missed"
    ERRORS = "errors"
    ACHIEVED_BELOW_OFFERED = "achieved_below_offered"
    THROUGHPUT_PLATEAU = "throughput_plateau"
    NOT_SETTLED = "not_settled"
    GENERATOR_SATURATED = "generator_saturated"
    SERVICE_DIED = "service_died"
    AT_MOST_REACHED = "at_most_reached"
    CONTRADICTORY = "contradictory"


class SearchEnd(StrEnum):
    """Reasons for the end of a search for the highest sustainable load."""

    REFINED = "refined"
    BRACKETED = "bracketed"
    AT_MOST = "at_most"
    FAILED_AT_START = "failed_at_start"
    GENERATOR_SATURATED = "generator_saturated"
    SERVICE_DIED = "service_died"
    INTERRUPTED = "interrupted"
    CONTRADICTORY = "contradictory"


LOWER_BOUNDS = (
    SearchEnd.AT_MOST,
    SearchEnd.GENERATOR_SATURATED,
    SearchEnd.SERVICE_DIED,
    SearchEnd.INTERRUPTED,
    SearchEnd.CONTRADICTORY,
)
"""A search that ended for one of these reasons yields only a lower bound of the highest sustainable load."""
# A search has at most this many plateaus. If more seem necessary, the system changes between plateaus, so the search
# does not converge. [1]
PLATEAUS_AT_MOST = 200
# On each side of the bracket, at most this many further levels are measured to test the limits of the interval.
# Neighbouring levels are one bracket width apart. [1]
FURTHER_AT_MOST = 4


@dataclass(frozen=True)
class Step:
    """Rule that raises the load by an amount (`by`) or by a factor (`times`). It applies up to the load level `up_to`;
    at all levels if this is None.
    """

    by: float | None = None
    times: float | None = None
    up_to: float | None = None

    def after(self, level: float) -> float:
        return level + self.by if self.by is not None else level * (self.times or 2.0)


@dataclass(frozen=True)
class SearchPlan:
    """Settings of a search for the highest sustainable load.

    Attributes
    ----------
    start, at_most : float
        First and highest load level. [1] or [1/s]
    steps : tuple of Step
        Rules that raise the load, in the order of their use.
    whole : bool
        True if levels are whole numbers, as for users.
    refine_to : float or None
        Requested width of the bracket, divided by its lower limit, in (0, 1). None if the bracket is not refined.
    repeats : int
        Number of plateaus at each of the two levels that bound the bracket. [1]
    """

    start: float
    at_most: float
    steps: tuple[Step, ...]
    whole: bool = True
    refine_to: float | None = None
    repeats: int = 1

    @property
    def refine_to_or_zero(self) -> float:
        """Value of `refine_to`, or 0 if it is None."""
        return self.refine_to or 0.0


def search_plan_of(document: Mapping[str, object]) -> SearchPlan:
    """Read the settings of a search from the entry `search` in the manifest of a run."""
    start, at_most = (float(dig(document, key)) for key in ("start", "at_most"))
    return SearchPlan(
        start,
        at_most,
        tuple(Step(*(dig(step, key) for key in ("by", "times", "up_to"))) for step in dig(document, "steps")),
        whole=document.get("of") == "users",
        refine_to=dig(document, "refine", "to"),
        repeats=dig(document, "refine", "repeats") or 1,
    )


@dataclass(frozen=True)
class PlateauOutcome:
    """Result of one plateau, as the search uses it.

    Attributes
    ----------
    level : float
        Load level of the plateau. [1] or [1/s]
    failure : PlateauFailure or None
    margin : float or None
        Largest log(measured value / limit) over all objectives; above 0 if an objective is missed. Infinite if no
        response came within the limit. None if no objective has a value.
    """

    level: float
    failure: PlateauFailure | None = None
    margin: float | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None


@dataclass(frozen=True)
class SearchDecision:
    """Decision about the next step of a search: a further load level, or the end of the search.

    Attributes
    ----------
    level : float or None
        Next load level; None if the search ends.
    ended : SearchEnd or None
    low, high : float or None
        Highest level that passes and lowest level that fails; None if unknown.
    why : str
        Reason for the decision, as text.
    """

    level: float | None = None
    ended: SearchEnd | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def search_levels(plan: SearchPlan) -> Iterator[float]:
    """Yield the ascending load levels of a search, up to the highest level in its settings."""
    level, number = float(plan.start), 0
    while level < plan.at_most * (1 - 1e-12):
        yield level
        while number < len(plan.steps) - 1 and level >= (plan.steps[number].up_to or math.inf) * (1 - 1e-12):
            number += 1
        after = _rounded(plan, plan.steps[number].after(level))
        up_to = plan.steps[number].up_to
        if up_to is not None and level < up_to < after:
            after = up_to  # A step never exceeds the load level up to which it applies.
        level = max(after, level + 1) if plan.whole else after
    yield float(plan.at_most)


def _rounded(plan: SearchPlan, level: float) -> float:
    return float(round(level)) if plan.whole else float(f"{level:.6g}")


def passes(outcomes: Sequence[PlateauOutcome], level: float) -> bool | None:
    """Return True if more than half of the plateaus at a level passed, otherwise False. Return None if the level was
    not measured.
    """
    found = [outcome.passed for outcome in outcomes if outcome.level == level]
    return sum(found) > len(found) / 2 if found else None


def bracket(outcomes: Sequence[PlateauOutcome]) -> tuple[float | None, float | None]:
    """Return the bracket: the highest measured level below all failing levels, and the lowest failing level. Each is
    None if unknown.
    """
    levels = sorted({outcome.level for outcome in outcomes})
    high = next((level for level in levels if not passes(outcomes, level)), None)
    low = max((level for level in levels if high is None or level < high), default=None)
    return low, high


def decide_search(plan: SearchPlan, outcomes: Sequence[PlateauOutcome]) -> SearchDecision:
    """Decide the next step of a search. `outcomes` are the plateaus so far, in the order of measurement."""
    low, high = bracket(outcomes)
    stop = _stop(outcomes, low, high)
    if stop is not None:
        return stop
    if high is None:
        above = next((level for level in search_levels(plan) if low is None or level > low), None)
        if above is not None:
            return SearchDecision(above, None, low, None, "raised")
        return SearchDecision(None, SearchEnd.AT_MOST, low, None, "the highest allowed level passes")
    return _contested(plan, outcomes, low, high) or _back(plan, outcomes, low, high)


def _stop(outcomes: Sequence[PlateauOutcome], low: float | None, high: float | None) -> SearchDecision | None:
    """Return the end of the search if its last plateau or its number of plateaus requires it; otherwise None."""
    last = outcomes[-1].failure if outcomes else None
    if last in (PlateauFailure.GENERATOR_SATURATED, PlateauFailure.SERVICE_DIED):
        # Higher levels could not be measured correctly. Lower levels need no further plateau, because either no level
        # has failed, or the bracket is known.
        return SearchDecision(None, SearchEnd(str(last)), low, high, f"at {outcomes[-1].level:g}")
    if len(outcomes) >= PLATEAUS_AT_MOST:
        return SearchDecision(None, SearchEnd.BRACKETED, low, high, f"a search has at most {PLATEAUS_AT_MOST} plateaus")
    return None


def _back(plan: SearchPlan, outcomes: Sequence[PlateauOutcome], low: float | None, high: float) -> SearchDecision:
    """Decide the next step of a search in which a level has failed: halve the bracket, repeat a level, or end the
    search.
    """
    if plan.refine_to is None:
        ended = SearchEnd.FAILED_AT_START if low is None else SearchEnd.BRACKETED
        return SearchDecision(None, ended, low, high)
    if low is None:
        again = len(_at(outcomes, high)) < plan.repeats
        why = "repeated: the first level failed"
        return (
            SearchDecision(high, None, None, high, why)
            if again
            else SearchDecision(None, SearchEnd.FAILED_AT_START, None, high)
        )
    middle = _middle(plan, low, high)
    if middle is not None and not _is_flat(outcomes, high):
        return SearchDecision(middle, None, low, high, "halved")
    counts = {level: len(_at(outcomes, level)) for level in (low, high)}
    if min(counts.values()) < plan.repeats:
        # Both levels of the bracket are measured alternately, beginning with the level that was not measured last. A
        # drift of the system then affects both levels equally.
        other = low if outcomes[-1].level == high else high
        level = other if counts[other] < plan.repeats else (low if other == high else high)
        return SearchDecision(level, None, low, high, f"repeated, {counts[level] + 1} of {plan.repeats}")
    further = _further(plan, outcomes, low, high)
    if further is not None:
        return SearchDecision(further, None, low, high, "outside the bracket: the limit may not lie within it")
    return _refined(outcomes, low, high)


def _passing_above(outcomes: Sequence[PlateauOutcome], high: float) -> list[float]:
    levels = {outcome.level for outcome in outcomes}
    return sorted(level for level in levels if level > high and passes(outcomes, level))


def _contested(
    plan: SearchPlan, outcomes: Sequence[PlateauOutcome], low: float | None, high: float
) -> SearchDecision | None:
    """Decide which level to repeat if plateaus contradict each other; None if they do not, or if no repetition is left.

    A level that passed as often as it failed is repeated. If higher levels pass although the level `high` failed, the
    level among these with the fewest plateaus is repeated.
    """
    if plan.refine_to is None:
        return None
    found = _at(outcomes, high)
    if len(found) < plan.repeats + 1 and 2 * sum(outcome.passed for outcome in found) == len(found):
        return SearchDecision(high, None, low, high, "repeated: this level passed as often as it failed")
    above = _passing_above(outcomes, high)
    least = min((high, *above), key=lambda level: len(_at(outcomes, level)))
    if above and len(_at(outcomes, least)) < plan.repeats + 1:
        return SearchDecision(least, None, low, high, f"repeated: {high:g} failed, but {above[0]:g} passed")
    return None


def _refined(outcomes: Sequence[PlateauOutcome], low: float, high: float) -> SearchDecision:
    """Return the end of a search that has repeated both levels of its bracket: refined or contradictory."""
    above = _passing_above(outcomes, high)
    _, tested = tested_ends([outcome.level for outcome in outcomes], [outcome.margin for outcome in outcomes])
    if not above or tested is not None:
        return SearchDecision(None, SearchEnd.REFINED, low, high)
    found = _at(outcomes, high)
    failed = sum(not outcome.passed for outcome in found)
    why = (
        f"{high:g} failed in {failed} of {len(found)} plateaus, but {', '.join(f'{level:g}' for level in above)} passed"
    )
    return SearchDecision(None, SearchEnd.CONTRADICTORY, low, None, why)


def _further(plan: SearchPlan, outcomes: Sequence[PlateauOutcome], low: float, high: float) -> float | None:
    """Return the next level outside the bracket, if it is needed to test a limit of the interval. Return None if levels
    on both sides are significant, or if no further level is useful.
    """
    wanted = PlateauFailure.OBJECTIVE_MISSED
    if plan.repeats < 2 or not any(outcome.failure is wanted for outcome in _at(outcomes, high)):
        return None
    if any(outcome.margin is None for outcome in (*_at(outcomes, low), *_at(outcomes, high))):
        return None
    levels = [outcome.level for outcome in outcomes]
    below, above = tested_ends(levels, [outcome.margin for outcome in outcomes])
    if above is None and max(levels) < min(plan.at_most, high * (1 + plan.refine_to_or_zero) ** FURTHER_AT_MOST):
        return min(plan.at_most, _outside(plan, max(levels), 1 + plan.refine_to_or_zero))
    if below is None and min(levels) > low / (1 + plan.refine_to_or_zero) ** FURTHER_AT_MOST:
        level = _outside(plan, min(levels), 1 / (1 + plan.refine_to_or_zero))
        return level if level > 0 else None
    return None


def _outside(plan: SearchPlan, level: float, factor: float) -> float:
    """Return a load level, multiplied by `factor`. If levels are whole numbers, the result differs by at least 1."""
    found = _rounded(plan, level * factor)
    return found if found != level else level + (1 if factor > 1 else -1)


def _at(outcomes: Sequence[PlateauOutcome], level: float) -> list[PlateauOutcome]:
    return [outcome for outcome in outcomes if outcome.level == level]


def _is_flat(outcomes: Sequence[PlateauOutcome], level: float) -> bool:
    """Return True if a load level failed only because throughput stopped growing.

    It is then useless to halve the bracket: from the highest passing level to a level inside the bracket, throughput
    would grow even less.
    """
    failures = [outcome.failure for outcome in _at(outcomes, level) if outcome.failure is not None]
    return bool(failures) and all(failure is PlateauFailure.THROUGHPUT_PLATEAU for failure in failures)


def _middle(plan: SearchPlan, low: float, high: float) -> float | None:
    """Return the load level in the middle of the bracket. Return None if the bracket is narrow enough, or if no level
    lies inside it.
    """
    if plan.refine_to is None or high - low <= plan.refine_to * low * (1 + 1e-9):
        return None
    middle = _rounded(plan, (low + high) / 2)
    return middle if low < middle < high else None
