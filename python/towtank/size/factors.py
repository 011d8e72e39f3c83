"""Factors of percentiles, and their values in a draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from towtank.distributions import normal_quantile
from towtank.size.scores import scores

_NORMAL_95 = normal_quantile(0.975)


@dataclass(frozen=True)
class Factor:
    """Ratio of a simulated or measured value to the computed value, with its interval.

    Attributes
    ----------
    value, low, high : float
        Ratio and its interval, which is widened if it does not contain the value. [ratio]
    """

    value: float
    low: float
    high: float

    def drawn(self, score: float) -> float:
        """Return the value at a normal score, of a two-piece log-normal through the value and its interval's ends.

        Examples
        --------
        >>> [round(Factor(1.0, 0.5, 4.0).drawn(score), 3) for score in (-1.959964, 0.0, 1.959964)]
        [0.5, 1.0, 4.0]
        """
        low, high = min(self.low, self.value), max(self.high, self.value)
        if low <= 0:
            low = self.value**2 / high  # nothing is known of that side: as far from the value as the other one
        ratio = high / self.value if score > 0 else self.value / low
        return self.value * math.exp(math.log(ratio) * score / _NORMAL_95)


Factors = Mapping[int, Factor]
"""By the number of the check."""


def drawn_factors(found: Factors, corrections: Factors, at: tuple[int, int], lost: str | None) -> Factors:
    """Return the factors of one draw.

    Parameters
    ----------
    found : Factors
        Simulated over computed values, in one scenario.
    corrections : Factors
        Measured percentiles over those that were corrected; the same error in every scenario.
    at : (int, int)
        Number of the draw and number of all draws.
    lost : str or None
        The scenario: a simulation has an error of its own in each.
    """
    draw, count = at
    drawn = {n: factor.drawn(scores(count, f"simulation {n} {lost}")[draw]) for n, factor in found.items()}
    for number, correction in corrections.items():
        score = scores(count, f"correction {number}")[draw]
        drawn[number] = drawn.get(number, 1.0) * correction.drawn(score)
    return {number: Factor(value, value, value) for number, value in drawn.items()}
