"""Computes what a comparison would have found: the least change, and the runs that would decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

from towtank.analysis.comparing.family import spread
from towtank.analysis.comparing.findings import SIGNIFICANCE
from towtank.analysis.comparing.lines import Line
from towtank.analysis.comparing.runs import Metric
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.distributions import t_quantile

HEADLINE = (Metric.THROUGHPUT, Metric.MEAN, Metric.CPU)
"""Figures that decide whether all together are the same."""
_POWER = 0.80
_RUNS_AT_MOST = 10_000


def least_of(line: Line) -> float | None:
    """Return the relative change of one figure that is found in four of five cases; None if no side is repeated."""
    error = line.error()
    if error is None or line.freedom <= 0:
        return None
    half = (t_quantile(1 - SIGNIFICANCE / 2, line.freedom) + t_quantile(_POWER, line.freedom)) * error
    return math.expm1(half) if half < 50 else None


def runs_needed(lines: Sequence[Line], threshold: float) -> int | None:
    """Return the runs a side that find the largest change seen, or one as large as the threshold if that is larger.

    A side of one run does not show how runs differ: the standard deviation that a study assumes is used, see
    `run_to_run`.
    """
    known = [line for line in lines if line.place.metric in HEADLINE]
    if not known:
        return None
    line = max(known, key=lambda each: abs(each.difference))
    deviation = spread(line)
    size = max(abs(line.difference), math.log1p(threshold))
    for runs in range(2, _RUNS_AT_MOST):
        freedom = 2 * runs - 2
        quantiles = t_quantile(1 - SIGNIFICANCE / 2, freedom) + t_quantile(_POWER, freedom)
        if quantiles * (ASSUMED_SHARE if deviation is None else deviation) * math.sqrt(2 / runs) <= size:
            # Repeating the runs there are would answer the same.
            return max(runs, min(line.runs) + 1)
    return None
