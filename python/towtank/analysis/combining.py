"""Combines the values of several runs into their mean, with an interval. The interval has a positive length even if all
values are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from towtank.analysis.statistics import standard_error_of, t_interval_about
from towtank.analysis.statistics.estimates import BINOMIAL, CONFIDENCE, EXACT, Estimate
from towtank.digging import dig
from towtank.distributions import binomial_interval, poisson_interval, t_quantile

_OWN_WINDOWS = ("phases", "events")
"""Keys of a run summary whose entries have time windows of their own."""
_FEW = 10
"""If all windows together contain fewer events than this, the interval of a count is at least as wide as the Poisson
interval, which holds for independent arrivals. [1]
"""


def combined(of_runs: Sequence[Estimate], together: float | None = None, windows: Sequence[float] = ()) -> Estimate:
    """Combine the estimates of several runs into their mean with Student's t interval, which does not extend below 0.

    Parameters
    ----------
    of_runs : sequence of Estimate
        One estimate per run. A single estimate keeps its interval, unless it is a count.
    together : float, optional
        Value computed from all requests together, as for a percentile; the mean over the runs by default.
    windows : sequence of float
        For values that derive from counts: the factor of each run from the value to its number of events. For events
        per second, these are the lengths of the windows in which the runs counted. Empty for other values.
        [s], [s * load]

    Notes
    -----
    With `together`, the interval is centred on `together`, and computed from the deviations of the runs from
    `together`. It is therefore never shorter than the interval of the mean.

    The values of runs may be equal by chance, or because they are whole counts or edges of histogram buckets. The
    interval is therefore at least as wide as the errors within the runs require. For shares, it is at least as wide as
    the exact binomial interval of the pooled counts.

    Equal values whose errors are unknown have no interval, unless they are counts. The interval of any count extends at
    least one event in the shortest window to both sides of the mean. Three kinds of counts have at least the Poisson
    interval [1]_: equal counts with unknown errors, two counts with unknown errors, and counts of fewer than ten events
    in total.

    References
    ----------
    .. [1] F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28(3/4), 437-442, 1936.
    """
    found = [estimate for estimate in of_runs if estimate.value is not None]
    if len(found) == 1:
        return _reaching(found[0], _of_count(found, windows))
    values = [estimate.value for estimate in found if estimate.value is not None]
    over = t_interval_about(values, together).of_quantity()
    within = _within(found, over.value)
    if over.low is None or over.high is None:
        return over
    mean = over.value or 0.0
    if windows:
        counted = _of_count(found, windows, is_known=within is not None) or (mean, mean)
        within = counted if within is None else (min(counted[0], within[0]), max(counted[1], within[1]))
    if within is None:
        return over if over.low < over.high else Estimate(over.value, n=over.n)
    half = max(mean - within[0], within[1] - mean)
    return _reaching(replace(over, within=half), within)


def _reaching(estimate: Estimate, bounds: tuple[float, float] | None) -> Estimate:
    """Extend the interval of an estimate until it contains both bounds. The result does not extend below 0."""
    if bounds is None or estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=min(estimate.low, bounds[0]), high=max(estimate.high, bounds[1])).of_quantity()


def _of_count(
    found: Sequence[Estimate], windows: Sequence[float], *, is_known: bool = True
) -> tuple[float, float] | None:
    """Return the smallest interval that the mean of counts must contain; None if the values are not counts.

    The interval extends one event in the shortest window to both sides of the mean. It contains the Poisson interval in
    two cases. One case is fewer than `_FEW` events. The other case is that the errors within the runs are unknown
    (`is_known` is False), and that the counts are equal or only two.
    """
    values = [estimate.value or 0.0 for estimate in found]
    if len(windows) != len(values):
        return None
    mean, step, whole = sum(values) / len(values), 1 / min(windows), sum(windows)
    counts = [round(value * window) for value, window in zip(values, windows, strict=True)]
    low, high = mean - step, mean + step
    if sum(counts) < _FEW or (not is_known and (len(set(counts)) == 1 or len(counts) == 2)):
        fewest, most = poisson_interval(sum(counts), CONFIDENCE)
        low, high = min(low, fewest / whole), max(high, most / whole)
    return low, high


def _is_share(estimate: Estimate) -> bool:
    """Return True if an estimate is a share of completely counted events, with an exact binomial interval. Return False
    if the share was estimated from a sample.
    """
    if estimate.method != BINOMIAL or not 0 <= (estimate.value or 0.0) <= 1:
        return False
    seen = round((estimate.value or 0.0) * estimate.n)
    _, high = binomial_interval(seen, estimate.n, estimate.confidence)
    return math.isclose(high, estimate.high or 0.0, rel_tol=1e-9)


def _within(found: Sequence[Estimate], mean: float | None) -> tuple[float, float] | None:
    """Return the interval of the mean over the runs, computed from the error of each run; None if an error is
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


def counting(runs: Sequence[object], path: Sequence[str]) -> tuple[float, ...]:
    """Return the length of the window in which each run counted events, if `path` names a throughput. Otherwise return
    an empty tuple. [s]

    The throughput of a phase or during an event was counted in the window of that phase or event.
    """
    if path[-1] != "throughput_per_s":
        return ()
    lengths = [length for run in runs if (length := _window_s(run, path)) is not None]
    return tuple(lengths) if len(lengths) == len(runs) and min(lengths, default=0.0) > 0 else ()


def _window_s(run: object, path: Sequence[str]) -> float | None:
    """Return the length of the window in which a run counted the throughput that `path` names; None if unknown. [s]"""
    about = dig(run, *path[:-1]) if path[0] in _OWN_WINDOWS else dig(run, "window")
    length, start, end = (dig(about, key) for key in ("length_s", "start_s", "end_s"))
    if length is not None:
        return float(length)
    return None if start is None or end is None else float(end) - float(start)
