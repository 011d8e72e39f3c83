"""Reads the bounds of a number from the condition of a claim."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from towtank import units

_ONE = re.compile(r"\s*(?P<sign><=|>=|<|>)\s*(?P<bound>\S.*?)\s*")
_TWO = re.compile(r"\s*between\s+(?P<low>\S.*?)\s+and\s+(?P<high>\S.*?)\s*")
_READERS = {"s": units.duration, "/s": units.rate, "B": units.size, "B/s": units.data_rate}


@dataclass(frozen=True)
class NumberBounds:
    """Lower and upper bound of a number, both inclusive; infinite if the condition has no such bound."""

    low: float
    high: float

    def verdict(self, low: float | None, high: float | None) -> bool | None:
        """Return True if an interval lies within the bounds, and False if it lies outside. Return None if the interval
        is unknown, or is partly within the bounds.
        """
        if low is None or high is None:
            return None
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None


def read_bounds(text: str, unit: str) -> NumberBounds:
    """Read the bounds of a number from the condition of a claim, such as `> 10 %` or `between 1 s and 2 s`. The unit is
    `s`, `/s`, `B`, `B/s`, or empty for a number or a share.

    Raises
    ------
    ValueError
        If the text states no bound in this unit.

    Examples
    --------
    >>> read_bounds("between 100 ms and 2 s", "s")
    NumberBounds(low=0.1, high=2.0)
    """
    two = _TWO.fullmatch(text)
    if two is not None:
        low, high = _number(two["low"], unit), _number(two["high"], unit)
        if low >= high:
            raise ValueError(f"must be between a smaller and a larger number, got {text!r} instead")
        return NumberBounds(low, high)
    match = _ONE.fullmatch(text)
    if match is None:
        raise ValueError(f"must be '> NUMBER', '< NUMBER' or 'between NUMBER and NUMBER', got {text!r} instead")
    bound = _number(match["bound"], unit)
    return NumberBounds(bound, math.inf) if match["sign"].startswith(">") else NumberBounds(-math.inf, bound)


def _number(text: str, unit: str) -> float:
    """Convert the text of a bound to a number in the base unit.

    A ratio may be written in percent, such as `70 %`; the bound 0 needs no unit.
    """
    sign, digits = (-1.0, text[1:].lstrip()) if text.startswith("-") else (1.0, text)
    if unit and digits.strip() != "0":
        return sign * float(_READERS[unit](digits))
    try:
        value = units.share(digits) if "%" in digits and float(digits.replace("%", "")) <= 100 else _plain(digits)
    except ValueError:
        raise ValueError(f"must be a bound such as 1.1 or 70 %, got {text!r} instead") from None
    return sign * value


def _plain(text: str) -> float:
    value = float(text.replace("%", "")) / (100 if "%" in text else 1)
    if not math.isfinite(value):
        raise ValueError
    return value
