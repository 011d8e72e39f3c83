"""Estimates the CPU demand of a transaction by regression over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.analysis.study_summary import DemandOfTier
from towtank.distributions import t_quantile


def regression(throughputs: list[float], cpus: list[float]) -> tuple[float, Estimate]:
    """Fit the straight line U = U_0 + D X to CPU use U and throughput X over the runs.

    Parameters
    ----------
    throughputs : list of float
        X of each run. [1/s]
    cpus : list of float
        CPUs used in each run. [1]

    Returns
    -------
    intercept : float
        CPU use U_0 that does not depend on throughput. [1]
    demand : Estimate
        CPU time of one transaction D, with the t interval of the slope. [s]

    Notes
    -----
    Ordinary least squares with n - 2 degrees of freedom for n runs. The intercept U_0 contains the background work, so
    the demand D does not [1]_. The model assumes that the demand does not change with the load. A line needs two
    different throughputs; an interval needs at least three runs.

    References
    ----------
    .. [1] S. Spinner, G. Casale, F. Brosig and S. Kounev, "Evaluating approaches to resource demand
           estimation", Performance Evaluation 92, 51-71, 2015, doi:10.1016/j.peva.2015.07.005.
    """
    x, y = np.array(throughputs), np.array(cpus)
    if len(x) < 2 or float(np.ptp(x)) <= 1e-9 * float(np.abs(x).max()):
        return 0.0, estimates.NO_ESTIMATE
    centred = x - x.mean()
    power = float(centred @ centred)
    slope = float(centred @ y) / power
    intercept = float(y.mean() - slope * x.mean())
    if len(x) < 3:
        return intercept, Estimate(slope, n=len(x))
    residuals = y - intercept - slope * x
    error = math.sqrt(float(residuals @ residuals) / (len(x) - 2) / power)
    half = t_quantile(0.5 + CONFIDENCE / 2, len(x) - 2) * error
    return intercept, Estimate(slope, slope - half, slope + half, estimates.RUNS, len(x))


def demands(runs: Sequence[RunSummary], load_of: Callable[[RunSummary], float]) -> dict[str, DemandOfTier]:
    """Return the CPU demand per transaction of each tier, estimated by regression over the runs
    that are not invalid.

    Parameters
    ----------
    runs : sequence of RunSummary
    load_of : callable
        Returns the load level of a run. Without two different levels no demand is estimated, because throughputs of
        one level differ only by chance.
    """
    usable = [run for run in runs if run.verdict.level != "invalid"]
    found = {}
    for tier in dict.fromkeys(name for run in usable for name in run.tiers):
        measured = [
            (load_of(run), rate, used)
            for run in usable
            if (rate := run.throughput_per_s.value) is not None
            and tier in run.tiers
            and (used := run.tiers[tier].cpus_used.value) is not None
        ]
        intercept, slope = 0.0, estimates.NO_ESTIMATE
        if len({load for load, *_ in measured}) > 1:
            intercept, slope = regression([rate for _, rate, _ in measured], [used for *_, used in measured])
        intercept_cpus = intercept if slope.value is not None else None
        found[tier] = DemandOfTier(intercept_cpus=intercept_cpus, d_s=slope, points=len(measured))
    return found
