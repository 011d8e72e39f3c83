"""Converts a random choice between several lists of steps to nested branches."""

from __future__ import annotations

from towtank.units import exact_share
from towtank.workload.importers.draft import Step

# Shares that differ from 0 or 1 by less than this are rounded to 0 or 1, because shares are written with six decimals.
# [ratio]
_LEAST = 5e-7


def choice(alternatives: list[tuple[float, list[Step]]]) -> list[Step]:
    """Return steps that execute one of several alternatives, chosen with the given probabilities, as nested branches.

    If the probabilities add up to less than 1, nothing is executed with the remaining probability. Each branch has its
    conditional probability, given that no earlier branch was chosen. The list is empty if no alternative has steps.

    Examples
    --------
    >>> choice([(0.5, [{"get": "/a"}]), (0.25, [{"get": "/b"}])])
    [{'branch': '50 %', 'then': [{'get': '/a'}], 'else': [{'branch': '50 %', 'then': [{'get': '/b'}]}]}]
    """
    left, shares = 1.0, []
    for probability, steps in alternatives:
        if steps and probability > _LEAST:
            shares.append((min(probability / left, 1.0), steps))
            left = max(left - probability, _LEAST)
    chosen: list[Step] = []
    for share, steps in reversed(shares):
        if share > 1 - _LEAST:
            chosen = steps
        else:
            more = {"else": chosen} if chosen else {}
            chosen = [{"branch": exact_share(round(share, 6)), "then": steps, **more}]
    return chosen
