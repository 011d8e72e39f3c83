"""Reads and writes quantities with units: durations, sizes, rates and shares.

A quantity is a number, an optional blank and a unit: `150 ms`, `1.5 h`, `8 GiB`, `5 /h`, `70 %`. Values are returned
in SI base units: seconds, bytes, one per second, a ratio. The number is read as an exact decimal fraction, so that
`0.1 s` and `100 ms` give the same float.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

# The digits of a number and of its exponent are limited, so that no number in a file can use much memory or overflow a
# float.
_QUANTITY = re.compile(r"\s*(-?\d{1,18}(?:\.\d{1,24})?(?:[eE][+-]?\d{1,2})?)\s*([^\s\d].*?)?\s*")

SIZE_AT_MOST = 2**63 - 1
"""Largest size of a file or of memory that the interfaces of the kernel support. [byte]"""

DURATION_UNITS: dict[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
SIZE_UNITS: dict[str, Fraction] = {
    "B": Fraction(1),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
    "TiB": Fraction(2**40),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "TB": Fraction(10**12),
}
RATE_UNITS: dict[str, Fraction] = {
    "/s": Fraction(1),
    "/min": Fraction(1, 60),
    "/h": Fraction(1, 3600),
    "/d": Fraction(1, 86400),
}
DATA_RATE_UNITS: dict[str, Fraction] = {
    **{f"{unit}/s": factor for unit, factor in SIZE_UNITS.items()},
    **{f"{prefix}bit/s": Fraction(10**power, 8) for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9))},
}
SHARE_UNITS: dict[str, Fraction] = {"%": Fraction(1, 100)}


def _quantity(value: object, units: dict[str, Fraction], must_be: str) -> Fraction:
    """Read a quantity as an exact multiple of its base unit; `must_be` names the quantity in error messages."""
    allowed = f"{must_be} in {', '.join(units)}" if len(units) > 1 else f"{must_be} in {next(iter(units))}"
    if not isinstance(value, str):
        unit = ", with its unit" if isinstance(value, int | float) and not isinstance(value, bool) else ""
        raise ValueError(f"must be {allowed}{unit}, got {shown(value)} instead")
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise ValueError(f"must be {allowed}, got {shown(value)} instead")
    number, unit_name = match.groups()
    factor = units.get(unit_name or "")
    if factor is None:
        got = f"the unit {unit_name!r}" if unit_name else f"{value.strip()!r} without a unit"
        raise ValueError(f"must be {allowed}, got {got} instead")
    quantity = Fraction(number) * factor
    if quantity < 0:
        raise ValueError(f"must be {allowed}, at least 0, got {shown(value)} instead")
    return quantity


def shown(value: object) -> str:
    """Render a value as written in a file, shortened for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def duration(value: object) -> float:
    """Read a duration, such as `3 s`, `150 ms`, `90 min` or `1.5 h`; it is at least 0. [s]

    Raises
    ------
    ValueError
        If the value is no duration; the message names the units.

    Examples
    --------
    >>> duration("90 min")
    5400.0
    """
    return float(_quantity(value, DURATION_UNITS, "a duration"))


def size(value: object) -> int:
    """Read a size, such as `512 KiB`, `8 GiB` or `10 MB`, rounded to whole bytes if it is written in a larger unit; it
    is at least 0. [byte]

    Raises
    ------
    ValueError
        If the value is no size, or no whole number of bytes.

    Examples
    --------
    >>> size("1.5 KiB")
    1536
    >>> size("62.4 GiB")
    67001489818
    """
    quantity = _quantity(value, SIZE_UNITS, "a size")
    # A size such as `62.4 GiB` is rarely a whole number of bytes, so sizes in units above the byte are rounded.
    match = _QUANTITY.fullmatch(str(value))
    if quantity.denominator != 1 and (match is None or SIZE_UNITS[match[2]] == 1):
        raise ValueError(f"must be a whole number of bytes, got {shown(value)} instead")
    if quantity > SIZE_AT_MOST:
        raise ValueError(f"must be less than {(SIZE_AT_MOST + 1) // 2**40} TiB, got {shown(value)} instead")
    return round(quantity)


def rate(value: object) -> float:
    """Read a rate, such as `100 /s` or `5 /h`; it is at least 0. [1/s]

    Raises
    ------
    ValueError
        If the value is no rate; the message names the units.

    Examples
    --------
    >>> rate("90 /min")
    1.5
    """
    return float(_quantity(value, RATE_UNITS, "a rate"))


def data_rate(value: object) -> float:
    """Read a data rate, such as `125 MiB/s` or, for networks, `1 Gbit/s`; it is at least 0. [byte/s]

    Raises
    ------
    ValueError
        If the value is no data rate; the message names the units.

    Examples
    --------
    >>> data_rate("1 Gbit/s")
    125000000.0
    """
    return float(_quantity(value, DATA_RATE_UNITS, "a data rate"))


