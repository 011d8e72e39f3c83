"""Durations in workload files, limited to the longest time that the engine can record."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from towtank.fields import Duration, PositiveDuration

LONGEST_S = 1e7
"""Longest time that the engine can record. [s]"""


def _timed(value: float) -> float:
    if value > LONGEST_S:
        raise ValueError(f"must be at most {LONGEST_S / 3600:.0f} h, got {value / 3600:.6g} h instead")
    return value


TimedDuration = Annotated[Duration, AfterValidator(_timed)]
PositiveTimedDuration = Annotated[PositiveDuration, AfterValidator(_timed)]
