"""Mean times in model files, which may be given as two bounds of a uniform distribution: `between(10 ms, 30 ms)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from towtank import units
from towtank.fields import PARAMETER

_BETWEEN = re.compile(r"\s*between\s*\(([^(),]*),([^(),]*)\)\s*")
_BEGINS = re.compile(r"\s*between\b")


@dataclass(frozen=True)
class Between:
    """Uniform distribution of a time between two bounds.

    Attributes
    ----------
    low_s, high_s : float
        Bounds, 0 <= low_s < high_s. [s]
    """

    low_s: float
    high_s: float

    @property
    def mean_s(self) -> float:
        """Mean, (low_s + high_s) / 2. [s]"""
        return (self.low_s + self.high_s) / 2

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: the variance (high_s - low_s)^2 / 12 divided by the squared mean. [1]"""
        return ((self.high_s - self.low_s) / (self.high_s + self.low_s)) ** 2 / 3

    def __str__(self) -> str:
        return f"between({units.exact_duration(self.low_s)}, {units.exact_duration(self.high_s)})"


def mean_time(value: object) -> float | Between:
    """Read a mean time: a duration, or the two bounds of a uniform distribution.

    Parameters
    ----------
    value : object
        Text such as `150 ms` or `between(10 ms, 30 ms)`.

    Raises
    ------
    ValueError
        If the value is neither a duration nor two bounds, or if the first bound is not below the second.

    Examples
    --------
    >>> mean_time("between(10 ms, 30 ms)")
    Between(low_s=0.01, high_s=0.03)
    """
    if not isinstance(value, str) or not begins_bounds(value):
        return units.duration(value)
    match = _BETWEEN.fullmatch(value)
    if match is None:
        # In braces, YAML ends unquoted text at its first comma, so the message asks for quotes.
        raise ValueError(
            f"must be two durations as between(10 ms, 30 ms), in quotes within braces, got {units.shown(value)} instead"
        )
    low, high = (units.duration(bound.strip()) for bound in match.groups())
    if low >= high:
        raise ValueError(f"must be between a shorter and a longer duration, got {units.shown(value)} instead")
    return Between(low, high)


def begins_bounds(value: object) -> bool:
    """Return True if a value of a file is text that begins with `between`."""
    return isinstance(value, str) and _BEGINS.match(value) is not None


def mean_of(value: float | Between) -> float:
    """Return the mean of a time. [s]"""
    return value.mean_s if isinstance(value, Between) else value


def _written(value: float | Between) -> str:
    return str(value) if isinstance(value, Between) else units.exact_duration(value)


_NUMBER = rf"\s*\d+(\.\d+)?([eE][+-]?\d+)?\s*({'|'.join(re.escape(unit) for unit in units.DURATION_UNITS)})\s*"
MeanTime = Annotated[
    float | InstanceOf[Between],
    BeforeValidator(mean_time),
    PlainSerializer(_written, return_type=str, when_used="json-unless-none"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^({_NUMBER}|\s*between\s*\({_NUMBER},{_NUMBER}\)\s*|{PARAMETER})$",
            "examples": ["3 s", "between(10 ms, 30 ms)"],
        }
    ),
]
