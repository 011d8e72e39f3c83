"""Estimates the highest sustainable load, with an interval, from the plateaus of a search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from towtank.analysis.statistics.estimates import CONFIDENCE
from towtank.distributions import t_quantile

TESTED = "tested bracket"
BRACKET = "bracket"
NONE = "none"

# Lower bound of the standard deviation of the margins in a test. A smaller deviation is caused by rounding errors only.
# [1]
_NO_SCATTER = 1e-9


@dataclass(frozen=True)
class LimitEstimate:
    """Estimate of the highest sustainable load.

    Attributes
    ----------
    value, low, high : float or None
        Limit, and lower and upper limit of its interval, in users [1] or arrivals per second [1/s]. If no test
        determined an interval, `low` and `high` are the bracket of the search, and `value` equals `low`.
    method : str
        `tested bracket`, `bracket` or `none`.
    confidence : float or None
        Confidence of the interval, in (0, 1); None for a bracket that no test confirmed.
    n : int
        Number of plateaus that were used. [1]
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = NONE
    confidence: float | None = None
    n: int = 0

    def whole(self) -> LimitEstimate:
        """Return the estimate with value and interval rounded down to whole numbers, as for a limit in users."""
        value, low, high = (None if each is None else int(each + 1e-9) for each in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


def estimate_limit(
    levels: Sequence[float],
    margins: Sequence[float | None],
    low: float | None,
    high: float | None,
    confidence: float = CONFIDENCE,
) -> LimitEstimate:
    """Estimate the highest load at which the limiting objective is met.

    Parameters
    ----------
    levels : sequence of float
        Load level of each plateau, > 0. [1] or [1/s]
    margins : sequence of float or None
        Margin of the objective at each plateau: log(measured value / limit). It is above 0 if the objective is missed,
        infinite if no response came within the limit, and None if unknown.
    low, high : float or None
        Bracket of the search: highest load level that passes and lowest load level that fails, by the majority of the
        plateaus at the level.
    confidence : float, default 0.95
        Confidence of the interval, in (0, 1).

    Notes
    -----
    Near saturation, the response time curve bends strongly. A line or a logistic curve through few plateaus would cross
    the limit of the objective at a wrong load. The only assumption about the curve is therefore that the margin rises
    with the load.

    Student's t tests the mean margin of each level against zero, one-sided at (1 - confidence) / 2. The standard
    deviation is pooled over all levels with repeats, with sum (n_i - 1) degrees of freedom for n_i plateaus at level i.
    Levels are tested from the lowest upwards until a margin is not significantly below zero. The last level with a
    margin significantly below zero is the lower limit of the interval. The upper limit is found in the same way, from
    the highest level downwards.

    Since the order of the tests is fixed in advance [1]_, a limit of the interval is wrong only if the test of the
    first level beyond the true limit is wrong. If plateaus are independent and margins normal with equal variance, the
    interval therefore contains the limit with at least the stated confidence. It ends at measured levels, so it is
    conservative: about as wide as the requested bracket if noise is small, wider otherwise.

    `tests/certified/test_certified_limit.py` simulates 500 searches per case on M/M/m queues: 1 to 16 servers, 3 to
    20 % noise, limits at 3 to 10 service times, a bracket of 5 % and 3 repeats. The 95 % interval contained the limit
    in 97.8 to 100 % of the searches. With up to 10 % noise, its median width was 4 to 12 % of the load.

    An infinite margin cannot be part of a mean. If all margins of a level are infinite, the level counts as
    significantly above zero. A level with finite and infinite margins is undecided and ends both sequences of tests.

    The value is the load at which a straight line between the mean margins at `low` and `high` crosses zero; it is
    `low` if the margin at `high` is infinite. The bracket is returned without tests, and without a confidence, in three
    cases: no level was repeated, no test determines a limit of the interval, or the tests contradict the majority of
    the plateaus.

    References
    ----------
    .. [1] W. Maurer, L. A. Hothorn and W. Lehmacher, "Multiple comparisons in drug clinical trials and preclinical
           assays: a-priori ordered hypotheses", in J. Vollmar (ed.), Biometrie in der chemisch-pharmazeutischen
           Industrie 6, Fischer, Stuttgart, 1995, 3-18.
    """
    bare = LimitEstimate(low, low, high, BRACKET if low is not None and high is not None else NONE, None, len(levels))
    by_level = _by_level(levels, margins)
    if low is None or high is None or low not in by_level or high not in by_level:
        return bare
    below, above = tested_ends(levels, margins, confidence)
    if below is None or above is None or below >= above or below >= high or above <= low:
        return bare
    used = sum(len(found) for found in by_level.values())
    crossing = _crossing(low, _mean(by_level[low]), high, _mean(by_level[high]))
    return LimitEstimate(min(max(crossing, below), above), below, above, TESTED, confidence, used)


def tested_ends(
    levels: Sequence[float], margins: Sequence[float | None], confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """Return the highest load level that passes significantly and the lowest load level that fails significantly. Each
    is None if no test determines it.
    """
    by_level = _by_level(levels, margins)
    signs = _signs(by_level, confidence)
    return _last_of(sorted(signs), signs, -1), _last_of(sorted(signs, reverse=True), signs, 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _by_level(levels: Sequence[float], margins: Sequence[float | None]) -> dict[float, list[float]]:
    found: dict[float, list[float]] = defaultdict(list)
    for level, margin in zip(levels, margins, strict=True):
        if margin is not None and margin > -math.inf:
            found[level].append(margin)
    return found


def _signs(by_level: dict[float, list[float]], confidence: float) -> dict[float, int]:
    """Return, for each load level, the sign of its mean margin: -1 or 1 if it is significant, otherwise 0. Empty if no
    level was repeated.
    """
    finite = {level: [margin for margin in found if margin < math.inf] for level, found in by_level.items()}
    freedom = sum(max(len(found) - 1, 0) for found in finite.values())
    if freedom < 1:
        return {}
    means = {level: _mean(found) for level, found in finite.items() if found}
    squares = sum((margin - means[level]) ** 2 for level, found in finite.items() for margin in found)
    deviation = max(math.sqrt(squares / freedom), _NO_SCATTER)
    needed = _t(0.5 + confidence / 2, freedom) * deviation
    signs = {level: 1 if not found else 0 for level, found in finite.items()}
    for level, mean in means.items():
        if len(finite[level]) == len(by_level[level]) and abs(mean) > needed / math.sqrt(len(finite[level])):
            signs[level] = int(math.copysign(1, mean))
    return signs


@lru_cache
def _t(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t. The result is cached, because a search needs few different quantiles many
    times.
    """
    return t_quantile(probability, freedom)


def _last_of(levels: Sequence[float], signs: dict[float, int], sign: int) -> float | None:
    """Return the last level before the first change of sign, in the given order; None if the sign of the first level is
    not `sign`.
    """
    last = None
    for level in levels:
        if signs[level] != sign:
            break
        last = level
    return last


def _crossing(low: float, margin_low: float, high: float, margin_high: float) -> float:
    """Return the load at which the straight line between two margins crosses zero; `low` if the line does not rise."""
    if margin_low >= 0 or margin_high <= margin_low or math.isinf(margin_high):
        return low
    return min(high, low + (high - low) * -margin_low / (margin_high - margin_low))
