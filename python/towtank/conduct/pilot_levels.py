"""Estimates the load limit from a pilot run, as the number of users at which ideal scaling reaches the throughput
limit.

Under ideal scaling, the throughput is proportional to the number of users.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from towtank.analysis import Plateau, PlateauFailure

FELL_SHORT = 0.7
"""Share of the throughput under ideal scaling, below which a plateau is clearly beyond the limit. The pilot run then
measures no higher level. [1]
"""
ON_THE_LINE = 0.9
"""Share of the throughput under ideal scaling, from which a plateau counts as ideal scaling. [1]"""
# Number of plateaus with ideal scaling that the estimate needs. [1]
_LINE_AT_LEAST = 2
# Allowance for chance, in standard deviations of a Poisson count. [1]
_CHANCE = 2.0
_FAILURES = (PlateauFailure.ERRORS, PlateauFailure.GENERATOR_SATURATED, PlateauFailure.SERVICE_DIED)


def next_level(plateaus: Sequence[Plateau], times: float, at_most: float) -> float | None:
    """Return the number of users of the next plateau of a pilot run; None if the pilot run is complete. [1]

    The number of users is multiplied by `times` until the highest plateau is beyond the limit. If fewer than two
    plateaus then show ideal scaling, the pilot run started too high: the lowest number of users is divided by `times`
    until two plateaus show ideal scaling.
    """
    levels = [plateau.level for plateau in plateaus]
    if not is_beyond(plateaus):
        return min(float(round(max(levels) * times)), at_most) if max(levels) < at_most else None
    if len(_line(plateaus)) >= _LINE_AT_LEAST or min(levels) <= 1:
        return None
    return max(1.0, float(int(min(levels) / times)))


def is_beyond(plateaus: Sequence[Plateau]) -> bool:
    """Return True if the highest plateau failed, or its throughput is far below that under ideal scaling."""
    ordered = _by_level(plateaus)
    top = ordered[-1]
    if _failed(top) or not top.throughput.value:
        return True
    per_user = users_rate(ordered[:-1])
    return per_user is not None and top.throughput.value < FELL_SHORT * per_user * top.level


def users_rate(plateaus: Sequence[Plateau]) -> float | None:
    """Return the throughput per user under ideal scaling; None if no plateau passed. [1/s]

    Notes
    -----
    The result is total throughput divided by total users, over all plateaus that show ideal scaling. The first plateau
    with a throughput below `ON_THE_LINE` times the value predicted from lower plateaus ends ideal scaling. The
    comparison allows for the random variation of counts.
    """
    line = _line(plateaus)
    return _slope(line) if line else None


def limit_users(plateaus: Sequence[Plateau]) -> float | None:
    """Return the number of users at which ideal scaling reaches the highest throughput; None if no plateau passed. [1]

    Notes
    -----
    The number is N* = X_max / (X / N), where X_max is the highest throughput, and X / N is the throughput per user
    under ideal scaling (`users_rate`). At N* the asymptotic bounds cross [1]_.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, *Quantitative System Performance*,
           Prentice-Hall, 1984, chapter 5.
    """
    per_user = users_rate(plateaus)
    if per_user is None:
        return None
    return max(plateau.throughput.value or 0.0 for plateau in plateaus) / per_user


def _by_level(plateaus: Sequence[Plateau]) -> list[Plateau]:
    return sorted(plateaus, key=lambda plateau: plateau.level)


def _slope(line: Sequence[Plateau]) -> float:
    return sum(plateau.throughput.value or 0.0 for plateau in line) / sum(plateau.level for plateau in line)


def _line(plateaus: Sequence[Plateau]) -> list[Plateau]:
    """Return the plateaus (load steps) that show ideal scaling, ordered by number of users."""
    line: list[Plateau] = []
    for plateau in _by_level(plateaus):
        rate = plateau.throughput.value
        if _failed(plateau) or not rate:
            break
        # Twice the standard deviation of a Poisson count. With think times, the true deviation is smaller.
        chance = _CHANCE * math.sqrt(rate / plateau.window.length_s)
        if line and rate + chance < ON_THE_LINE * _slope(line) * plateau.level:
            break
        line.append(plateau)
    return line


def _failed(plateau: Plateau) -> bool:
    """Return True if a plateau failed, for a reason other than a missing steady state, which a pilot run does not
    need.
    """
    return plateau.failure is not None and plateau.failure.kind in _FAILURES
