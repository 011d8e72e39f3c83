"""Estimates the share of planted faults that tests detect."""

from __future__ import annotations

from scipy.stats import beta

GOAL = 0.95
"""Share of the faults that tests should detect. [ratio]"""
_CONFIDENCE = 0.95


def interval(noticed: int, count: int) -> tuple[float, float]:
    """Return the exact 95 % confidence interval of a binomial share (Clopper and Pearson, Biometrika 26, 1934).
    [ratio]
    """
    tail = (1 - _CONFIDENCE) / 2
    low = float(beta.ppf(tail, noticed, count - noticed + 1)) if noticed else 0.0
    high = float(beta.ppf(1 - tail, noticed + 1, count - noticed)) if noticed < count else 1.0
    return low, high


def is_short(noticed: int, count: int, least: float) -> bool:
    """Return True if the share of detected faults is below `least`, or significantly below `GOAL`."""
    return count > 0 and (noticed < least * count or interval(noticed, count)[1] < GOAL)


def share_text(noticed: int, count: int) -> str:
    """Format the share of detected faults, with its confidence interval and the goal."""
    if not count:
        return "no fault was judged"
    low, high = interval(noticed, count)
    known = f"{noticed} of {count} noticed ({noticed / count:.1%}, 95 % interval {low:.1%} to {high:.1%}"
    return f"{known}; goal {GOAL:.0%})"
