"""Renders lengths of windows as advice. Such lengths are estimates, so they have two digits."""

from __future__ import annotations

import math

LONGEST_S = 3600.0
"""Length of the longest window that a message recommends. [s]"""
NONE_IS_LONG_ENOUGH = f"no window of a practical length (up to {LONGEST_S / 3600:g} h)"
# Lengths of at least this value are rendered in minutes. [s]
_IN_MINUTES_S = 600.0


def advised_length(length_s: float) -> str | None:
    """Render a length, rounded up to two digits; None if it exceeds `LONGEST_S`.

    Examples
    --------
    >>> [advised_length(length_s) for length_s in (10.0, 204.0, 595.0, 930.0, 3600.0, 3601.0)]
    ['10 s', '210 s', '10 min', '16 min', '60 min', None]
    """
    if length_s > LONGEST_S:
        return None
    rounded_s = _two_digits_up(length_s)
    if rounded_s < _IN_MINUTES_S:
        return f"{rounded_s:g} s"
    return f"{_two_digits_up(length_s / 60):g} min"


def _two_digits_up(amount: float) -> float:
    step = 10.0 ** max(0, math.floor(math.log10(max(amount, 1.0))) - 1)
    return math.ceil(round(amount / step, 9)) * step
