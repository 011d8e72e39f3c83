"""Renders estimates as text. The width of the confidence interval determines the number of digits: `434 [425, 442] ms`.

References
----------
.. [1] R. L. Workman et al. (Particle Data Group), "Review of Particle Physics", Progress of Theoretical and
       Experimental Physics 2022(8), 083C01, section 5.3 (rounding), doi:10.1093/ptep/ptac097.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_TWO_DIGITS = 355
"""Threshold for the three leading digits of an error: below it, the error is rounded to two digits, otherwise to one
digit [1]_.
"""
WIDE = 10.0
"""Largest ratio of interval width to value of a positive quantity; a wider interval is shown as `not known`. [1]"""
# Reference amount, by unit, with which the interval of a value of 0 is compared: 1 s, 1 /s, 100 %, 1 GiB. For units
# that are not listed, the amount is 1.
_INSTEAD_OF_ZERO = {
    **{"ns": 1e9, "µs": 1e6, "ms": 1e3, "min": 1 / 60, "h": 1 / 3600, "/min": 60.0, "/h": 3600.0, "%": 100.0},
    **{"B": 2.0**30, "bytes": 2.0**30, "KiB": 2.0**20, "MiB": 2.0**10},
    **{"B/s": 2.0**30, "bytes/s": 2.0**30, "KiB/s": 2.0**20, "MiB/s": 2.0**10},
}
NOT_KNOWN = "not known"
"""Text that replaces an interval that is too wide to be shown, see `WIDE`."""
FEW_DIGITS = 3
"""Number of significant digits of a value whose error is unknown. [1]"""
_MOST_PLACES = 12
# Ratio of interval width to value below which the width consists of rounding errors only. [1]
_NOISE = 1e-14
# A share above this value is rendered as `above 99.9 %` if its exact percentage needs more than `_NINES_AT_MOST`
# decimal places, such as 99.99998 %.
_ALMOST_ALL = 0.999
_NINES_AT_MOST = 4
# Smallest value that the number format `.4g` renders with an exponent.
_FOUR_DIGITS = 9999.5
# Units of durations: upper bound of the durations that use the unit [s], length of the unit [s], name.
_DURATIONS = ((1e-6, 1e-9, "ns"), (1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (120.0, 1.0, "s"), (3600.0, 60.0, "min"))


def last_place(error: float) -> int:
    """Return the power of ten of the last digit to show for a value with the given error.

    Parameters
    ----------
    error : float
        Error of the value: half the width of its interval, > 0 and finite.

    Notes
    -----
    The three leading digits of the error decide [1]_. From 100 to 354, the error keeps two digits. From 355 to 949, it
    keeps one. From 950 to 999, it is rounded up to 1000 and keeps two.

    Examples
    --------
    >>> [last_place(error) for error in (0.827, 0.119, 0.967, 8.5, 23.0)]
    [-1, -2, -1, 0, 0]

    References
    ----------
    .. [1] Particle Data Group, see the top of this file.
    """
    exponent = math.floor(math.log10(error))
    leading = error / 10.0 ** (exponent - 2)
    return exponent if leading >= _TWO_DIGITS else exponent - 1


def places_of(value: float, low: float, high: float) -> int | None:
    """Return the number of decimal places for a value and its interval; None if the interval has no width.

    Parameters
    ----------
    value, low, high : float
        An estimate and the ends of its interval.

    Returns
    -------
    int or None
        Number of places after the decimal point; -1 rounds to tens, -2 to hundreds, and so on.

    Notes
    -----
    The error is half the width of the interval. It is limited to twice the distance from the value to the nearer end,
    but not below a tenth of half the width. So 22.7 [17.8, 98] is rendered as 23 [18, 98], not as 20 [20, 100].

    If only one end is finite, the error is the distance from the value to this end. If the interval excludes zero, the
    value keeps its first digit, even in a wide interval: 4.3 [0.5, 90] is rendered as 4 [0, 90], not as 0 [0, 90].

    Examples
    --------
    >>> places_of(433.6, 425.2, 442.1), places_of(14321.0, 12900.0, 15600.0), places_of(4.3, 0.5, 90.0)
    (0, -2, 0)
    >>> places_of(22.7, 17.8, 98.0), places_of(22.7, 22.69, 98.0), places_of(0.0, 0.0, 5.0)
    (0, 0, 1)
    >>> places_of(1.0, 1 - 2**-53, 1 + 2**-52) is None
    True
    """
    error = (high - low) / 2
    shorter = min(value - low, high - value)
    if math.isfinite(error) and 0 < shorter < error / 2:
        error = max(2 * shorter, error / 10)
    if math.isinf(error):
        error = max(value - low if math.isfinite(low) else 0.0, high - value if math.isfinite(high) else 0.0)
    if not error > _NOISE * abs(value) or not math.isfinite(error):
        return None
    place = last_place(error)
    if value and (low > 0 or high < 0):
        place = min(place, math.floor(math.log10(abs(value))))
    return -max(place, -_MOST_PLACES)


def says_nothing(value: float, low: float, high: float, unit: str = "") -> bool:
    """Return True if the interval of a quantity >= 0 is too wide to be informative: wider than ten times the value.

    The interval of a value of 0 is compared with 10 s, 10 /s, 10 GiB or ten of any other unit, so that the upper bound
    of a small quantity is shown. The interval of a share of 0 is always shown.

    Texts show an interval that is too wide as `not known`; JSON documents contain its bounds. Unbounded intervals, and
    intervals with a negative bound, such as those of differences, are always shown.

    Examples
    --------
    >>> says_nothing(30.0, 0.0, 248_814_480.0), says_nothing(30.0, 2.0, 300.0), says_nothing(0.5, -10.0, 12.0)
    (True, False, False)
    >>> says_nothing(0.0, 0.0, 250_000_000.0, "ms"), says_nothing(0.0, 0.0, 250.0, "ms")
    (True, False)
    """
    scale = _INSTEAD_OF_ZERO.get(unit, 1.0) if is_zero(value, high) else value
    return 0 <= low <= high < math.inf and value >= 0 and high - low > WIDE * scale


def is_zero(value: float, high: float) -> bool:
    """Return True if a value is 0, or a rounding error: less than 1e-14 of the upper end of its interval.

    Examples
    --------
    >>> is_zero(0.0, 0.0), is_zero(1e-12, 248_814_480.0), is_zero(1e-12, 2e-12)
    (True, True, False)
    """
    return abs(value) <= _NOISE * abs(high)


def _without_interval(value: float, high: float) -> str:
    """Render a value without its interval, with two significant digits."""
    return "0" if is_zero(value, high) else few_digits(value, 2)


def interval_texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a value and the two ends of its interval, all rounded to the same digit.

    Examples
    --------
    >>> interval_texts(433.6, 425.2, 442.1), interval_texts(14321.0, 12900.0, 15600.0)
    (('434', '425', '442'), ('14,300', '12,900', '15,600'))
    """
    places = places_of(value, low, high)
    return rounded_text(value, places), rounded_text(low, places), rounded_text(high, places)


