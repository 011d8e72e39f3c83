"""Parses and renders the quantities of rules: numbers with units of time, size, rating (CPW) and their quotients.

Values are stored in base units. The units of a formula are checked before its evaluation, so seconds are never added to
bytes. Counts (users, threads, drives) have a name but no dimension; any other count is written in braces, such as
`{pods}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from towtank.estimates import number_estimate, significant
from towtank.units import DURATION_UNITS, SIZE_UNITS, format_size, shown

Dimension = tuple[Fraction, Fraction, Fraction]
_BASE = ("s", "B", "CPW")
_ZERO = Fraction(0)
DIGITS = 6
"""Significant digits of numbers that the user gives, and of results that depend only on such numbers. [1]"""
MEASURED_DIGITS = 3
"""Significant digits of numbers measured without an interval, and of results that depend on such numbers. [1]"""
NUMBER: Dimension = (_ZERO, _ZERO, _ZERO)
# Names of counted objects that rules use as units. A number with such a unit is a plain number.
COUNTS = frozenset({
    "1", "users", "threads", "connections", "processes", "handles", "files", "entries", "directories", "artifacts",
    "documents", "inodes", "rows", "fields", "columns", "panels", "records", "CPUs", "processors", "vCPUs", "guests",
    "partitions", "drives", "disks", "towers", "nodes", "jobs", "tasks", "transactions", "requests", "operations",
    "faults", "events", "executions", "ports", "mailboxes", "spokes", "arms", "aliases", "paths", "bits", "MCU", "SMU",
})  # fmt: skip
TRUTH = "yes or no"

_UNITS: dict[str, tuple[Fraction, Dimension]] = {}


def _dimension(seconds: int = 0, size_bytes: int = 0, rating: int = 0) -> Dimension:
    return (Fraction(seconds), Fraction(size_bytes), Fraction(rating))


def _fill() -> None:
    for name, factor in DURATION_UNITS.items():
        _UNITS[name] = (factor, _dimension(seconds=1))
    for name, factor in SIZE_UNITS.items():
        _UNITS[name] = (factor, _dimension(size_bytes=1))
    for name, power in (("bit", 0), ("kbit", 1), ("Mbit", 2), ("Gbit", 3)):
        _UNITS[name] = (Fraction(1000**power, 8), _dimension(size_bytes=1))
    _UNITS["CPW"] = (Fraction(1), _dimension(rating=1))
    _UNITS["rpm"] = (Fraction(1, 60), _dimension(seconds=-1))
    _UNITS["%"] = (Fraction(1, 100), NUMBER)
    for name in COUNTS:
        _UNITS[name] = (Fraction(1), NUMBER)


_fill()
# Names of units that may follow a number inside a formula.
LITERAL_UNITS = frozenset(name for name in _UNITS if name == "%" or (name.isalpha() and name not in COUNTS))
_TERM = re.compile(r"\s*([*/]?)\s*(\{[^{}]{1,40}\}|%|1|[A-Za-zµ]+)(?:\^(-?\d))?")
_QUANTITY = re.compile(r"\s*(-?\d{1,18}(?:\.\d{1,24})?(?:[eE][+-]?\d{1,2})?)(?:\s+(\S.*?)|([^\d\s.].*?))?\s*")


@dataclass(frozen=True)
class Unit:
    """Unit of a quantity as written, such as `GB/h`, its size in base units (s, bytes, CPW), and its dimension: the
    exponents of second, byte and CPW.
    """

    text: str
    factor: Fraction
    dimension: Dimension

    @property
    def is_truth(self) -> bool:
        """True if values with this unit are yes or no."""
        return self.text == TRUTH


def parse_unit(text: str) -> Unit:
    """Parse a unit: names joined by `*` and `/`, with integer exponents.

    Raises
    ------
    ValueError
        If the text is not a unit; the message names the unknown part.

    Examples
    --------
    >>> parse_unit("GB/h").factor
    Fraction(2500000, 9)
    """
    if text == TRUTH:
        return Unit(text, Fraction(1), NUMBER)
    factor, dimension, at = Fraction(1), NUMBER, 0
    rest = text if not text.lstrip().startswith("/") else f"1{text.lstrip()}"
    while at < len(rest):
        match = _TERM.match(rest, at)
        if match is None or (at > 0) != bool(match[1]):
            raise ValueError(f"must be a unit such as 'GiB', 'MB/s' or '{{pods}}', got {shown(text)} instead")
        one, of = _named(match[2], text)
        power = int(match[3] or 1) * (-1 if match[1] == "/" else 1)
        factor *= one**power
        dimension = combined(dimension, of, power)
        at = match.end()
    if not rest.strip():
        raise ValueError("must be a unit, got nothing; 1 is the unit of a plain number")
    return Unit(text.strip(), factor, dimension)


def _named(name: str, text: str) -> tuple[Fraction, Dimension]:
    if name.startswith("{"):
        return Fraction(1), NUMBER
    found = _UNITS.get(name) or _UNITS.get(f"{name}s")
    if found is None:
        raise ValueError(
            f"must be a known unit, or a count in braces such as {{{name}}}, got {name!r} in {shown(text)}"
        )
    return found


def combined(one: Dimension, other: Dimension, power: Fraction | int = 1) -> Dimension:
    """Return the dimension of the product of `one` and a power of `other`."""
    return (one[0] + other[0] * power, one[1] + other[1] * power, one[2] + other[2] * power)


def dimension_text(dimension: Dimension) -> str:
    """Render a dimension, such as `B/s`; `a plain number` if dimensionless."""
    above = [
        f"{name}^{power}" if power != 1 else name for name, power in zip(_BASE, dimension, strict=True) if power > 0
    ]
    below = [
        f"{name}^{-power}" if power != -1 else name for name, power in zip(_BASE, dimension, strict=True) if power < 0
    ]
    if not above and not below:
        return "a plain number"
    return "/".join([" ".join(above) or "1", *below])


def parse_quantity(value: object, unit: Unit) -> float:
    """Parse a quantity. A number is in the given unit; a text may have any unit of the same dimension.

    The value is in base units; an integer stays exact.

    Raises
    ------
    ValueError
        If the value is not a quantity, or has another dimension.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a number or a quantity in {unit.text}, got {shown(value)} instead")
    match = _QUANTITY.fullmatch(value if isinstance(value, str) else repr(value))
    if match is None:
        raise ValueError(f"must be a number or a quantity in {unit.text}, got {shown(value)} instead")
    named = match[2] or match[3]
    given = parse_unit(named) if named else unit
    if given.dimension != unit.dimension:
        of = dimension_text(unit.dimension)
        raise ValueError(
            f"must be {of} (as {unit.text}), got {shown(value)}, which is {dimension_text(given.dimension)}"
        )
    return float(Fraction(match[1]) * given.factor)


