"""Computes main effects and interactions of two-level factors, with intervals, and the share of each effect in the
total variation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.arrays import Floats
from towtank.distributions import t_quantile


@dataclass(frozen=True)
class Effect:
    """Effect of one factor on a measured value, or interaction of several factors.

    Attributes
    ----------
    factors : tuple of int
        Numbers of the factors, counted from 0; several numbers for an interaction.
    coefficient : Estimate
        Coefficient q in the model y = q_0 + sum of q x, with x = -1 or 1. It is half of the change from the first level
        to the second.
    squares : float
        Sum of squares of the effect.
    share : float or None
        Share of `squares` in the total sum of squares, in [0, 1]; None if there is no variation.
    """

    factors: tuple[int, ...]
    coefficient: Estimate
    squares: float
    share: float | None


@dataclass(frozen=True)
class Effects:
    """Effects of a two-level factorial design.

    Attributes
    ----------
    mean : Estimate
        Mean over all configurations, q_0.
    effects : tuple of Effect
        Effects of all factors and interactions, sorted by the number of factors.
    error_squares : float
        Sum of squares of the deviations between repetitions of the same configuration.
    error_share : float or None
        Share of `error_squares` in the total sum of squares, in [0, 1]; None if there is no variation or no repetition.
    freedom : int
        Degrees of freedom of the error; 0 if there is no repetition, so that there are no intervals. [1]
    """

    mean: Estimate
    effects: tuple[Effect, ...]
    error_squares: float
    error_share: float | None
    freedom: int


def two_level_effects(responses: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> Effects:
    """Compute the effects of k two-level factors from a full factorial design, with or without repetitions.

    Parameters
    ----------
    responses : sequence of sequence of float
        Measured values of each of 2^k configurations, at least one value each. The configurations are in standard
        order: the first factor changes fastest, and its first level comes before its second.
    confidence : float, default 0.95
        Confidence of the intervals, in (0, 1).

    Returns
    -------
    Effects

    Raises
    ------
    ValueError
        If the number of configurations is not a power of two above 1, or a configuration has no repetition.

    Notes
    -----
    Let y_i be the mean of configuration i, and x_ij the sign of configuration i for effect j in the sign table. Then
    q_j = sum_i x_ij y_i / 2^k. With r repetitions of each configuration, SS_j = 2^k r q_j^2, SSE = sum (y_ir - y_i)^2,
    and the shares are SS / SST. The standard error of each q is s_e / sqrt(2^k r) with s_e^2 = SSE / (2^k (r - 1));
    intervals are Student's t [1]_. If runs are missing, r is the harmonic mean of the numbers of repetitions (the
    analysis of unweighted means [2]_). Intervals then stay exact, but shares are approximate.

    The model assumes additive effects, and independent normal errors of equal variance. If the largest response is ten
    or more times the smallest, effects are multiplicative rather than additive; pass the logarithm of the response.

    References
    ----------
    .. [1] R. Jain, *The Art of Computer Systems Performance Analysis*, Wiley, 1991, chapters 17 and 18.
    .. [2] B. J. Winer, *Statistical Principles in Experimental Design*, 2nd ed., McGraw-Hill, 1971, section 6.14.

    Examples
    --------
    Memory of 4 or 16 MB, cache of 1 or 2 KB (example 17.1 of [1]_):

    >>> found = two_level_effects([[15], [45], [25], [75]])
    >>> found.mean.value, [(effect.factors, effect.coefficient.value) for effect in found.effects]
    (40.0, [((0,), 20.0), ((1,), 10.0), ((0, 1), 5.0)])
    """
    count = len(responses)
    if count < 2 or count & (count - 1) or not all(len(cell) for cell in responses):
        raise ValueError(
            "a two-level factorial design needs 2, 4, 8, ... configurations with at least one repetition each"
        )
    means = np.array([np.mean(cell) for cell in responses])
    repetitions = count / sum(1 / len(cell) for cell in responses)
    freedom = sum(len(cell) - 1 for cell in responses)
    error = float(
        sum(np.sum((np.asarray(cell, dtype=float) - mean) ** 2) for cell, mean in zip(responses, means, strict=True))
    )
    half = math.nan
    if freedom:
        spread = math.sqrt(error / freedom / (count * repetitions))
        half = t_quantile(0.5 + confidence / 2, freedom) * spread
    number_of = sum(len(cell) for cell in responses)
    coefficients = [
        _interval(float(signs @ means) / count, half, number_of, confidence) for signs in _sign_table(count)
    ]
    squares = [count * repetitions * (coefficient.value or 0.0) ** 2 for coefficient in coefficients]
    total = sum(squares[1:]) + error
    found = [
        Effect(_factors(place), coefficients[place], squares[place], squares[place] / total if total > 0 else None)
        for place in range(1, count)
    ]
    found.sort(key=lambda effect: (len(effect.factors), effect.factors))
    return Effects(coefficients[0], tuple(found), error, error / total if total > 0 and freedom else None, freedom)


def _sign_table(count: int) -> Floats:
    """Return the sign table of a factorial design, with a row for each configuration and a column for the mean and each
    effect.

    Signs are -1 or 1. The bits of the row number are the levels of the factors.
    """
    numbers = np.arange(count)
    # An effect has the sign 1 if an even number of its factors are at their first level, and otherwise -1.
    low = numbers[:, None] & ~numbers[None, :]
    odd = np.array([[int(value).bit_count() % 2 for value in row] for row in low])
    return np.asarray(1.0 - 2.0 * odd)


def _factors(place: int) -> tuple[int, ...]:
    return tuple(bit for bit in range(place.bit_length()) if place >> bit & 1)


def _interval(value: float, half: float, number_of: int, confidence: float) -> Estimate:
    if math.isnan(half):
        return Estimate(value, n=number_of, confidence=confidence)
    return Estimate(value, value - half, value + half, estimates.RUNS, number_of, confidence)