def column_texts(value: float, low: float, high: float, unit: str = "") -> tuple[str, str, str]:
    """Render a value and the two ends of its interval as three cells of a table; `unit` stands in the table's heading.

    Examples
    --------
    >>> column_texts(433.6, 425.2, 442.1, "ms"), column_texts(30.0, 0.0, 248_814_480.0, "ms")
    (('434', '425', '442'), ('30', 'not known', 'not known'))
    """
    if says_nothing(value, low, high, unit):
        return _without_interval(value, high), NOT_KNOWN, NOT_KNOWN
    return interval_texts(value, low, high)


def rounded_text(value: float, places: int | None) -> str:
    """Render a number with `places` decimal places; with four significant digits if `places` is None.

    Examples
    --------
    >>> rounded_text(14321.0, -2), rounded_text(1.2345678, None), rounded_text(math.inf, 1)
    ('14,300', '1.235', 'unbounded')
    """
    if math.isinf(value):
        return "unbounded"
    if places is None:
        return f"{value:,.4g}" if abs(value) < _FOUR_DIGITS else f"{value:,.0f}"
    return _rounded(value, -places)


def _rounded(value: float, place: int) -> str:
    shown = f"{round(value, -place):,.{max(0, -place)}f}"
    return shown if shown.strip("-0.,") else shown.lstrip("-")


