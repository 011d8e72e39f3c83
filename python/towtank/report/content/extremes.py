"""Shortens long tables to the rows with the lowest and the highest values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHOWN_AT_MOST = 12


def extremes(items: list[T], value: Callable[[T], float | None]) -> list[T]:
    """Return the items with the lowest and with the highest values, in this order; all items if they are few.

    Parameters
    ----------
    items : list
        Candidates for the table.
    value : callable
        Returns the value to sort by; None counts as 0.
    """
    if len(items) <= SHOWN_AT_MOST:
        return items
    half = SHOWN_AT_MOST // 2
    ordered = sorted(items, key=lambda item: value(item) or 0.0)
    return [*ordered[:half], *ordered[-half:]]
