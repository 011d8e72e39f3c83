"""Random runs for comparisons with a known true difference. Response times of six transactions vary between runs."""

from __future__ import annotations

import math

import numpy as np

from towtank.analysis import Side
from towtank.analysis.comparing.runs import ComparedRun, Failures, Measured, Metric, Place

NAMES = tuple(f"t{number}" for number in range(6))
_TIMES = {Metric.MEAN: 1.0, Metric.P50: 1.2, Metric.P95: 1.5, Metric.P99: 3.0}


def drawn_run(
    rng: np.random.Generator, name: str, lifts: dict[str, float], *, together: float, apart: float, within: float
) -> ComparedRun:
    """Return a run with random response times of six transactions.

    Parameters
    ----------
    lifts : dict
        True factors by which response times differ, by transaction. [1]
    together, apart : float
        Standard deviations, between runs, of the logarithm of response times: of a deviation that all transactions of
        a run have in common, and of a separate deviation of each transaction. [1]
    within : float
        Relative standard error of the mean within a run; the errors of percentiles are larger. [1]
    """
    figures: dict[Place, Measured] = {}
    common = rng.normal(0, together)
    for transaction in NAMES:
        level = common + rng.normal(0, apart) + math.log(lifts.get(transaction, 1.0))
        for metric, factor in _TIMES.items():
            error = within * factor
            figures[Place(metric, transaction)] = Measured(math.exp(level + rng.normal(0, error)), error)
    for metric in _TIMES:
        mean = float(np.mean([figures[Place(metric, transaction)].value for transaction in NAMES]))
        figures[Place(metric)] = Measured(mean, within / math.sqrt(len(NAMES)))
    figures[Place(Metric.THROUGHPUT)] = Measured(100 * math.exp(rng.normal(0, 0.005)), 0.005)
    figures[Place(Metric.CPU)] = Measured(math.exp(rng.normal(0, 0.01)), 0.005)
    return ComparedRun(name, "30 users", "valid", figures, {"": Failures(0, 1000)})


def drawn_side(
    rng: np.random.Generator,
    runs: int,
    lifts: dict[str, float] | None = None,
    *,
    together: float = 0.02,
    apart: float = 0.02,
    within: float = 0.02,
) -> Side:
    """Return one of the two sets of runs in a comparison, with random response times."""
    made = (
        drawn_run(rng, f"r{number}", lifts or {}, together=together, apart=apart, within=within)
        for number in range(runs)
    )
    return Side("drawn", tuple(made))
