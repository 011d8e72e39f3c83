"""Defines load levels as shares of the system's load limit, so that a study suits machines of any speed.

A pilot run finds the limit, in users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from towtank.fields import FileModel, PositiveDuration

_SHARE = re.compile(r"\s*(?P<percent>\d+(?:\.\d+)?)\s*%\s*")
SHARE_AT_MOST = 5.0
"""Largest load level that a study may use, as a share of the system's load limit. [1]"""
UNKNOWN_LIMIT = 100
"""Load limit that is assumed while a study is checked or described before its pilot run. [users]"""


class Pilot(FileModel):
    """Settings of the pilot run, which finds the load limit; load levels can then be shares of this limit.

    In the pilot run, the load rises until throughput grows more slowly than the load.
    """

    start: int = Field(40, ge=1, le=1_000_000, description="Number of users of the first plateau.")
    times: float = Field(
        2.0, gt=1, le=100, strict=False, description="Factor between the users of two successive plateaus."
    )
    at_most: int = Field(10_000, ge=1, le=10_000_000, description="Largest number of users of a plateau.")
    ramp_up: PositiveDuration = Field(1.5, description="Time over which the users of a plateau start.")
    settle: PositiveDuration = Field(1.5, description="Time before the measurement of a plateau starts.")
    steady: PositiveDuration = Field(3.0, description="Duration of the measurement of a plateau.")


@dataclass(frozen=True)
class PilotResult:
    """Result of a pilot run: the estimated limit.

    Attributes
    ----------
    users : float
        Number of users at which ideal scaling would reach the highest throughput: the highest throughput divided by
        the throughput per user under ideal scaling. [1]
    is_lower_bound : bool
        Whether throughput followed ideal scaling up to the last plateau, so that the limit was not reached.
    plateaus : tuple of dict
        `users` and `throughput_per_s` of each plateau, in order of measurement.
    """

    users: float
    is_lower_bound: bool
    plateaus: tuple[dict[str, float], ...]


def share_of(level: object) -> float | None:
    """Return a load level as a share of the system's load limit: 0.2 for `20 %`; None if the level is not a percentage.

    Examples
    --------
    >>> share_of("20 %"), share_of(120)
    (0.2, None)
    """
    match = _SHARE.fullmatch(level) if isinstance(level, str) else None
    return None if match is None else float(match["percent"]) / 100


def users_at(share: float, pilot_result: PilotResult | None) -> int:
    """Return the number of users at a share of the system's load limit, at least 1. [1]"""
    return max(1, round(share * (UNKNOWN_LIMIT if pilot_result is None else pilot_result.users)))


def wrong_shares(levels: list[Any]) -> list[tuple[int, str]]:
    """Return the index and message of each invalid share among the load levels."""
    shares = [share_of(level) for level in levels]
    found = []
    for place, share in enumerate(shares):
        if share is not None and not 0 < share <= SHARE_AT_MOST:
            found.append(
                (place, f"must be above 0 % and at most {100 * SHARE_AT_MOST:.0f} %, got {levels[place]!r} instead")
            )
        elif share is None and any(other is not None for other in shares):
            found.append(
                (place, f"must be a share such as '20 %', like the other levels, got {levels[place]!r} instead")
            )
    return found
