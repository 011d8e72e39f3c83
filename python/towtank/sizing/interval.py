"""Computes 95 % intervals of the values of a sizing, and renders them as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from towtank.estimates import (
    FEW_DIGITS,
    duration_estimate,
    few_digits,
    number_estimate,
    rate_estimate,
    share_estimate,
    significant,
)
from towtank.units import format_duration, format_rate, format_size

ENDS = (0.025, 0.975)
_NO_WIDTH = 1e-9
"""Largest relative width of an interval with which the value counts as equal in all random draws. [ratio]"""
_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
# Tolerance for rounding errors when a share of the random draws is converted to a number of draws.
_ROUNDING = 1e-9
_WILSON = 1.959964
# A share above this number may be rendered as "above 99.9 %".
_ALMOST_ALL = 0.999
# Largest number of digits of a percentage just below 100. A percentage that would need more digits to differ from 100
# is rendered as "above 99.9 %".
_MOST_DIGITS = 6
# Whole numbers up to this limit are exact as doubles, and are rendered in full.
_WHOLE = 1e15


@dataclass(frozen=True)
class Interval:
    """95 % interval of a value.

    Attributes
    ----------
    low, high : float
        Lower and upper end; infinite if too many random draws have no steady state.
    """

    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """Return this interval multiplied by a factor of at least 0."""
        return Interval(self.low * factor, self.high * factor)

    def around(self, value: float) -> Interval:
        """Return this interval, widened if needed so that it contains `value`."""
        return Interval(min(self.low, value), max(self.high, value))

    def document(self) -> dict[str, object]:
        """Return this interval as a JSON object, with None for an infinite end."""
        return {"low": finite(self.low), "high": finite(self.high)}

    @property
    def is_point(self) -> bool:
        """True if the value is the same in all random draws."""
        width = self.high - self.low
        return math.isfinite(width) and width <= _NO_WIDTH * max(abs(self.low), abs(self.high))


def estimate_text(value: float, unit: str, interval: Interval | None = None) -> str:
    """Render a value in its unit, with its interval if known."""
    if unit == "byte":
        return size_text(value, interval)
    if unit == "s":
        return duration_text(value, interval)
    if unit == "ratio":
        return share_text(value, interval)
    if unit == "1/s":
        return rate_text(value, interval)
    return number_text(value, interval, "" if unit == "1" else unit)


def finite(value: float) -> float | None:
    """Return a number for JSON; None if the number is infinite, such as a response time without a steady state."""
    return value if math.isfinite(value) else None


def interval_document(interval: Interval | None) -> dict[str, object] | None:
    """Return an interval as a JSON object; None if the interval is unknown."""
    return None if interval is None else interval.document()


def interval_of(found: Interval | Mapping[str, float | None] | Sequence[float | None] | None) -> Interval | None:
    """Read an interval from a JSON document. Documents of earlier versions store a list of two numbers."""
    if found is None or isinstance(found, Interval):
        return found
    low, high = (found["low"], found["high"]) if isinstance(found, Mapping) else found
    return Interval(-math.inf if low is None else float(low), math.inf if high is None else float(high))


def between(values: Iterable[float]) -> Interval:
    """Return the interval that contains 95 % of the random draws; at least one draw is required."""
    drawn = np.sort(np.array(list(values), dtype=float))
    outside = draws_outside(len(drawn))
    return Interval(float(drawn[outside]), float(drawn[-1 - outside]))


def draws_outside(count: int) -> int:
    """Return the number of random draws that lie below the 95 % interval, which equals the number above it. [1]

    Notes
    -----
    The number is at most 2.5 % of all draws. Each end of the interval is the value of a draw, without interpolation. A
    limit at or above the upper end therefore holds in at least 97.5 % of the draws, and a limit below the upper end
    holds in fewer draws. Intervals and probabilities thus never contradict each other.

    Examples
    --------
    >>> draws_outside(200), draws_outside(39)
    (5, 0)
    """
    return math.floor(ENDS[0] * count + _ROUNDING)


def share_between(count: int, of: int) -> Interval:
    """Return the Wilson interval of the share `count / of` of random draws. The interval accounts for the limited
    number of draws.

    Notes
    -----
    (p + z^2 / 2 n -+ z sqrt(p (1 - p) / n + z^2 / 4 n^2)) / (1 + z^2 / n) with p = count / n, n = `of` and z = 1.96
    [1]_. Random draws of the growth are evenly spaced quantiles, so the error of their share is smaller.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
           American Statistical Association 22(158), 209-212, 1927, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> found = share_between(180, 200)
    >>> round(found.low, 3), round(found.high, 3)
    (0.851, 0.934)
    """
    share, square = count / of, _WILSON**2
    middle = share + square / (2 * of)
    half = _WILSON * math.sqrt(share * (1 - share) / of + square / (4 * of**2))
    scale = 1 + square / of
    return Interval(0.0 if not count else (middle - half) / scale, 1.0 if count == of else (middle + half) / scale)


def unless_exact(interval: Interval | None) -> Interval | None:
    """Return an interval; None if it is unknown or a point."""
    return None if interval is None or interval.is_point else interval


def duration_text(seconds: float | None, interval: Interval | None = None) -> str:
    """Render a time with its interval. If the interval is unknown, the time has three digits."""
    if seconds is None or not math.isfinite(seconds):
        return "no steady state"
    known = unless_exact(interval)
    if known is None:
        return format_duration(significant(seconds, FEW_DIGITS))
    return duration_estimate(seconds, known.low, known.high)


def rate_text(per_second: float | None, interval: Interval | None = None) -> str:
    """Render a rate with its interval. If the interval is unknown, the rate has three digits."""
    if per_second is None:
        return "no steady state"
    known = unless_exact(interval)
    if known is None:
        return format_rate(per_second if _exact(per_second, interval) else significant(per_second, FEW_DIGITS))
    return rate_estimate(per_second, known.low, known.high)


def _exact(value: float, interval: Interval | None) -> bool:
    """Return True if a value is rendered with all digits, because it is a whole number or equal in all random draws."""
    return interval is not None or float(value).is_integer()


def share_text(ratio: float | None, interval: Interval | None = None) -> str:
    """Render a ratio in per cent with its interval. If the interval is unknown, the ratio has three digits."""
    if ratio is None:
        return "-"
    known = unless_exact(interval)
    if known is None:
        return f"{few_digits(100 * ratio)} %" if ratio >= 1 else f"{_below_all(100 * ratio)} %"
    if known.low > _ALMOST_ALL and known.high <= 1:
        return f"above {100 * _ALMOST_ALL:g} %"
    return share_estimate(ratio, known.low, known.high)


def _below_all(percent: float) -> str:
    """Render a percentage. A value below 100 gets enough digits that it is not shown as 100, up to `_MOST_DIGITS`."""
    digits = FEW_DIGITS
    while float(f"{percent:.{digits}g}") >= 100 and digits < _MOST_DIGITS:
        digits += 1
    if float(f"{percent:.{digits}g}") >= 100:
        return f"above {100 * _ALMOST_ALL:g}"
    return f"{percent:.{digits}g}" if percent >= 1e-3 or percent == 0 else f"{percent:.1g}"


def number_text(value: float, interval: Interval | None = None, unit: str = "") -> str:
    """Render a number with its interval.

    Without an interval, whole numbers are rendered in full, and other numbers with three digits.
    """
    known = unless_exact(interval)
    if known is None:
        shown = f"{value:,.0f}" if _whole(value) else few_digits(value)
        return f"{shown}{unit and ' '}{unit}"
    return number_estimate(value, known.low, known.high, unit)


def _whole(value: float) -> bool:
    return float(value).is_integer() and abs(value) < _WHOLE


def size_text(size_bytes: float, interval: Interval | None = None) -> str:
    """Render a size in binary units with its interval. If the interval is unknown, the size has three digits."""
    known = unless_exact(interval)
    if known is None:
        length, unit = next(((length, unit) for unit, length in _UNITS if size_bytes >= length), (1, "B"))
        return format_size(significant(size_bytes / length, FEW_DIGITS) * length)
    length, unit = next(((length, unit) for unit, length in _UNITS if size_bytes >= length), (1, "B"))
    return number_estimate(size_bytes / length, known.low / length, known.high / length, unit)
