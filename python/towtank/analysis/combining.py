"""Combines the values of several runs into their mean, with an interval. Equal values do not make the interval
vanish.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from towtank.analysis.statistics import standard_error_of, t_interval_about
from towtank.analysis.statistics.estimates import BINOMIAL, CONFIDENCE, EXACT, Estimate
from towtank.digging import dig
from towtank.distributions import binomial_interval, poisson_interval, t_quantile


def combined(of_runs: Sequence[Estimate], together: float | None = None, windows_s: Sequence[float] = ()) -> Estimate:
    """Combine the estimates of several runs into their mean with Student's t interval, which does not extend below 0.

    Parameters
    ----------
    of_runs : sequence of Estimate
        One estimate per run. A single estimate is returned unchanged, with its interval.
    together : float, optional
        Value computed from all requests together, as for a percentile; the mean over the runs by default.
    windows_s : sequence of float
        Lengths of the windows in which the runs counted, for values that are counts per second; empty for others. [s]

    Notes
    -----
    With `together`, the interval is centred on `together`, and computed from the deviations of the runs from
    `together` instead of from their mean. The interval is never shorter than the interval of the mean. It grows with
    the differences between the runs.

    The values of runs may be equal by chance, or because they are whole counts or edges of histogram buckets. The
    interval is therefore at least as wide as the errors within the runs require. For shares, it is at least as wide as
    the exact binomial interval of the pooled counts.

    Equal values whose errors are unknown have no interval, unless they are counts. Equal counts have the interval of
    independent arrivals (Poisson). The interval of any count extends at least one event in the shortest window to both
    sides of the mean.
    """
    found = [estimate for estimate in of_runs if estimate.value is not None]
    if len(found) == 1:
        return found[0]
    values = [estimate.value for estimate in found if estimate.value is not None]
    over = t_interval_about(values, together).of_quantity()
    within = _within(found, over.value)
    if over.low is None or over.high is None:
        return over
    mean = over.value or 0.0
    step = 1 / min(windows_s) if windows_s else 0.0
    if within is None and windows_s:
        within = _of_arrivals(mean, sum(windows_s)) if over.low == over.high else (mean - step, mean + step)
    if within is None:
        return over if over.low < over.high else Estimate(over.value, n=over.n)
    half = max(mean - within[0], within[1] - mean, step)
    low, high = min(over.low, within[0], mean - step), max(over.high, within[1], mean + step)
    return replace(over, low=low, high=high, within=half).of_quantity()


def _of_arrivals(rate: float, length_s: float) -> tuple[float, float]:
    """Return the interval of the rate of independent arrivals, computed from the number of arrivals in `length_s`
    seconds. [1/s]
    """
    low, high = poisson_interval(round(rate * length_s), CONFIDENCE)
    return low / length_s, high / length_s


def _is_share(estimate: Estimate) -> bool:
    """Return True if an estimate is a share that was counted completely and has an exact binomial interval. For a
    share from a sample, return False.
    """
    if estimate.method != BINOMIAL or not 0 <= (estimate.value or 0.0) <= 1:
        return False
    seen = round((estimate.value or 0.0) * estimate.n)
    _, high = binomial_interval(seen, estimate.n, estimate.confidence)
    return math.isclose(high, estimate.high or 0.0, rel_tol=1e-9)


def _within(found: Sequence[Estimate], mean: float | None) -> tuple[float, float] | None:
    """Return the interval of the mean over runs that follows from the errors within the runs; None if an error is
    unknown.
    """
    if mean is None or any(estimate.low is None for estimate in found):
        return None
    if all(estimate.method == EXACT for estimate in found):
        bounds = [(estimate.low or 0.0, estimate.high or 0.0) for estimate in found]
        return sum(low for low, _ in bounds) / len(found), sum(high for _, high in bounds) / len(found)
    if all(_is_share(estimate) for estimate in found):
        ended = sum(estimate.n for estimate in found)
        failed = round(sum((estimate.value or 0.0) * estimate.n for estimate in found))
        return binomial_interval(failed, ended, CONFIDENCE)
    errors = [standard_error_of(estimate) or 0.0 for estimate in found]
    freedom = max(1, sum(estimate.n - 1 for estimate in found))
    half = t_quantile(0.5 + CONFIDENCE / 2, freedom) * math.hypot(*errors) / len(found)
    return mean - half, mean + half


def counting(runs: Sequence[Mapping[str, Any]], path: Sequence[str]) -> tuple[float, ...]:
    """Return the lengths of the windows in which the runs counted, if the quantity is a throughput; empty otherwise.
    [s]
    """
    if path[-1] != "throughput_per_s":
        return ()
    edges = [(dig(run, "window", "start_s"), dig(run, "window", "end_s")) for run in runs]
    lengths = tuple(float(end) - float(start) for start, end in edges if None not in (start, end))
    return lengths if len(lengths) == len(runs) and min(lengths, default=0.0) > 0 else ()
