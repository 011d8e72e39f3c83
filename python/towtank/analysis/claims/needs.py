"""Estimates how many runs would probably decide a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass

from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.distributions import t_quantile
from towtank.study import NumberBounds

RUNS_AT_MOST = 1000
"""Numbers of runs above this are not tried. [1]"""
_POWER = 0.8  # Probability that a claim is decided with `Needs.probably` runs.


@dataclass(frozen=True)
class Needs:
    """Numbers of runs per combination of factor levels that would decide a claim.

    Attributes
    ----------
    probably : int or None
        With this number of runs, the claim is decided in four of five cases, if distance from the bound and scatter are
        as measured. None if it exceeds `RUNS_AT_MOST`. [1]
    at_least : int or None
        With fewer runs than this, a decision is unlikely, even if the distance from the bound is one standard error
        larger than measured. None if it exceeds `RUNS_AT_MOST`. [1]
    """

    probably: int | None = None
    at_least: int | None = None


def runs_needed(estimate: Estimate, wanted: NumberBounds, places: int = 1) -> Needs | None:
    """Return how many runs per combination of factor levels would decide whether a quantity is within bounds. Return
    None if the quantity has no finite interval of positive width, or fewer than two runs.

    Parameters
    ----------
    estimate : Estimate
        Quantity, measured with n runs per combination. Its interval contains a bound.
    wanted : NumberBounds
        Bounds of the claim.
    places : int
        Number of combinations that the quantity compares: 2 for a ratio or difference. [1]

    Notes
    -----
    Let t(q, f) be the quantile q of Student's t distribution with f degrees of freedom, 1 - a the confidence of the
    interval, and p the number `places`. The standard error s of the quantity is the half-width of its interval
    divided by t(1 - a/2, p (n - 1)). With m runs instead of n it is s sqrt(n / m).

    With m runs, a distance d from the bound is detected with probability b if (t(1 - a/2, f) + t(b, f)) s sqrt(n / m) <
    d, where f = p (m - 1). This is the usual approximation for the power of a t test [1]_. `probably` uses b = 0.8 and
    the measured distance. `at_least` uses b = 0.5 and the measured distance plus s.

    If the errors within the runs are known, they give a second standard error with infinite degrees of freedom. The
    result is the larger of the two numbers of runs. Only the part of the distance beyond the resolution of the readings
    counts, because no number of runs reduces their common error.

    References
    ----------
    .. [1] J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed., Lawrence Erlbaum, 1988.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.n < 2:
        return None
    half = max(estimate.high - estimate.value, estimate.value - estimate.low)
    crossed = [bound for bound in (wanted.low, wanted.high) if math.isfinite(bound)]
    if not crossed or not 0 < half < math.inf:
        return None
    level = 0.5 + estimate.confidence / 2
    error = (half - estimate.resolution) / t_quantile(level, places * (estimate.n - 1))
    # Standard error that follows from the errors within the runs, such as the error of a count. With few runs, this
    # error is known better than the scatter between runs.
    within = (estimate.within or 0.0) / t_quantile(0.5 + CONFIDENCE / 2, math.inf)
    distance = min(abs(estimate.value - bound) for bound in crossed) - estimate.resolution

    def found(distance: float, power: float) -> int | None:
        for count in range(estimate.n + 1, RUNS_AT_MOST + 1):
            freedom = places * (count - 1)
            between = _reach(level, power, freedom) * error
            if max(between, _reach(level, power, math.inf) * within) * math.sqrt(estimate.n / count) < distance:
                return count
        return None

    return Needs(found(distance, _POWER), found(distance + max(error, within), 0.5))


def _reach(level: float, power: float, freedom: float) -> float:
    """Return the distance from a bound that is detected with the probability `power`, which is at least 0.5. The unit
    is the standard error. [1]
    """
    return t_quantile(level, freedom) + (t_quantile(power, freedom) if power > 0.5 else 0.0)
