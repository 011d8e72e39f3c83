"""Computes which order statistics are the bounds of a confidence interval of a quantile, for independent values and
for the correlated values of a run.
"""

from __future__ import annotations

import math

from towtank.analysis.statistics.batches import OBSERVATIONS_AT_LEAST, error_of
from towtank.analysis.statistics.estimates import CONFIDENCE
from towtank.arrays import Floats
from towtank.distributions import binomial_quantile, normal_quantile


def order_statistic_ranks(count: int, probability: float, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the two ranks between which a quantile lies with at least the given confidence; ranks count from 1.

    Parameters
    ----------
    count : int
        Number of independent values n. [1]
    probability : float
        Probability of the quantile, in (0, 1).

    Returns
    -------
    (int, int) or None
        None if the sample is too small for both ranks.

    Notes
    -----
    The number B of values below the p-quantile is binomial(n, p), so P(X_(l) <= q_p <= X_(u)) = P(l <= B < u)
    [1]_. The ranks l and u are chosen so that the quantile lies below X_(l) with a probability of at most (1 -
    confidence) / 2, and above X_(u) with the same probability at most. This holds for any distribution of the values.

    References
    ----------
    .. [1] W. J. Conover, *Practical Nonparametric Statistics*, 3rd ed., Wiley, 1999, section 3.2.
    """
    tail = (1 - confidence) / 2
    low = binomial_quantile(tail, count, probability)
    high = binomial_quantile(1 - tail, count, probability) + 1
    return (low, high) if low >= 1 and high <= count else None


def design_effect(below: Floats, counts: Floats, probability: float) -> tuple[float, int | None]:
    """Return the design effect of a share: its variance divided by the variance for independent values, >= 1.

    Parameters
    ----------
    below : ndarray of shape (n_intervals,)
        Number of values at or below the quantile in each interval. [1]
    counts : ndarray of shape (n_intervals,)
        Number of values in each interval. [1]
    probability : float
        Probability of the quantile, in (0, 1).

    Returns
    -------
    effect : float
    needs : int or None
        Number of intervals that are needed to estimate the effect; None if the recording has enough. [1]

    Notes
    -----
    The effect is the squared error of the share, divided by p (1 - p) / n (the design effect of Kish). Because the
    error is an estimate, it is first multiplied by the ratio of the quantiles of Student's t and of the normal
    distribution.
    """
    error = error_of(below, counts)
    if error is None:
        return 1.0, OBSERVATIONS_AT_LEAST
    wide = error.half_width() / normal_quantile(0.5 + CONFIDENCE / 2)
    return max(1.0, wide**2 * float(counts.sum()) / (probability * (1 - probability))), error.needs


def likely_design_effect(below: Floats, counts: Floats, probability: float) -> float:
    """Return the design effect from the best estimate of the error, without the allowances for a short recording. [1]

    It serves to recommend a longer recording, which needs smaller allowances.
    """
    error = error_of(below, counts)
    if error is None:
        return 1.0
    return max(1.0, error.best_error**2 * float(counts.sum()) / (probability * (1 - probability)))


def effective_ranks(
    count: int, probability: float, effect: float, confidence: float = CONFIDENCE
) -> tuple[int, int] | None:
    """Return the ranks of the bounds of a confidence interval of a quantile, for `count` correlated values that carry
    as much information as `count / effect` independent values.

    Notes
    -----
    The ranks are determined for `count / effect` values by the exact binomial distribution, and then scaled to `count`
    values. This is Woodruff's interval [1]_ with the binomial distribution instead of the normal distribution.

    References
    ----------
    .. [1] R. S. Woodruff, "Confidence intervals for medians and other position measures", Journal of the
           American Statistical Association 47(260), 635-646, 1952, doi:10.1080/01621459.1952.10483443.
    """
    worth = max(1, math.floor(count / effect))
    ranks = order_statistic_ranks(worth, probability, confidence)
    if ranks is None:
        return None
    low = max(1, math.floor(ranks[0] * count / worth))
    return low, min(count, math.ceil(ranks[1] * count / worth))
