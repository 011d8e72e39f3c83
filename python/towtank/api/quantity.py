"""Defines a float with a unit and a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from towtank import units
from towtank.estimates import (
    duration_estimate,
    duration_unit,
    few_digits,
    number_estimate,
    rate_estimate,
    share_estimate,
)

SECONDS = "s"
MILLISECONDS = "ms"
PER_SECOND = "1/s"
RATIO = "ratio"
COUNT = "1"
BYTES = "byte"
CONFIDENCE = 0.95
# pytest then shows the line of the test that compares with a wrong unit, and not the lines below.
__tracebackhide__ = True

_READERS: dict[str, Callable[[object], float]] = {
    SECONDS: units.duration,
    MILLISECONDS: lambda text: 1e3 * units.duration(text),
    PER_SECOND: units.rate,
    RATIO: units.share,
    BYTES: units.size,
}
_FACTORS = {(SECONDS, MILLISECONDS): 1e3, (MILLISECONDS, SECONDS): 1e-3}
_ESTIMATES: dict[str, Callable[[float, float, float], str]] = {
    SECONDS: duration_estimate,
    PER_SECOND: rate_estimate,
    RATIO: share_estimate,
}


class Interval(NamedTuple):
    """Confidence interval of a quantity, in the unit of the quantity.

    Attributes
    ----------
    low, high : float
        Bounds of the interval; infinite if the interval is unbounded on that side.
    """

    low: float
    high: float


class Quantity(float):
    """Number with a unit and, if known, a confidence interval.

    A quantity computes, compares and formats like a float. `<`, `<=`, `>` and `>=` also compare it with a text that has
    a unit, such as `"400 ms"`; `==` with a text is False.

    Parameters
    ----------
    value : float
        The number, in `unit`.
    unit : str
        `s`, `ms`, `1/s`, `ratio`, `byte`, `1`, or the name of what is counted.
    interval : Interval, optional
        Confidence interval of the number; None if unknown.
    confidence : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Attributes
    ----------
    unit : str
        `s`, `ms`, `1/s`, `ratio`, `byte`, `1`, or the name of what is counted.
    interval : Interval or None
        Confidence interval in the same unit; None if unknown.
    confidence : float
        Confidence level of the interval, in (0, 1).
    about : str
        Description of the measured quantity and of the verdict on the measurement, for messages; may be empty.

    Examples
    --------
    >>> p95 = Quantity(0.4336, "s", Interval(0.4252, 0.4421))
    >>> p95
    434 [425, 442] ms
    >>> p95 < "500 ms", p95 < 0.43, p95.interval.high
    (True, False, 0.4421)
    """

    __slots__ = ("about", "confidence", "interval", "unit")
    unit: str
    interval: Interval | None
    confidence: float
    about: str

    def __new__(
        cls,
        value: float,
        unit: str = COUNT,
        interval: Interval | None = None,
        about: str = "",
        confidence: float = CONFIDENCE,
    ) -> Quantity:
        """Create an immutable quantity."""
        made = super().__new__(cls, value)
        for name, content in (("unit", unit), ("interval", interval), ("about", about), ("confidence", confidence)):
            object.__setattr__(made, name, content)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a quantity cannot be changed, and {name!r} cannot be set")

    def __reduce__(self) -> tuple[type[Quantity], tuple[Any, ...]]:
        return Quantity, (float(self), self.unit, self.interval, self.about, self.confidence)

    @property
    def low(self) -> float | None:
        """Lower end of the confidence interval; None if the quantity has no interval."""
        return None if self.interval is None else self.interval.low

    @property
    def high(self) -> float | None:
        """Upper end of the confidence interval; None if the quantity has no interval."""
        return None if self.interval is None else self.interval.high

    def __str__(self) -> str:
        value = float(self)
        if self.interval is not None and math.isfinite(value):
            low, high = self.interval.low, self.interval.high
            if self.unit in _ESTIMATES:
                return _ESTIMATES[self.unit](value, low, high)
            return number_estimate(value, low, high, shown_unit(self.unit))
        return _plain(value, self.unit)

    def __repr__(self) -> str:
        return str(self)

    def in_unit(self, limit: float | str) -> float:
        """Return a limit as a number in the unit of this quantity: `"400 ms"` is 0.4 for a quantity in seconds.

        Raises
        ------
        ValueError
            If the limit cannot be converted to the unit of this quantity.
        """
        if isinstance(limit, Quantity) and COUNT not in (limit.unit, self.unit) and limit.unit != self.unit:
            factor = _FACTORS.get((limit.unit, self.unit))
            if factor is None:
                raise ValueError(f"must be a quantity in {self.unit}, got {limit} in {limit.unit} instead")
            return factor * limit
        if not isinstance(limit, str):
            return limit
        reader = _READERS.get(self.unit)
        if reader is None:
            raise ValueError(f"must be a number to compare with a quantity in {self.unit}, got {limit!r} instead")
        try:
            return reader(limit)
        except ValueError as error:
            raise ValueError(str(error)) from None

    def __lt__(self, other: Any) -> bool:
        return super().__lt__(self.in_unit(other))

    def __le__(self, other: Any) -> bool:
        return super().__le__(self.in_unit(other))

    def __gt__(self, other: Any) -> bool:
        return super().__gt__(self.in_unit(other))

    def __ge__(self, other: Any) -> bool:
        return super().__ge__(self.in_unit(other))


def _plain(value: float, unit: str) -> str:
    """Render the number of a quantity with its unit, without the confidence interval."""
    if not math.isfinite(value):
        return "unbounded"
    if unit == SECONDS:
        length, name = duration_unit(value)
        return f"{few_digits(value / length)} {name}"
    if unit == RATIO:
        return f"{few_digits(100 * value)} %"
    shown = shown_unit(unit)
    return f"{few_digits(value)}{shown and ' '}{shown}"


def shown_unit(unit: str) -> str:
    """Return the form of a unit in texts; empty for a number without a unit."""
    return {COUNT: "", PER_SECOND: "/s", BYTES: "bytes"}.get(unit, unit)


def number(value: Any, unit: str = COUNT, about: str = "") -> Quantity | None:
    """Convert a number to a quantity without a confidence interval; return None if the value is not a number."""
    return Quantity(value, unit, None, about) if isinstance(value, int | float) else None


def estimate(document: Mapping[str, Any] | None, unit: str, about: str = "") -> Quantity | None:
    """Read an estimate (`value`, `low`, `high` and `confidence`) as a quantity; None if the estimate has no value."""
    if not document or document.get("value") is None:
        return None
    ends = interval_of((document.get("low"), document.get("high")))
    confidence = float(document.get("confidence") or CONFIDENCE)
    return Quantity(float(document["value"]), unit, ends, about, confidence)


def interval_of(ends: Any) -> Interval | None:
    """Convert a pair of numbers, or a mapping with `low` and `high`, to an interval.

    A missing bound makes the interval unbounded on that side; if both bounds are missing, the result is None.
    """
    if isinstance(ends, Mapping):
        ends = (ends.get("low"), ends.get("high"))
    if not ends or (ends[0] is None and ends[1] is None):
        return None
    low, high = (-math.inf if ends[0] is None else float(ends[0])), (math.inf if ends[1] is None else float(ends[1]))
    return Interval(low, high)