def literal(number: str, unit: str | None) -> tuple[float, Dimension]:
    """Return the value, in base units, and the dimension of a number in a formula. `unit` is the unit after the
    number.
    """
    factor, dimension = _UNITS[unit] if unit else (Fraction(1), NUMBER)
    return float(Fraction(number) * factor), dimension


def shown_number(value: float, digits: int = DIGITS) -> str:
    """Render a number with `digits` significant digits; a whole number with all its digits.

    Examples
    --------
    >>> shown_number(8651579392.0), shown_number(335.16000000000003), shown_number(0.29166666)
    ('8651579392', '335.16', '0.291667')
    >>> shown_number(0.29166666, 3), shown_number(14321.5, 3)
    ('0.292', '14300')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.{digits}g}"
    return text if "e" not in text or abs(value) < 1 else f"{float(text):.0f}"


def in_unit(value: float, unit: Unit) -> float:
    """Convert a value from base units to the given unit."""
    # The division uses fractions, because floating point would give values such as 70.00000000000001 %.
    return float(Fraction(value) / unit.factor) if unit.factor != 1 else value


def shown_quantity(value: float | bool, unit: Unit, digits: int = DIGITS) -> str:
    """Render a value with its unit. A size below 1 GiB, 1 MiB or 1 KiB is rendered in the next smaller unit."""
    if unit.is_truth or isinstance(value, bool):
        return "yes" if value else "no"
    number = in_unit(value, unit)
    text = shown_number(round(number, 9) if abs(number) > 1e-3 else number, digits)
    if unit.text == "1":
        return text
    if unit.text in ("GiB", "MiB", "KiB") and 0 < number < 1:
        return format_size(significant(value, digits))
    if unit.text == "B" and abs(value) >= 1024:
        return f"{text} B ({format_size(value)})"
    return f"{text} {_singular(unit.text) if text == '1' else unit.text.replace('{', '').replace('}', '')}"


def shown_estimate(value: float, low: float, high: float, unit: Unit) -> str:
    """Render a measured value with its interval, in a given unit.

    Examples
    --------
    >>> shown_estimate(0.3105, 0.1737, 0.4473, parse_unit("s")), shown_estimate(0.98, 0.96, 1.0, parse_unit("%"))
    ('0.31 [0.17, 0.45] s', '98.0 [96.0, 100.0] %')
    """
    named = "" if unit.text == "1" else unit.text.replace("{", "").replace("}", "")
    return number_estimate(in_unit(value, unit), in_unit(low, unit), in_unit(high, unit), named)


def _singular(unit: str) -> str:
    """Return the singular of a unit that is a count: `thread` for `threads`, `entry` for `entries`."""
    unit = unit.replace("{", "").replace("}", "")
    if unit.endswith("ies"):
        return f"{unit[:-3]}y"
    if unit.endswith(("sses", "xes")):
        return unit[:-2]
    return unit[:-1] if unit.endswith("s") and len(unit) > 3 else unit