def number_estimate(value: float, low: float, high: float, unit: str = "") -> str:
    """Write an estimate: `434 [425, 442] users`.

    Examples
    --------
    >>> number_estimate(2.93157, 2.89, 2.97), number_estimate(20.0, 17.5, 22.5, "/s")
    ('2.93 [2.89, 2.97]', '20.0 [17.5, 22.5] /s')
    >>> number_estimate(30.0, 0.0, 248_814_480.0, "ms")
    '30 [not known] ms'
    """
    if says_nothing(value, low, high, unit):
        return f"{_without_interval(value, high)} [{NOT_KNOWN}]{unit and ' '}{unit}"
    texts = interval_texts(value, low, high)
    return f"{texts[0]} [{texts[1]}, {texts[2]}]{unit and ' '}{unit}"


def duration_unit(seconds: float) -> tuple[float, str]:
    """Return the unit that suits a duration: the length of the unit in seconds, and its name.

    Examples
    --------
    >>> duration_unit(0.4336), duration_unit(-90.0)
    ((0.001, 'ms'), (1.0, 's'))
    """
    return next(((length, unit) for below, length, unit in _DURATIONS if abs(seconds) < below), (3600.0, "h"))


def duration_estimate(value: float, low: float, high: float) -> str:
    """Write an estimated duration in the unit that suits its value.

    Examples
    --------
    >>> duration_estimate(0.4336, 0.4252, 0.4421), duration_estimate(3.0251, 2.9, 3.15)
    ('434 [425, 442] ms', '3.03 [2.90, 3.15] s')
    """
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    return number_estimate(value / length, low / length, high / length, unit)


def durations_like(others: Sequence[float], value: float, low: float, high: float) -> tuple[list[str], str]:
    """Render durations in the unit and with the decimal places of an estimated duration; return the texts and the unit.

    Examples
    --------
    >>> durations_like((0.0181, 0.0499), 0.0452, 0.0371, 0.0633)
    (['18', '50'], 'ms')
    """
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    places = places_of(value / length, low / length, high / length)
    return [rounded_text(other / length, places) for other in others], unit


def in_words(value: float, low: float, high: float, unit: str = "") -> str:
    """Write an estimate for running text, with its interval in parentheses.

    Examples
    --------
    >>> in_words(11.43, 10.12, 12.79), in_words(433.6, 425.2, 442.1, "ms"), in_words(1.0, -2.0, 4.0)
    ('11.4 (10.1 to 12.8)', '434 (425 to 442) ms', '1.0 (−2.0 to 4.0)')
    >>> in_words(40.0, 0.5, 3200.0)
    '40 (interval not known)'
    """
    if says_nothing(value, low, high, unit):
        return f"{_without_interval(value, high)} (interval {NOT_KNOWN}){unit and ' '}{unit}"
    shown, lowest, highest = (text.replace("-", "−") for text in interval_texts(value, low, high))
    return f"{shown} ({lowest} to {highest}){unit and ' '}{unit}"


def duration_in_words(value: float, low: float, high: float) -> str:
    """Write an estimated duration and its interval for running text, in the unit that suits the duration.

    Examples
    --------
    >>> duration_in_words(0.0218, 0.0175, 0.026)
    '22 (18 to 26) ms'
    """
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    return in_words(value / length, low / length, high / length, unit)


def error_estimate(predicted: float, band: Sequence[float | None] | None, measured: float) -> str:
    """Render the relative error of a prediction in per cent, with the interval that follows from the prediction's band.

    Parameters
    ----------
    predicted, measured : float
        Predicted and measured value in the same unit; `measured` is above 0.
    band : sequence of float or None
        Lower and upper bound of the prediction; None if the band is unknown. A bound of None means unbounded.

    Examples
    --------
    >>> error_estimate(54.1, (48.6, 59.9), 54.4), error_estimate(105.8, (104.8, 107.4), 104.0)
    ('-1 [-11, 10] %', '+1.7 [0.8, 3.3] %')
    >>> error_estimate(330.0, None, 312.0)
    '+5.8 %'
    """
    low, high = band or (None, None)
    ends = None if low is None or high is None else (low / measured - 1, high / measured - 1)
    return relative_error(predicted / measured - 1, ends)


