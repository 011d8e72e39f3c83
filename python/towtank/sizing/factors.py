"""Correction factors of computed values, and random values of these factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from towtank.distributions import normal_quantile
from towtank.sizing.scores import scores

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
        """Return a random value of this ratio, computed from a standard normal score.

        The distribution is log-normal, with different widths below and above the value. The value is its median, and
        the ends of the interval are its 2.5 % and 97.5 % quantiles.

        Examples
        --------
        >>> [round(Factor(1.0, 0.5, 4.0).drawn(score), 3) for score in (-1.959964, 0.0, 1.959964)]
        [0.5, 1.0, 4.0]
        """
        low, high = min(self.low, self.value), max(self.high, self.value)
        if low <= 0:
            # The lower end is unknown. It is assumed to be at the same relative distance from the value as the upper
            # end.
            low = self.value**2 / high
        ratio = high / self.value if score > 0 else self.value / low
        return self.value * math.exp(math.log(ratio) * score / _NORMAL_95)


Factors = Mapping[int, Factor]
"""Correction factors, by the index of the objective."""


def drawn_factors(found: Factors, corrections: Factors, at: tuple[int, int], lost: str | None) -> Factors:
    """Return the values of the correction factors in one random draw, by the index of the objective.

    `found` are ratios of simulated to computed values in one scenario, and `corrections` ratios of measured to computed
    percentiles, whose error is the same in every scenario. `at` is the index of the random draw, and the number of all
    draws. The tier `lost` with lost nodes identifies the scenario; each simulation has an independent error.
    """
    draw, count = at
    drawn = {n: factor.drawn(scores(count, f"simulation {n} {lost}")[draw]) for n, factor in found.items()}
    for number, correction in corrections.items():
        score = scores(count, f"correction {number}")[draw]
        drawn[number] = drawn.get(number, 1.0) * correction.drawn(score)
    return {number: Factor(value, value, value) for number, value in drawn.items()}
