"""Difference from run to run, assumed of a single run and added to its interval.

The unit of replication is the run. A single run knows how its seconds scatter and nothing of what a restart, another
layout of memory or another hour changes, so a share is assumed for that and added in squares.
"""

from __future__ import annotations

import math

from scipy import stats

from towtank.analysis.statistics.estimates import ORDER_STATISTICS, RUNS, Estimate

ASSUMED_SHARE = 0.10
"""Standard deviation from run to run that is assumed of a single run, relative to the value, in (0, 1].

A convention and no measurement: on a machine of its own a restarted server commonly differs by 1 to 5 %, and the
assumption must not be passed by such systems. Below it a study may declare its own (`run_to_run`), or repeat its runs.
"""
METHOD = "assumed run to run"


def is_repeated(estimate: Estimate) -> bool:
    """Whether an interval rests on two runs at least."""
    return estimate.method == RUNS and estimate.n >= 2


def with_run_to_run(estimate: Estimate, share: float = ASSUMED_SHARE) -> Estimate:
    """Estimate of the system from that of a single run; without an interval if the run has none.

    Notes
    -----
    On each side the distance from the value to the end of the interval and that of a normal distribution with the
    standard deviation `share` times the value are added in squares, as of independent errors. In a comparison of two
    runs of equal systems whose values differ from run to run by `share`, 5 % of intervals leave 1 out; less if they
    differ by less.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or share == 0:
        return estimate
    value, level = estimate.value, 0.5 + estimate.confidence / 2
    # Comparisons take the standard error from the width by Student's t, so that the width must be that of t, too.
    freedom = math.inf if estimate.method == ORDER_STATISTICS else max(1, estimate.n - 1)
    within = [value - estimate.low, estimate.high - value]
    error = max(within) / float(stats.t.ppf(level, freedom))
    both = math.hypot(error, share * value)
    worth = math.inf if error == 0 or math.isinf(freedom) else freedom * (both / error) ** 4
    reach = float(stats.t.ppf(level, worth)) * abs(share * value)
    low, high = value - math.hypot(within[0], reach), value + math.hypot(within[1], reach)
    method = f"{estimate.method}, {METHOD}"
    count = estimate.n if math.isinf(worth) else min(10**9, math.floor(worth) + 1)
    low = max(0.0, low) if estimate.low >= 0 else low
    return Estimate(value, low, high, method, max(count, 1000) if math.isinf(worth) else count, estimate.confidence)
