"""Reads the condition `holds` of a claim, which gives bounds of a number, a direction, or levels of a factor."""

from __future__ import annotations

import re
from dataclasses import dataclass

from towtank.claim_bounds import NumberBounds, read_bounds
from towtank.spelling import misnamed
from towtank.study.claims import HIGHEST_MEASURE, LOWEST_MEASURE, QUANTITIES, TREND_MEASURE

DIRECTIONS = ("rises", "falls", "stays")
INSIDE = "inside"
_LEVELS = re.compile(r"\s*at\s+(?P<levels>\S.*?)\s*")


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
        return read_bounds(text, unit)
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
