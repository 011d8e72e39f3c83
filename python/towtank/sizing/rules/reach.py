"""Evaluates a rule over the intervals of its inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from towtank.errors import ModelError
from towtank.sizing.rules.rule import InputValue, Rule, RuleAnswer, answer_rule

Ends = tuple[float, float]
# Number of grid points in the interval of each input, by the number of inputs that have intervals. With more than four
# such inputs, only the two ends of each interval are evaluated.
_POINTS = {1: 21, 2: 9, 3: 5, 4: 3}
_INTERVALS_AT_MOST = 10


@dataclass(frozen=True)
class ResultRange:
    """Results of a rule over the intervals of its inputs: smallest and largest number in base units, or the yes and no
    that occur; decisions and doubts that occur. None stands for an undecided decision.
    """

    ends: Ends | None
    truths: frozenset[bool]
    follows: frozenset[bool | None]
    applies: frozenset[bool | None]
    doubts: tuple[str, ...]

    @property
    def is_certain(self) -> bool:
        """True if the decisions, and the result of a yes-or-no rule, are the same at all points that were evaluated."""
        return max(len(self.truths), len(self.follows), len(self.applies)) <= 1


def reach(
    rule: Rule, given: Mapping[str, InputValue], ends: Mapping[str, Ends], measured: Collection[str]
) -> ResultRange:
    """Evaluate a rule on a grid over the intervals of its inputs, including the corners.

    All inputs and ends of intervals are in base units. An end beyond a bound that the rule includes (`at_least`,
    `at_most`) is moved to the bound.

    Raises
    ------
    ModelError
        If the rule has no answer at a grid point, an interval extends beyond a bound that the rule excludes (`above`,
        `below`), or more than ten inputs have intervals.

    Notes
    -----
    The extremes of a result are at the corners of the grid if the formula is monotone in each input. A test verifies
    that all shipped rules are monotone. The other grid points detect conditions that hold only in the middle. A
    condition that holds only between two neighbouring grid points may be missed.

    If the errors of the inputs are jointly normal, the interval of a sum of inputs has at least the coverage of the
    inputs' intervals, whatever the correlations: its half-width is the sum of their half-widths, an upper bound. If k
    intervals of 95 % are combined in another way (such as the minimum of several inputs), the coverage is at least 100
    - 5 k %, by Bonferroni's inequality.
    """
    if len(ends) > _INTERVALS_AT_MOST:
        raise ModelError(f"{len(ends)} inputs have intervals, at most {_INTERVALS_AT_MOST} can be combined")
    count = _POINTS.get(len(ends), 2)
    nearest = {name: (rule.nearest(name, low), rule.nearest(name, high)) for name, (low, high) in ends.items()}
    grid = [np.linspace(low, high, count).tolist() for low, high in nearest.values()]
    found = [answer_rule(rule, given, measured)]
    found += [answer_rule(rule, {**given, **dict(zip(ends, point, strict=True))}, measured) for point in product(*grid)]
    truths = frozenset(each.value for each in found if isinstance(each.value, bool))
    follows, applies = (frozenset(getattr(each, name) for each in found) for name in ("follows", "applies"))
    doubts = tuple(dict.fromkeys(doubt for each in found for doubt in each.doubts))
    return ResultRange(_extremes(found), truths, follows, applies, doubts)


def _extremes(found: list[RuleAnswer]) -> Ends | None:
    values = [each.value for each in found if each.value is not None and not isinstance(each.value, bool)]
    return (min(values), max(values)) if values else None
