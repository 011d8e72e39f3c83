"""Computes with parts of the interval [0, 1) of a random number, which are disjoint intervals in ascending order."""

from __future__ import annotations

Intervals = tuple[tuple[float, float], ...]
ALL: Intervals = ((0.0, 1.0),)
# Length below which a part of [0, 1) counts as empty, because rounding of bounds creates parts of this length. [1]
LEAST = 1e-9


def meet(left: Intervals, right: Intervals) -> Intervals:
    """Return the intersection of two parts of the interval [0, 1).

    Examples
    --------
    >>> meet(((0.0, 0.5),), ((0.25, 1.0),))
    ((0.25, 0.5),)
    """
    pairs = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return tuple((low, high) for low, high in pairs if high - low > LEAST)


def rest(part: Intervals) -> Intervals:
    """Return the complement of a part in the interval [0, 1).

    Examples
    --------
    >>> rest(((0.25, 0.5),))
    ((0.0, 0.25), (0.5, 1.0))
    """
    ends = [0.0, *(end for interval in part for end in interval), 1.0]
    return tuple((low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if high - low > LEAST)


def length(part: Intervals) -> float:
    """Return the total length of the intervals: the probability that a random number in [0, 1) falls into them."""
    return sum(high - low for low, high in part)
