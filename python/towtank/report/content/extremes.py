"""Shortens long tables: of many similar rows, those at both ends say more than all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHOWN_AT_MOST = 12


def extremes(items: list[T], value: Callable[[T], float | None]) -> list[T]:
    """Return all items, or of many those with the lowest and those with the highest values, in this order.

    Parameters
    ----------
    items : list
        What could be shown.
    value : callable
        By what they are ordered; None counts as nothing.
    """
    if len(items) <= SHOWN_AT_MOST:
        return items
    half = SHOWN_AT_MOST // 2
    ordered = sorted(items, key=lambda item: value(item) or 0.0)
    return [*ordered[:half], *ordered[-half:]]
