"""Renders recommended lengths of windows. The lengths are estimates, so they are rounded to two digits."""

from __future__ import annotations

import math

from towtank.estimates import few_digits

PRACTICAL_S = 3600.0
"""A recommended window is at most this long, unless the measured window was long as well. [s]"""
_TIMES_LONGER = 2.0
"""A recommended window may also be up to this many times as long as the measured window. [1]"""
# Lengths from these values on are rendered in minutes and in hours, respectively. [s]
_IN_MINUTES_S, _IN_HOURS_S = 600.0, 36_000.0


def longest_s(window_s: float) -> float:
    """Return the largest length that is recommended for a window, if the measured window has the length `window_s`. [s]

    Examples
    --------
    >>> longest_s(30.0), longest_s(7200.0)
    (3600.0, 14400.0)
    """
    return max(PRACTICAL_S, _TIMES_LONGER * window_s)


def advised_length(length_s: float, window_s: float) -> str | None:
    """Render the recommended length of a window, rounded up to two digits; None if it is too long to be practical.

    Parameters
    ----------
    length_s : float
        Length of a window that would suffice. [s]
    window_s : float
        Length of the window that was measured. [s]

    Examples
    --------
    >>> [advised_length(length_s, 30.0) for length_s in (10.0, 204.0, 595.0, 930.0, 3600.0, 3601.0)]
    ['10 s', '210 s', '10 min', '16 min', '60 min', None]
    >>> [advised_length(length_s, 7200.0) for length_s in (9000.0, 14_300.0, 14_401.0)]
    ['150 min', '240 min', None]
    >>> advised_length(100_000.0, 86_400.0)
    '28 h'
    """
    return _text(length_s) if length_s <= longest_s(window_s) else None


def none_is_long_enough(window_s: float) -> str:
    """Return the subject of a sentence which states that no window of practical length suffices.

    Examples
    --------
    >>> none_is_long_enough(30.0), none_is_long_enough(86_400.0)
    ('no window of a practical length (up to 1 h)', 'no window of a practical length (up to 48 h)')
    """
    return f"no window of a practical length (up to {few_digits(longest_s(window_s) / 3600, 2)} h)"


def _text(length_s: float) -> str:
    rounded_s = _two_digits_up(length_s)
    if rounded_s < _IN_MINUTES_S:
        return f"{rounded_s:g} s"
    if rounded_s < _IN_HOURS_S:
        return f"{_two_digits_up(length_s / 60):g} min"
    return f"{_two_digits_up(length_s / 3600):g} h"


def _two_digits_up(amount: float) -> float:
    step = 10.0 ** max(0, math.floor(math.log10(max(amount, 1.0))) - 1)
    return math.ceil(round(amount / step, 9)) * step