def share(value: object) -> float:
    """Read a share, such as `70 %`, as a fraction in [0, 1].

    Raises
    ------
    ValueError
        If the value is no share, or above 100 %.

    Examples
    --------
    >>> share("70 %")
    0.7
    """
    quantity = _quantity(value, SHARE_UNITS, "a share")
    if quantity > 1:
        raise ValueError(f"must be a share in %, at most 100 %, got {shown(value)} instead")
    return float(quantity)


def _number(value: float) -> str:
    """Write a number with four significant digits, without trailing zeros or an exponent."""
    text = f"{value:.4g}"
    return text if "e" not in text else f"{float(text):.0f}"


def format_duration(seconds: float) -> str:
    """Render a duration as text, with four significant digits.

    Examples
    --------
    >>> format_duration(0.0154), format_duration(5400)
    ('15.4 ms', '1.5 h')
    """
    steps = (
        (1e-6, 1e-9, "ns"),
        (1e-3, 1e-6, "µs"),
        (1.0, 1e-3, "ms"),
        (120.0, 1.0, "s"),
        (3600.0, 60.0, "min"),
    )
    if seconds == 0:
        return "0 s"
    for below, factor, unit in steps:
        # A value that would be rounded up to the upper bound of a unit gets the next unit.
        if seconds < below * 0.99995:
            return f"{_number(seconds / factor)} {unit}"
    return f"{_number(seconds / 3600)} h"


def rough_duration(seconds: float) -> str:
    """Render an estimated duration as text, with two significant digits.

    Examples
    --------
    >>> rough_duration(27.4), rough_duration(209), rough_duration(722), rough_duration(8100)
    ('27 s', '3.5 min', '12 min', '2.2 h')
    """
    for below, factor, unit in ((99.5, 1.0, "s"), (5970.0, 60.0, "min")):
        if seconds < below:
            return f"{max(1.0, seconds / factor):.2g} {unit}"
    hours = seconds / 3600
    return f"{hours:.2g} h" if hours < 99.5 else f"{hours:,.0f} h"


def format_size(size_bytes: float) -> str:
    """Render a size as text, in binary units with four significant digits.

    Examples
    --------
    >>> format_size(1536), format_size(8 * 2**30)
    ('1.5 KiB', '8 GiB')
    """
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= factor:
            return f"{_number(size_bytes / factor)} {unit}"
    return f"{_number(size_bytes)} B"


def format_rate(per_second: float) -> str:
    """Render a rate as text; low rates are per minute or per hour.

    Examples
    --------
    >>> format_rate(1.5), format_rate(5 / 3600)
    ('1.5 /s', '5 /h')
    """
    if per_second >= 1 or per_second == 0:
        return f"{_number(per_second)} /s"
    if per_second * 60 >= 1:
        return f"{_number(per_second * 60)} /min"
    return f"{_number(per_second * 3600)} /h"


def format_data_rate(bytes_per_s: float) -> str:
    """Render a data rate as text, in binary units with four significant digits.

    Examples
    --------
    >>> format_data_rate(125e6)
    '119.2 MiB/s'
    """
    return f"{format_size(bytes_per_s)}/s"


def exact_duration(seconds: float) -> str:
    """Render a duration in digits from which the same float can be read again.

    Examples
    --------
    >>> exact_duration(0.15), exact_duration(0.1 + 0.2)
    ('150 ms', '0.30000000000000004 s')
    """
    pretty = format_duration(seconds)
    return pretty if duration(pretty) == seconds else f"{_digits(seconds)} s"


def exact_size(size_bytes: int) -> str:
    """Render a size in digits from which the same number of bytes can be read again."""
    pretty = format_size(size_bytes)
    try:
        return pretty if size(pretty) == size_bytes else f"{size_bytes} B"
    except ValueError:  # With four digits of a large unit, a size may not be a whole number of bytes.
        return f"{size_bytes} B"


def exact_rate(per_second: float) -> str:
    """Render a rate in digits from which the same float can be read again."""
    pretty = format_rate(per_second)
    return pretty if rate(pretty) == per_second else f"{_digits(per_second)} /s"


def exact_data_rate(bytes_per_s: float) -> str:
    """Render a data rate in digits from which the same float can be read again.

    Examples
    --------
    >>> exact_data_rate(125e6), exact_data_rate(2.0**27)
    ('1 Gbit/s', '128 MiB/s')
    """
    bits = f"{_number(bytes_per_s * 8 / 10**9)} Gbit/s"
    pretty = format_data_rate(bytes_per_s)
    for text in (pretty, bits):
        if data_rate(text) == bytes_per_s:
            return text
    return f"{_digits(bytes_per_s)} B/s"


def exact_share(ratio: float) -> str:
    """Render a share in digits from which the same float can be read again."""
    return f"{_digits(Decimal(repr(ratio)) * 100)} %"


def _digits(value: float | Decimal) -> str:
    """Return the shortest decimal number that is read as the same float."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
