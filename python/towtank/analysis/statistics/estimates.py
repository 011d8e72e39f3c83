"""Defines an estimate: a value with a confidence interval, and the name of the method that computed the interval."""

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
"""Method for the mean of values with a trend, for instance during a ramp-up."""
BINOMIAL = "binomial"
"""Method for the exact binomial interval of a proportion."""
EXACT = "count"
"""Method that counts all events. The interval allows for events that could not be counted, but not for chance."""

WIDEST = math.log(100.0)
"""Largest half-width of an interval in logarithms. Such an interval extends from a hundredth of the value to a hundred
times the value. [1]
"""


_LARGEST_EXPONENT = math.log(sys.float_info.max)


@dataclass(frozen=True)
class Estimate:
    """Estimated value with its confidence interval.

    Attributes
    ----------
    value : float or None
        Estimated value; None if nothing was measured.
    low, high : float or None
        Lower and upper limit of the interval. If there is no interval, they are None, and `method` is `none`.
    method : str
        `batch means`, `order statistics`, `second differences`, `runs`, `binomial`, `count` or `none`. If the interval
        includes an assumed difference between runs, `, assumed run to run` follows.
    n : int
        Sample size, depending on the method: effective sample size of a run, number of values, or number of runs. [1]
    needs_s : int or None
        Length of a window that would probably give an interval; None if a longer window would not help. [s]
    within : float or None
        Half-width of the 95 % interval of a mean over runs that follows from the errors within the runs alone; None if
        unknown. Summaries do not contain this value.
    resolution : float
        Part of the half-width that no number of runs reduces; 0 if negligible. Summaries do not contain this value.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = NONE
    n: int = 0
    confidence: float = CONFIDENCE
    needs_s: int | None = None
    within: float | None = None
    resolution: float = 0.0

    @property
    def half_width(self) -> float | None:
        """Half of the width of the interval; None if there is no interval.

        If the lower limit is 0, this is the distance from the value to the upper limit.
        """
        if self.low is None or self.high is None:
            return None
        if self.low == 0 and self.value:
            return self.high - self.value
        return (self.high - self.low) / 2

    def read_to(self, resolution: float) -> Estimate:
        """Return the mean over runs of a non-negative quantity whose readings have a limited resolution, at least 0.

        The readings of all runs may have the same error of up to the resolution. Therefore the interval becomes longer
        by the resolution at both ends, and equal readings have an interval, too. A single run keeps its interval.
        """
        if resolution == 0 or self.value is None or self.n < 2:
            return self
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        found = replace(self, low=low - resolution, high=high + resolution, method=RUNS, resolution=resolution)
        return found.of_quantity()

    def of_quantity(self) -> Estimate:
        """Return the estimate of a quantity that cannot be negative: a negative lower limit of the interval becomes
        0.
        """
        return replace(self, low=0.0) if self.low is not None and self.low < 0 else self

    def at(self, confidence: float) -> Estimate:
        """Return the estimate with an interval for another confidence, in (0, 1), converted by Student's t.

        The distances from the value to both limits are multiplied by the same factor. If the interval is more symmetric
        in the logarithm, as for ratios and non-negative quantities, the distances between logarithms are multiplied.
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
        if not 0 < low < value < high < math.inf:
            return False
        down, up = value - low, high - value
        log_down, log_up = math.log(value / low), math.log(high / value)
        return abs(log_up - log_down) / (log_up + log_down) < abs(up - down) / (up + down)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate in another unit. All numbers are multiplied by `factor` > 0."""
        if self.value is None:
            return self
        low = None if self.low is None else factor * self.low
        high = None if self.high is None else factor * self.high
        within = None if self.within is None else factor * self.within
        resolution = factor * self.resolution
        return replace(self, value=factor * self.value, low=low, high=high, within=within, resolution=resolution)

    @property
    def written(self) -> Estimate:
        """Estimate as a summary contains it: without an interval if an end is infinite."""
        return estimate_from_document(self.document())

    def document(self) -> dict[str, object]:
        """Return the estimate as JSON for a summary. Numbers that are not finite become None."""
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
    """Return the length of `bins` recorded bins, rounded up to whole seconds. [s]"""
    # Clock errors make one-second bins slightly too long. Without rounding, they could add a whole second.
    return math.ceil(round(bins * bin_s, 1))


NO_ESTIMATE = Estimate(None)
"""Estimate without a value, for quantities that were not measured."""


def estimate_from_document(document: Mapping[str, Any] | None) -> Estimate:
    """Read an estimate from JSON; `NO_ESTIMATE` if the document is missing or empty."""
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


def estimate_of(summary: object, *path: str) -> Estimate:
    """Return the estimate at a path of keys in a summary, read or as JSON; `NO_ESTIMATE` if a key is missing."""
    found = dig(summary, *path)
    if isinstance(found, Estimate):
        return found
    return estimate_from_document(found) if isinstance(found, Mapping) else NO_ESTIMATE
