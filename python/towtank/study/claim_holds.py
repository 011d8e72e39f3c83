"""Reads the condition `holds` of a claim, which gives bounds of a number, a direction, or levels of a factor."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from towtank import units
from towtank.spelling import misnamed
from towtank.study.claims import HIGHEST_MEASURE, LOWEST_MEASURE, QUANTITIES, TREND_MEASURE

DIRECTIONS = ("rises", "falls", "stays")
INSIDE = "inside"
_ONE = re.compile(r"\s*(?P<sign><=|>=|<|>)\s*(?P<bound>\S.*?)\s*")
_TWO = re.compile(r"\s*between\s+(?P<low>\S.*?)\s+and\s+(?P<high>\S.*?)\s*")
_LEVELS = re.compile(r"\s*at\s+(?P<levels>\S.*?)\s*")
_READERS = {"s": units.duration, "/s": units.rate, "B": units.size, "B/s": units.data_rate}


@dataclass(frozen=True)
class NumberBounds:
    """Lower and upper bound of a number, both inclusive; infinite if the condition has no such bound."""

    low: float
    high: float

    def verdict(self, low: float | None, high: float | None) -> bool | None:
        """Return True if the interval from `low` to `high` lies within the bounds, and False if it lies outside.

        Return None if the interval is unknown or lies only partly within the bounds.
        """
        if low is None or high is None:
            return None
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None


@dataclass(frozen=True)
class TrendDirection:
    """Required direction of a trend: one of `DIRECTIONS`."""

    name: str


@dataclass(frozen=True)
class AtLevels:
    """Condition that a quantity is highest or lowest at one of these levels of a factor.

    An empty tuple stands for all levels except the first and the last.
    """

    levels: tuple[str, ...]


Holds = NumberBounds | TrendDirection | AtLevels


def read_holds(kind: str, text: str, unit: str = "") -> Holds:
    """Read the condition of a claim from its text.

    Parameters
    ----------
    kind : str
        Kind of the measure, such as `ratio` or `trend`.
    text : str
        Condition as written in the study file.
    unit : str
        Unit of the bounds, as returned by `claim_metrics.unit_of_metric`.

    Raises
    ------
    ValueError
        If the text is not a valid condition for this kind of measure.

    Examples
    --------
    >>> read_holds("ratio", "between 0.9 and 1.1")
    NumberBounds(low=0.9, high=1.1)
    >>> read_holds("lowest", "at 20k or 40k")
    AtLevels(levels=('20k', '40k'))
    """
    if kind in QUANTITIES:
        return _bounds(text, unit)
    if kind == TREND_MEASURE:
        word = text.strip()
        if word not in DIRECTIONS:
            raise ValueError(misnamed(f"one of {', '.join(DIRECTIONS)}", word, DIRECTIONS, is_form=True))
        return TrendDirection(word)
    assert kind in (HIGHEST_MEASURE, LOWEST_MEASURE)
    if text.strip() == INSIDE:
        return AtLevels(())
    match = _LEVELS.fullmatch(text)
    if match is None:
        raise ValueError(f"must be 'at LEVEL', 'at LEVEL or LEVEL' or 'inside', got {text!r} instead")
    return AtLevels(tuple(part.strip() for part in re.split(r"\s+or\s+", match["levels"])))


def _bounds(text: str, unit: str) -> NumberBounds:
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
