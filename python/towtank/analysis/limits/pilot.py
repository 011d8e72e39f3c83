"""The limit that a pilot run shows: how many users the line of ideal scaling takes to the highest throughput."""

from __future__ import annotations

import math
from collections.abc import Sequence

from towtank.analysis.limits.plateaus import Plateau
from towtank.analysis.limits.search import Failure

FELL_SHORT = 0.7
"""Share of the ideal line below which a plateau ends the pilot run: it is well beyond the limit. [1]"""
ON_THE_LINE = 0.9
"""Share of the ideal line from which a plateau belongs to it. [1]"""
_LINE_AT_LEAST = 2
_CHANCE = 2.0
_FAILURES = (Failure.ERRORS, Failure.GENERATOR_SATURATED, Failure.SERVICE_DIED)


def next_level(plateaus: Sequence[Plateau], times: float, at_most: float) -> float | None:
    """Next number of users of a pilot run; None at its end.

    The users are multiplied until the highest plateau is beyond the limit. If no two plateaus are on the line of ideal
    scaling then, it began beyond the limit, and the users are divided until two are. [1]
    """
    levels = [plateau.level for plateau in plateaus]
    if not is_beyond(plateaus):
        return min(float(round(max(levels) * times)), at_most) if max(levels) < at_most else None
    if len(_line(plateaus)) >= _LINE_AT_LEAST or min(levels) <= 1:
        return None
    return max(1.0, float(int(min(levels) / times)))


def is_beyond(plateaus: Sequence[Plateau]) -> bool:
    """Whether the highest plateau is beyond the limit: it failed, or its throughput fell short of the ideal line."""
    ordered = _by_level(plateaus)
    top = ordered[-1]
    if _failed(top) or not top.throughput.value:
        return True
    per_user = users_rate(ordered[:-1])
    return per_user is not None and top.throughput.value < FELL_SHORT * per_user * top.level


def users_rate(plateaus: Sequence[Plateau]) -> float | None:
    """Throughput per user on the line of ideal scaling; None without a plateau that passed. [1/s]

    Notes
    -----
    The sum of throughputs over the sum of users of the plateaus on the line, from the lowest up to the first that is
    below the line so far by more than `ON_THE_LINE` and by more than the chance of its counts.
    """
    line = _line(plateaus)
    return _slope(line) if line else None


def limit_users(plateaus: Sequence[Plateau]) -> float | None:
    """Users at which the line of ideal scaling reaches the highest throughput; None if no plateau passed.

    Notes
    -----
    N* = X_max / (X / N), the asymptotic bounds' crossing [1]_, with the slope of `users_rate`.

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
    """Plateaus on the line of ideal scaling, by their level."""
    line: list[Plateau] = []
    for plateau in _by_level(plateaus):
        rate = plateau.throughput.value
        if _failed(plateau) or not rate:
            break
        # As of Poisson counts; users who think make it less.
        chance = _CHANCE * math.sqrt(rate / plateau.window.length_s)
        if line and rate + chance < ON_THE_LINE * _slope(line) * plateau.level:
            break
        line.append(plateau)
    return line


def _failed(plateau: Plateau) -> bool:
    """Whether a plateau failed for good; that it had not settled yet is no matter in a pilot run."""
    return plateau.failure is not None and plateau.failure["kind"] in _FAILURES
