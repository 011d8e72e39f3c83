"""Renders a number that differs between runs as the range over all runs: `38 to 87 %`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from towtank.estimates import few_digits

_FACTORS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
_NUMBER = r"(?<![\w.,-])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!-?\d|\w)(?: (?:µs|ms|s)\b)?"
# Pattern of a pair, a range or a number. A pair, such as `from 12 s to 15.2 s`, describes a change or a time span; a
# range, such as `12 s to 15.2 s`, has no `from`.
_RANGE = re.compile(rf"from {_NUMBER} to {_NUMBER}|{_NUMBER}(?: to {_NUMBER})?")
_PAIR = "from "
_PART = re.compile(_NUMBER)
Range = tuple[float, float]


def ends(values: Sequence[float | None]) -> Range | None:
    """Return the smallest and largest known value; None if no value is known.

    Examples
    --------
    >>> ends([0.63, None, 0.38]), ends([None])
    ((0.38, 0.63), None)
    """
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def words(found: Sequence[float] | None, value: float, form: Callable[[float], str]) -> str:
    """Render the range of a number over runs, such as `5 to 10 ms`; a single value if both ends are rendered alike, and
    the given value if no range is known. `form` renders a number, with a blank before its unit.

    Examples
    --------
    >>> form = "{:.2f} CPUs".format
    >>> words((0.38, 0.87), 0.63, form), words((0.38, 0.3801), 0.38005, form), words(None, 0.63, form)
    ('0.38 to 0.87 CPUs', '0.38 CPUs', '0.63 CPUs')
    """
    return form(value) if found is None else _joined(form(found[0]), form(found[1]))


def shares(found: Sequence[float] | None, value: float) -> str:
    """Write the range of a share in per cent.

    Examples
    --------
    >>> shares((0.38, 0.87), 0.63), shares(None, 0.63)
    ('38 to 87 %', '63 %')
    """
    return words(found, value, lambda share: f"{few_digits(100 * share)} %")


def _joined(low: str, high: str) -> str:
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if unit == high.partition(' ')[2] else low} to {high}"


def alike(message: str, other: str) -> bool:
    """Return True if two messages are equal except for numbers. Digits within a name, such as `disk-1`, are not
    numbers.

    Examples
    --------
    >>> alike("errors 5 %", "errors 7.5 %"), alike("disk-1 is full", "disk-2 is full")
    (True, False)
    """
    return _RANGE.sub("#", message) == _RANGE.sub("#", other)


def merged(messages: Sequence[str]) -> str:
    """Merge messages that differ only in numbers, at least one; each number that differs is replaced by its range.

    Notes
    -----
    Ranges such as `5 to 10 ms` are merged into one range over all messages. Pairs such as `from 12 s to 15 s` are not
    merged, because no run had the resulting time span or change. Instead, the pair with the largest difference is used.

    Examples
    --------
    >>> merged(["other programs used 87 %, limit 10 %", "other programs used 38 %, limit 10 %"])
    'other programs used 38 to 87 %, limit 10 %'
    >>> merged(["it took 900 ms to 1.2 s", "it took 800 ms to 1 s"])
    'it took 800 ms to 1.2 s'
    >>> merged(["no sample from 12.0 s to 15.2 s", "no sample from 41.0 s to 44.1 s"])
    'no sample from 12.0 s to 15.2 s'
    """
    columns = iter(zip(*(_RANGE.findall(message) for message in messages), strict=True))
    return _RANGE.sub(lambda _: _hull(next(columns)), messages[0])


def _hull(texts: Sequence[str]) -> str:
    """Merge the numbers or ranges at the same position of several messages into one range. Of several pairs, return the
    pair with the largest difference.
    """
    if len(set(texts)) == 1:
        return texts[0]
    if texts[0].startswith(_PAIR):
        return max(texts, key=_span)
    numbers = sorted((number for text in texts for number in _with_units(text)), key=_value)
    return _joined(numbers[0], numbers[-1])


def _span(pair: str) -> float:
    """Return the difference between the two numbers of a pair such as `from 12 s to 15 s`, in their base unit."""
    start, end = map(_value, _with_units(pair))
    return abs(end - start)


def _with_units(text: str) -> list[str]:
    """Return the two numbers of a range such as `5 to 10 ms`, each with its unit."""
    numbers = _PART.findall(text)
    unit = numbers[-1].partition(" ")[2]
    return [number if " " in number or not unit else f"{number} {unit}" for number in numbers]


def _value(number: str) -> float:
    digits, _, unit = number.partition(" ")
    return float(digits.replace(",", "").replace("−", "-")) * _FACTORS[unit]
