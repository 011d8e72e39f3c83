"""Reads the load points of a study summary that is fitted without its runs.

Each attribute of a form is a key that a model reads. A point with a malformed value is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from towtank.analysis import LoadPoint
from towtank.documents import malformed
from towtank.units import shown

# Fits overflow with numbers that no system reaches.
_Finite = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e12, le=1e12)]
_NotNegative = Annotated[_Finite, Field(ge=0)]
_Load = Annotated[_Finite, Field(ge=0.001, le=1e9)]
# A model has a server for each CPU. An allotment of 0 is unknown.
_Cpus = Annotated[_Finite, Field(ge=0, le=1e5)]


@dataclass(frozen=True)
class _Estimate:
    value: _NotNegative | None = None
    low: _Finite | None = None
    high: _Finite | None = None
    confidence: Annotated[_Finite, Field(ge=0.01, lt=1)] = 0.95
    n: Annotated[int, Field(ge=0, le=10**12)] = 0
    method: str = ""
    needs_s: int | None = None
    within: _Finite | None = None
    resolution: _NotNegative = 0.0

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"must have an interval with low <= high, got {self.low:g} and {self.high:g} instead")


@dataclass(frozen=True)
class _Times:
    mean: _Estimate | None = None
    p50: _Estimate | None = None
    p90: _Estimate | None = None
    p95: _Estimate | None = None
    p99: _Estimate | None = None
    p99_9: Annotated[_Estimate | None, Field(alias="p99.9")] = None


@dataclass(frozen=True)
class _Tier:
    cpus_used: _Estimate | None = None
    cpus_allotted: _Cpus | None = None


@dataclass(frozen=True)
class _Point:
    verdicts: Annotated[tuple[Literal["valid", "suspect", "invalid"], ...], Field(min_length=1)]
    runs: tuple[str, ...] = ()
    throughput_per_s: _Estimate | None = None
    response_time_s: _Times = _Times()
    tiers: dict[str, _Tier] = field(default_factory=dict)
    users: Annotated[_Load, Field(ge=1)] | None = None
    rate: _Load | None = None
    load: _Load | None = None
    think_time_s: _NotNegative | None = None


def read_point(document: object) -> tuple[LoadPoint, str | None]:
    """Return a point of a study summary, and the reason why it is not modelled; None if it is."""
    if not isinstance(document, Mapping):
        return LoadPoint(), f"must be a mapping of keys to values, got {shown(document)} instead"
    point = LoadPoint.model_validate(document)
    faults = malformed(_Point, document)
    return point, next(iter(faults.values())) if faults else _why_not(point)


def _why_not(point: LoadPoint) -> str | None:
    """Return the reason why a well-formed point is not modelled; None if it is."""
    if not point.is_usable:
        return "invalid"
    if point.users is None and point.rate is not None:
        return f"its load must be a number of users, got {point.load_in_words}"
    if point.users is not None and point.load is not None and point.users != point.load:
        return f"users and load must be equal, got {point.users:g} and {point.load:g} instead"
    if not point.level:
        return "its load is unknown"
    return None if point.throughput_per_s.value else "its throughput is 0 or unknown"
