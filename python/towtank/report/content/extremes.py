"""Selects the rows with the lowest and the highest values for long tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHOWN_AT_MOST = 12


def extremes(items: list[T], value: Callable[[T], float | None]) -> list[T]:
    """Return the items with the lowest and the highest values, sorted by value; at most `SHOWN_AT_MOST` items are all
    returned. A value of None counts as 0.
    """
    if len(items) <= SHOWN_AT_MOST:
        return items
    half = SHOWN_AT_MOST // 2
    ordered = sorted(items, key=lambda item: value(item) or 0.0)
    return [*ordered[:half], *ordered[-half:]]
