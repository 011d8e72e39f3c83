"""Adds an assumed difference from run to run to the interval of a single run.

The unit of replication is the run. A single run shows how its seconds vary, but not the effects of a restart, a
different memory layout or another time of day. For these effects, a relative standard deviation of the system's speed
is assumed, and its square is added to the variance. `towtank.analysis.elasticity` converts the difference of speed to
differences of throughput and response time.
"""

from __future__ import annotations

import math

from towtank.analysis.statistics.estimates import ORDER_STATISTICS, RUNS, Estimate
from towtank.distributions import t_quantile

ASSUMED_SHARE = 0.10
"""Assumed relative standard deviation of the system's speed from run to run, in (0, 1]. It is used for values from a
single run.

The value is a convention, not a measurement. On a dedicated machine, the speed of a restarted server commonly differs
by 1 to 5 %, which the assumption must cover. A study can declare a smaller value (`run_to_run`) or repeat its runs.
"""
METHOD = "assumed run to run"


def is_repeated(estimate: Estimate) -> bool:
    """Return True if the interval of an estimate was computed from at least two runs."""
    return estimate.method == RUNS and estimate.n >= 2


def with_run_to_run(estimate: Estimate, share: float = ASSUMED_SHARE) -> Estimate:
    """Widen the interval of a single run by an assumed difference from run to run.

    If the estimate has no interval, return it unchanged.

    Notes
    -----
    The result has the half-widths sqrt(a^2 + b^2), as for independent errors. Here a is the distance from the value to
    the lower or upper limit of the interval, and b is the half-width for a normal distribution with a standard
    deviation of `share` times the value. If equal systems differ from run to run by exactly this standard deviation, 5
    % of the intervals of their ratio exclude 1.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or share == 0:
        return estimate
    value, level = estimate.value, 0.5 + estimate.confidence / 2
    # Comparisons derive the standard error from this width by Student's t, so t is used here as well.
    freedom = math.inf if estimate.method == ORDER_STATISTICS else max(1, estimate.n - 1)
    within = [value - estimate.low, estimate.high - value]
    error = max(within) / t_quantile(level, freedom)
    both = math.hypot(error, share * value)
    worth = math.inf if error == 0 or math.isinf(freedom) else freedom * (both / error) ** 4
    reach = t_quantile(level, worth) * abs(share * value)
    low, high = value - math.hypot(within[0], reach), value + math.hypot(within[1], reach)
    method = f"{estimate.method}, {METHOD}"
    count = estimate.n if math.isinf(worth) else min(10**9, math.floor(worth) + 1)
    low = max(0.0, low) if estimate.low >= 0 else low
    return Estimate(value, low, high, method, max(count, 1000) if math.isinf(worth) else count, estimate.confidence)
