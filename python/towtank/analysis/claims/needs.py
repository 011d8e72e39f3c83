"""Number of runs after which a claim would probably be decided."""

from __future__ import annotations

import math

from towtank.analysis.statistics.estimates import Estimate
from towtank.distributions import t_quantile
from towtank.study.claim_holds import Bounds

RUNS_AT_MOST = 1000
"""Largest number of runs that is searched. [1]"""


def runs_needed(estimate: Estimate, wanted: Bounds) -> int | None:
    """Return the number of runs of each combination with which an interval would probably not contain a bound.

    Parameters
    ----------
    estimate : Estimate
        Quantity over n runs, whose interval contains a bound.
    wanted : Bounds
        Bounds of the claim.

    Returns
    -------
    int or None
        None without an interval over runs, and above `RUNS_AT_MOST`.

    Notes
    -----
    The half-width h of Student's t interval falls with the number m of runs as t(1 - a/2, m - 1) / sqrt(m). The value
    may have a distance from the bound that is larger by its standard error than the measured distance d; so the least m
    is returned with a half-width below d + s, where s = h / t(1 - a/2, n - 1).
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.n < 2:
        return None
    level, runs = 0.5 + estimate.confidence / 2, estimate.n
    half = max(estimate.high - estimate.value, estimate.value - estimate.low)
    crossed = [bound for bound in (wanted.low, wanted.high) if math.isfinite(bound)]
    if not crossed or half <= 0:
        return None
    error = half / t_quantile(level, runs - 1)
    reach = min(abs(estimate.value - bound) for bound in crossed) + error
    for count in range(runs + 1, RUNS_AT_MOST + 1):
        if error * math.sqrt(runs / count) * t_quantile(level, count - 1) < reach:
            return count
    return None
