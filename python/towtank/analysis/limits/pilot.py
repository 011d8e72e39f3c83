"""Estimates the limit from a pilot run: the users at which ideal scaling would reach the highest throughput."""

from __future__ import annotations

import math
from collections.abc import Sequence

from towtank.analysis.limits.plateaus import Plateau
from towtank.analysis.limits.search import Failure

FELL_SHORT = 0.7
"""Share of the ideal line below which a plateau is well beyond the limit and ends the pilot run. [1]"""
ON_THE_LINE = 0.9
"""Smallest share of the ideal line at which a plateau counts as ideal scaling. [1]"""
_LINE_AT_LEAST = 2
_CHANCE = 2.0
_FAILURES = (Failure.ERRORS, Failure.GENERATOR_SATURATED, Failure.SERVICE_DIED)


def next_level(plateaus: Sequence[Plateau], times: float, at_most: float) -> float | None:
    """Return the next number of users of a pilot run; None at its end. [1]

    The users are multiplied until the highest plateau is beyond the limit. If fewer than two plateaus are on the line
    of ideal scaling then, the run began beyond the limit, and the users are divided until two plateaus are on it.
    """
    levels = [plateau.level for plateau in plateaus]
    if not is_beyond(plateaus):
        return min(float(round(max(levels) * times)), at_most) if max(levels) < at_most else None
    if len(_line(plateaus)) >= _LINE_AT_LEAST or min(levels) <= 1:
        return None
    return max(1.0, float(int(min(levels) / times)))


def is_beyond(plateaus: Sequence[Plateau]) -> bool:
    """Return True if the highest plateau is beyond the limit: it failed, or fell short of the ideal line."""
    ordered = _by_level(plateaus)
    top = ordered[-1]
    if _failed(top) or not top.throughput.value:
        return True
    per_user = users_rate(ordered[:-1])
    return per_user is not None and top.throughput.value < FELL_SHORT * per_user * top.level


def users_rate(plateaus: Sequence[Plateau]) -> float | None:
    """Return the throughput per user on the line of ideal scaling; None without a plateau that passed. [1/s]

    Notes
    -----
    The sum of throughputs over the sum of users of the plateaus on the line. These are the plateaus from the lowest up
    to the first whose throughput, plus the chance of its counts, is below `ON_THE_LINE` of the line so far.
    """
    line = _line(plateaus)
    return _slope(line) if line else None


def limit_users(plateaus: Sequence[Plateau]) -> float | None:
    """Return the users at which the line of ideal scaling reaches the highest throughput; None if no plateau passed.

    Notes
    -----
    N* = X_max / (X / N), at which the asymptotic bounds cross [1]_; X / N is `users_rate`.

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
    """Return the plateaus on the line of ideal scaling, by their level."""
    line: list[Plateau] = []
    for plateau in _by_level(plateaus):
        rate = plateau.throughput.value
        if _failed(plateau) or not rate:
            break
        # Twice the standard deviation of a Poisson count; with think times the true one is smaller.
        chance = _CHANCE * math.sqrt(rate / plateau.window.length_s)
        if line and rate + chance < ON_THE_LINE * _slope(line) * plateau.level:
            break
        line.append(plateau)
    return line


def _failed(plateau: Plateau) -> bool:
    """Return True if a plateau failed; a pilot run does not need a plateau that settled."""
    return plateau.failure is not None and plateau.failure["kind"] in _FAILURES
