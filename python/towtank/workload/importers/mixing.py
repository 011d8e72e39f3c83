"""Choices between parts of a transaction, each with its probability, as nested branches."""

from __future__ import annotations

from towtank.units import exact_share
from towtank.workload.importers.draft import Step

# Shares are written with six decimals; one that differs less from 0 or 1 is 0 or 1. [1]
_LEAST = 5e-7


def choice(alternatives: list[tuple[float, list[Step]]]) -> list[Step]:
    """Return steps that do one of several alternatives.

    Parameters
    ----------
    alternatives : list of (float, list of dict)
        Probability and steps of each; an alternative without steps does nothing, and so does what is missing to 1.

    Returns
    -------
    list of dict
        Branches, each with the probability of its alternative if none before it was chosen. Empty if nothing is done.

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
