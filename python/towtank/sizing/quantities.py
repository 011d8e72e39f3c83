"""Reads the quantities of sizing files: growth, calendar spans, sets of whole numbers, dates."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from towtank.units import shown

YEAR_D = 365.25
"""Mean number of days in a year. [d]"""
_DAYS = {"day": 1.0, "week": 7.0, "month": YEAR_D / 12, "year": YEAR_D}
_NUMBER = r"(\d{1,12}(?:\.\d{1,12})?)"
_SPAN = re.compile(rf"\s*{_NUMBER}\s*(day|week|month|year)s?\s*")
_GROWTH = re.compile(rf"\s*(-?){_NUMBER}\s*%\s*/\s*(day|week|month|year)\s*")
_RANGE = re.compile(r"\s*(\d{1,7})\s*\.\.\s*(\d{1,7})\s*")
VALUES_AT_MOST = 4096


def span(value: object) -> float:
    """Read a calendar span such as `3 years`.

    The length is at least 0. [d]

    Examples
    --------
    >>> span("2 years")
    730.5
    """
    match = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"must be a time such as '3 years', '18 months', '6 weeks' or '10 days', got {shown(value)} instead"
        )
    return float(match[1]) * _DAYS[match[2]]


def growth(value: object) -> float:
    """Read growth such as `20 % / year` as a yearly factor.

    The factor is above 0; 1.2 for 20 % growth a year. [1]

    Examples
    --------
    >>> growth("20 % / year"), growth("1 % / month")
    (1.2, 1.1268250301319698)
    """
    match = _GROWTH.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"must be growth such as '20 % / year' or '1.5 % / month', got {shown(value)} instead")
    share = float(match[2]) / 100 * (-1 if match[1] else 1)
    if not -1 < share <= 10:
        raise ValueError(f"must be growth above -100 % and at most 1000 %, got {shown(value)} instead")
    return float((1 + share) ** round(YEAR_D / _DAYS[match[3]], 9)) if match[3] != "month" else float((1 + share) ** 12)


def numbers(value: object) -> list[int]:
    """Read a set of whole numbers: a single number, a list, or a range that includes both ends.

    Examples
    --------
    >>> numbers("2..5"), numbers(8), numbers([4, 2])
    ([2, 3, 4, 5], [8], [2, 4])
    """
    form = "must be a whole number from 1, a list of whole numbers, or a range such as 1..8"
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        low, high = int(match[1]), int(match[2])
        if not 1 <= low <= high or high - low >= VALUES_AT_MOST:
            raise ValueError(f"{form}, from low to high, at most {VALUES_AT_MOST} numbers, got {shown(value)} instead")
        return list(range(low, high + 1))
    many = value if isinstance(value, list) else [value]
    wrong = [
        number
        for number in many
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1_000_000
    ]
    if wrong or not many:
        raise ValueError(f"{form}, got {shown(wrong[0] if wrong else value)} instead")
    return sorted(set(many))


def day(value: object) -> str:
    """Check a date such as `2026-01-31` and return it in that form."""
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ValueError(f"must be a date such as 2026-01-31, got {shown(value)} instead") from None


def _text(pattern: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": list(examples)})


_NUMBERS = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        {"type": "string", "pattern": r"^\s*\d+\s*\.\.\s*\d+\s*$", "examples": ["1..8"]},
    ]
}
Span = Annotated[float, BeforeValidator(span), _text(r"^\s*\d+(\.\d+)?\s*(day|week|month|year)s?\s*$", "3 years")]
Growth = Annotated[
    float, BeforeValidator(growth), _text(r"^\s*-?\d+(\.\d+)?\s*%\s*/\s*(day|week|month|year)\s*$", "20 % / year")
]
Numbers = Annotated[list[int], BeforeValidator(numbers), WithJsonSchema(_NUMBERS)]
Day = Annotated[str, BeforeValidator(day), _text(r"^\d{4}-\d{2}-\d{2}$", "2026-01-31")]