def relative_error(value: float, interval: Sequence[float | None] | None) -> str:
    """Render a relative error in per cent with its sign and its interval.

    If a bound of the interval is unknown, only the error is rendered, with two digits.

    Examples
    --------
    >>> relative_error(-0.0109, (-0.106, 0.097)), relative_error(0.0575, None)
    ('-1 [-11, 10] %', '+5.8 %')
    """
    low, high = interval or (None, None)
    if low is None or high is None:
        return f"{'-' if value < 0 else '+'}{few_digits(abs(100 * value), 2)} %"
    text = number_estimate(100 * value, 100 * low, 100 * high, "%")
    shows_zero = not text.partition(" ")[0].strip("0.")
    return text if value < 0 or shows_zero else f"+{text}"


def rate_estimate(value: float, low: float, high: float) -> str:
    """Render an estimated rate; low rates are shown per minute or per hour.

    Examples
    --------
    >>> rate_estimate(28.68, 28.49, 28.87)
    '28.68 [28.49, 28.87] /s'
    """
    factor, unit = (1.0, "/s") if value >= 1 or value == 0 else (60.0, "/min") if value * 60 >= 1 else (3600.0, "/h")
    return number_estimate(value * factor, low * factor, high * factor, unit)


def share_estimate(value: float, low: float, high: float) -> str:
    """Render an estimated share in per cent.

    A share above 99.9 % is rendered as `above 99.9 %` if its exact percentages would consist of many nines.

    Examples
    --------
    >>> share_estimate(0.618, 0.611, 0.625), share_estimate(0.99996, 0.99995, 0.99997)
    ('61.8 [61.1, 62.5] %', '99.9960 [99.9950, 99.9970] %')
    >>> share_estimate(1 - 1e-13, 1 - 2e-13, 1.0)
    'above 99.9 %'
    """
    places = places_of(100 * value, 100 * low, 100 * high)
    below_all = 1 - value > _NOISE / 2  # A share that differs from 1 only by rounding errors is rendered as 100 %.
    if low > _ALMOST_ALL and high <= 1 and below_all and (places is None or places > _NINES_AT_MOST):
        return "above 99.9 %"
    return number_estimate(100 * value, 100 * low, 100 * high, "%")


def rounded_to(value: float, error: float) -> float:
    """Round a value to the digits that `last_place` gives for its error; if the error is not above 0, return the value.

    Examples
    --------
    >>> rounded_to(0.23184, 0.0102), rounded_to(0.23184, 0.0)
    (0.232, 0.23184)
    """
    if not error > 0 or not math.isfinite(error):
        return value
    return round(value, -last_place(error))


def significant(value: float, digits: int) -> float:
    """Round a value to a given number of significant digits.

    Examples
    --------
    >>> significant(0.03539885605583271, 6), significant(0.0, 6)
    (0.0353989, 0.0)
    """
    return float(f"{value:.{digits - 1}e}")


_LEAST_WITHOUT_POWER = 1e-4
"""Smallest number that the format `g` writes without an exponent. [1]"""


def few_digits(value: float, digits: int = FEW_DIGITS) -> str:
    """Render a number with few significant digits (three by default), without a power of ten.

    Examples
    --------
    >>> few_digits(14321.0), few_digits(0.60061), few_digits(271.47), few_digits(999.7)
    ('14,300', '0.601', '271', '1,000')
    >>> few_digits(14321.0, 4), few_digits(3130.0, 2), few_digits(9999.7, 4)
    ('14,320', '3,100', '10,000')
    >>> few_digits(0.0000123456), few_digits(1e-9)
    ('0.0000123', '0.000000001')
    """
    if abs(value) >= 10.0**digits - 0.5:
        return f"{significant(value, digits):,.0f}"
    if 0 < abs(value) < _LEAST_WITHOUT_POWER:
        return f"{value:.{digits - 1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return f"{value:,.{digits}g}"
