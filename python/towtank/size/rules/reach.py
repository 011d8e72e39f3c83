"""The answers of a rule over the intervals of its inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from towtank.errors import ModelError
from towtank.size.rules.rule import Answer, InputValue, Rule, answer

Ends = tuple[float, float]
# Points in each interval by the number of intervals; more than four intervals are looked at in their corners only.
_POINTS = {1: 21, 2: 9, 3: 5, 4: 3}
_INTERVALS_AT_MOST = 10


@dataclass(frozen=True)
class ResultRange:
    """Answers of a rule over the intervals of its inputs.

    Attributes
    ----------
    ends : (float, float) or None
        Smallest and largest result, in base units; None if the rule has no number as result.
    truths : frozenset of bool
        The results of a rule whose result is a yes or a no.
    follows, applies : frozenset of (bool or None)
        The decisions that occur; None stands for one that cannot be made.
    doubts : tuple of str
        The doubts that occur.
    """

    ends: Ends | None
    truths: frozenset[bool]
    follows: frozenset[bool | None]
    applies: frozenset[bool | None]
    doubts: tuple[str, ...]

    @property
    def is_certain(self) -> bool:
        """True if the decisions, and a result that is a yes or a no, are the same everywhere."""
        return max(len(self.truths), len(self.follows), len(self.applies)) <= 1


def reach(
    rule: Rule, given: Mapping[str, InputValue], ends: Mapping[str, Ends], measured: Collection[str]
) -> ResultRange:
    """Evaluate a rule on a grid over the intervals of its inputs, corners included.

    Parameters
    ----------
    rule : Rule
    given : mapping of str to float, bool or str
        All inputs, in base units.
    ends : mapping of str to (float, float)
        Ends of the intervals, in base units. An end beyond a bound that the rule allows (`at_least`, `at_most`) is
        moved to it.
    measured : collection of str
        As in `answer`.

    Raises
    ------
    ModelError
        If the rule has no answer at one of the points, an interval reaches a bound that the rule excludes (`above`,
        `below`), or more than ten inputs have intervals.

    Notes
    -----
    Results are extreme in the corners if the formula is monotone in each input, as those of the shipped rules are (a
    test evaluates each inside of intervals). The points between find conditions that hold in the middle only; one that
    holds over less than the distance of two points may be missed.

    The interval of a sum of inputs whose errors are jointly normal covers at least as often as theirs, however they
    depend on each other: its half width is the sum of their half widths, which is never below that of the sum. Of k
    intervals of 95 % that are combined in another way (a minimum of several), the result covers at least in
    100 - 5 k %, by Bonferroni's inequality.
    """
    if len(ends) > _INTERVALS_AT_MOST:
        raise ModelError(f"{len(ends)} inputs have intervals, at most {_INTERVALS_AT_MOST} can be combined")
    count = _POINTS.get(len(ends), 2)
    nearest = {name: (rule.nearest(name, low), rule.nearest(name, high)) for name, (low, high) in ends.items()}
    grid = [np.linspace(low, high, count).tolist() for low, high in nearest.values()]
    found = [answer(rule, given, measured)]
    found += [answer(rule, {**given, **dict(zip(ends, point, strict=True))}, measured) for point in product(*grid)]
    truths = frozenset(each.value for each in found if isinstance(each.value, bool))
    follows, applies = (frozenset(getattr(each, name) for each in found) for name in ("follows", "applies"))
    doubts = tuple(dict.fromkeys(doubt for each in found for doubt in each.doubts))
    return ResultRange(_extremes(found), truths, follows, applies, doubts)


def _extremes(found: list[Answer]) -> Ends | None:
    values = [each.value for each in found if each.value is not None and not isinstance(each.value, bool)]
    return (min(values), max(values)) if values else None
