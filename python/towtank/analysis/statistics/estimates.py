"""An estimate: a value and what is known of its error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scipy import stats

CONFIDENCE = 0.95
"""Confidence of every interval that is written to a summary, in (0, 1)."""

NONE = "none"
BATCH_MEANS = "batch means"
ORDER_STATISTICS = "order statistics"
RUNS = "runs"
BINOMIAL = "binomial"
"""Method of a share of what was counted, with its exact interval."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    Attributes
    ----------
    value : float or None
        None where nothing was measured.
    low, high : float or None
        None where no interval can be given; `method` is then `none`.
    method : str
        `batch means`, `order statistics`, `runs`, `binomial` or `none`; an interval with an assumed difference between
        runs adds `, assumed run to run`.
    n : int
        What the method counts: independent stretches that a run is worth, values or runs. [1]
    needs_s : int or None
        Length of a window that would probably have an interval; None if that is not what is missing. [s]
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = NONE
    n: int = 0
    confidence: float = CONFIDENCE
    needs_s: int | None = None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None without one.

        For an interval that was cut at 0 it is the width of the upper side.
        """
        if self.low is None or self.high is None:
            return None
        if self.low == 0 and self.value:
            return self.high - self.value
        return (self.high - self.low) / 2

    def of_quantity(self) -> Estimate:
        """Return the estimate of a quantity that cannot be negative, with its interval cut at 0."""
        return replace(self, low=0.0) if self.low is not None and self.low < 0 else self

    def at(self, confidence: float) -> Estimate:
        """The same at another confidence, by Student's t on both sides."""
        if self.low is None or self.high is None or self.value is None:
            return self
        freedom = math.inf if self.method == ORDER_STATISTICS else max(1, self.n - 1)
        times = [float(stats.t.ppf(0.5 + level / 2, freedom)) for level in (confidence, self.confidence)]
        low = self.value - (self.value - self.low) * times[0] / times[1]
        high = self.value + (self.high - self.value) * times[0] / times[1]
        return replace(self, low=low, high=high, confidence=confidence)

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit, `factor` > 0 times as large a number."""
        if self.value is None:
            return self
        low = None if self.low is None else factor * self.low
        high = None if self.high is None else factor * self.high
        return replace(self, value=factor * self.value, low=low, high=high)

    def document(self) -> dict[str, Any]:
        """As it stands in a summary; numbers that are not finite are no numbers there."""
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
    """Length of so many bins of a record, in whole seconds. [s]"""
    # Bins of a second differ from it by the clock's reading, which must not add a second.
    return math.ceil(round(bins * bin_s, 1))


NOTHING = Estimate(None)
"""Nothing was measured."""


def from_document(document: dict[str, Any] | None) -> Estimate:
    """Read back what `Estimate.document` wrote; `NOTHING` for what is missing."""
    if not document:
        return NOTHING
    return Estimate(
        document.get("value"),
        document.get("low"),
        document.get("high"),
        str(document.get("method", NONE)),
        int(document.get("n", 0)),
        float(document.get("confidence", CONFIDENCE)),
        document.get("needs_s"),
    )


def estimate_of(summary: dict[str, Any], *path: str) -> Estimate:
    """Estimate at a path of keys of a summary; `NOTHING` where it is missing."""
    found: Any = summary
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return NOTHING
        found = found[key]
    return from_document(found) if isinstance(found, dict) else NOTHING
