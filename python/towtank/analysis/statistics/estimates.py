"""Defines estimates: a value with its confidence interval, and the name of the method that computed the interval."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from towtank.digging import dig
from towtank.distributions import t_quantile

CONFIDENCE = 0.95
"""Confidence of all intervals in summaries, in (0, 1)."""

NONE = "none"
BATCH_MEANS = "batch means"
ORDER_STATISTICS = "order statistics"
RUNS = "runs"
SECOND_DIFFERENCES = "second differences"
"""Name of the method that computes the mean of values with a trend, for instance of a ramp-up."""
BINOMIAL = "binomial"
"""Name of the method that computes the exact binomial interval of a proportion."""
EXACT = "count"
"""Name of the method that counts all events. The bounds allow for events that could not be counted, not for chance."""

WIDEST = math.log(100.0)
"""Largest half-width of an interval in logarithms: from a hundredth of the value to a hundred times the value. [1]"""


_LARGEST_EXPONENT = math.log(sys.float_info.max)


@dataclass(frozen=True)
class Estimate:
    """An estimated value with its confidence interval.

    Attributes
    ----------
    value : float or None
        Estimated value; None if nothing was measured.
    low, high : float or None
        Ends of the interval; None without an interval, and `method` is then `none`.
    method : str
        `batch means`, `order statistics`, `second differences`, `runs`, `binomial` or `none`; followed by
        `, assumed run to run` if the interval includes an assumed difference between runs.
    n : int
        Sample size of the method: equivalent number of independent observations of a run, number of values, or number
        of runs. [1]
    needs_s : int or None
        Window length that would probably give an interval; None if a longer window does not help. [s]
    within : float or None
        For a mean over runs, half-width of the 95 % interval from the errors within the runs alone; None if unknown.
        Not part of summaries.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = NONE
    n: int = 0
    confidence: float = CONFIDENCE
    needs_s: int | None = None
    within: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the width of the interval; None without an interval.

        If the lower end was cut off at 0, the half-width is the distance from the value to the upper end.
        """
        if self.low is None or self.high is None:
            return None
        if self.low == 0 and self.value:
            return self.high - self.value
        return (self.high - self.low) / 2

    def of_quantity(self) -> Estimate:
        """Return the estimate of a quantity that cannot be negative: the interval is cut off at 0."""
        return replace(self, low=0.0) if self.low is not None and self.low < 0 else self

    def at(self, confidence: float) -> Estimate:
        """Return the estimate with an interval for another confidence, converted by Student's t.

        Both half-widths are scaled by the same factor. They are scaled in the logarithm if the interval is more
        symmetric there, as intervals of ratios and of non-negative quantities are.
        """
        if self.low is None or self.high is None or self.value is None:
            return self
        freedom = math.inf if self.method == ORDER_STATISTICS else max(1, self.n - 1)
        times = [t_quantile(0.5 + level / 2, freedom) for level in (confidence, self.confidence)]
        factor = times[0] / times[1]
        if self._is_symmetric_in_logarithms(self.value, self.low, self.high):
            low = self.value * (self.low / self.value) ** factor
            up = factor * math.log(self.high / self.value)
            high = self.value * math.exp(up) if up < _LARGEST_EXPONENT else math.inf
        else:
            low = self.value - (self.value - self.low) * factor
            high = self.value + (self.high - self.value) * factor
        return replace(self, low=low, high=high, confidence=confidence)

    @staticmethod
    def _is_symmetric_in_logarithms(value: float, low: float, high: float) -> bool:
        """Return True if an interval is more symmetric in the logarithm of the value than in the value."""
        if not 0 < low < value < high < math.inf:
            return False
        down, up = value - low, high - value
        log_down, log_up = math.log(value / low), math.log(high / value)
        return abs(log_up - log_down) / (log_up + log_down) < abs(up - down) / (up + down)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate in another unit, with all numbers multiplied by `factor` > 0."""
        if self.value is None:
            return self
        low = None if self.low is None else factor * self.low
        high = None if self.high is None else factor * self.high
        within = None if self.within is None else factor * self.within
        return replace(self, value=factor * self.value, low=low, high=high, within=within)

    def document(self) -> dict[str, Any]:
        """Return value, interval, method and n as JSON for a summary; numbers that are not finite become None."""
        whole = all(number is None or math.isfinite(number) for number in (self.low, self.high))
        bounded = whole and self.low is not None and self.high is not None
        return {
            "value": self.value if self.value is not None and math.isfinite(self.value) else None,
            "low": self.low if bounded else None,
            "high": self.high if bounded else None,
            "confidence": self.confidence,
            "method": self.method if bounded else NONE,
            "n": self.n,
            **({} if bounded or self.needs_s is None else {"needs_s": self.needs_s}),
        }


def needed_s(bins: float, bin_s: float) -> int:
    """Return the length of `bins` bins of a recording, rounded up to whole seconds. [s]"""
    # The lengths of one-second bins have small clock errors, which could add a whole second.
    return math.ceil(round(bins * bin_s, 1))


NO_ESTIMATE = Estimate(None)
"""Estimate without a value, used if nothing was measured."""


def estimate_from_document(document: Mapping[str, Any] | None) -> Estimate:
    """Read an estimate from its JSON object; `NO_ESTIMATE` if the object is missing."""
    if not document:
        return NO_ESTIMATE
    return Estimate(
        document.get("value"),
        document.get("low"),
        document.get("high"),
        str(document.get("method", NONE)),
        int(document.get("n", 0)),
        float(document.get("confidence", CONFIDENCE)),
        document.get("needs_s"),
    )


def estimate_of(summary: Mapping[str, object], *path: str) -> Estimate:
    """Return the estimate that a summary contains under a path of keys; `NO_ESTIMATE` if a key is missing."""
    found = dig(summary, *path)
    return estimate_from_document(found) if isinstance(found, Mapping) else NO_ESTIMATE
