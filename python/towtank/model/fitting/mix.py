"""Estimates how much work the mix of transactions causes at each load level.

Runs choose their transactions at random. If a transaction costs twenty times as much as the others, the mean demand
varies by several per cent between runs. The mix is part of the load, like users and think time, so the measured mix is
used. The held-out levels are not used to estimate demands of classes, so that these levels remain a test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.model.fitting.demand_estimators import Series, non_negative_without_background, service_demand_law
from towtank.model.fitting.demand_series import pooled, read_series
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.observations import Floats

WORTH = 0.95
"""Demands by class are used if they leave at most this share of the scatter of busy time that equal demands leave.
[ratio]

Both scatters are computed for runs that were not used for the estimate.
"""
_COUNTS, _REGRESSION, _TIMES = "all alike", "non-negative least squares", "service demand law"


@dataclass(frozen=True)
class Mix:
    """Work of the mean transaction at each load level.

    Attributes
    ----------
    work : ndarray of shape (n_points,)
        Mean demand of a transaction at the level, relative to the mean over the levels. [ratio]
    estimator : str
        Name of the estimator whose class demands are used.
    scatter_left : dict of str to float
        By estimator, the scatter of busy time that the estimated demands leave unexplained, divided by the scatter that
        equal demands leave unexplained. [ratio]
    demands : dict of str to float
        Demand of each class; only the ratios between the demands have a meaning. [s]
    """

    work: Floats
    estimator: str
    scatter_left: dict[str, float]
    demands: dict[str, float]

    def document(self, loads: Floats) -> dict[str, object]:
        """Return the estimator, the demands, and the work of the mean transaction at each load, as a JSON object."""
        rows = zip(loads, self.work, strict=True)
        return {
            "estimator": self.estimator,
            "scatter_left": self.scatter_left,
            "relative_demands_s": self.demands,
            "work": [{"load": float(load), "work": float(work)} for load, work in rows],
        }


def mix_of(configuration: Configuration, held: int) -> Mix | None:
    """Return the work of the mean transaction at each load level of a configuration, from the measured mix.

    The `held` highest levels are not used to estimate class demands. The result is None with a single class, with too
    few data, or if demands by class explain hardly more than equal demands.
    """
    bottleneck = configuration.bottleneck()
    shares, names = _shares(configuration)
    seen = configuration.points[: len(configuration.points) - held]
    if bottleneck is None or len(names) < 2 or len(seen) < 2 or not configuration.folders:
        return None
    wanted = {name for point in seen for name in point.runs}
    runs, _ = read_series([run for run in configuration.folders if run.run_id in wanted], configuration.resources)
    found = pooled(runs, bottleneck.name, bottleneck.servers, timed=True)
    first = pooled([run for run in runs if run.name in seen[0].runs], bottleneck.name, bottleneck.servers, timed=True)
    if found is None or len(np.unique(found[0].stretches)) < 2:
        return None
    series, classes = found
    demands = {_REGRESSION: non_negative_without_background(series)[1:]}
    scatter = {_REGRESSION: _left_out(series)}
    times = _by_times(first, classes)
    if times is not None:
        # Without waiting, the response time is proportional to the work. Requests wait least at the lowest load level,
        # so only the response times of that level are used.
        demands[_TIMES] = times
        scatter[_TIMES] = _scatter(series, [times] * len(np.unique(series.stretches)))
    best = min(scatter, key=lambda name: scatter[name])
    if scatter[best] > WORTH:
        return None
    by_name = dict(zip(classes, demands[best], strict=True))
    costs = np.array([by_name.get(name, 0.0) for name in names])
    work = shares @ costs
    # The demand of a class that occurs only at the held-out levels is unknown. Such a class gets the mean demand of the
    # other classes in the level's mix.
    known = shares @ np.array([name in by_name for name in names], dtype=float)
    work = work / np.where(known > 0, known, 1.0)
    return Mix(work / float(work.mean()), best, scatter, {name: float(cost) for name, cost in by_name.items()})


def _shares(configuration: Configuration) -> tuple[Floats, list[str]]:
    """Return the share of each class in the transactions of each load level, shape (n_points, n_classes), and the class
    names.
    """
    names = sorted({name for run in configuration.runs for name in run.transactions})
    rows = []
    for point in configuration.points:
        counts = np.zeros(len(names))
        for run in configuration.runs:
            if run.run in point.runs:
                counts += [run.transactions[name].count if name in run.transactions else 0 for name in names]
        rows.append(counts / counts.sum() if counts.sum() else np.full(len(names), np.nan))
    shares = np.array(rows)
    return (shares, names) if np.isfinite(shares).all() else (shares, [])


def _by_times(first: tuple[Series, list[str]] | None, classes: list[str]) -> Floats | None:
    """Return class demands in proportion to the response times at the lowest load level; None if the response times do
    not allow an estimate.
    """
    if first is None:
        return None
    found = service_demand_law(first[0])
    if found is None:
        return None
    by_name = dict(zip(first[1], found[1:], strict=True))
    # A class without transactions at the lowest load level gets the mean demand of the other classes.
    return np.array([by_name.get(name, float(np.mean(found[1:]))) for name in classes])


def _left_out(series: Series) -> float:
    """Return the squared error of busy time in a cross-validation, divided by the error with equal demands. [ratio]

    The busy time of each run is predicted with demands that were fitted to all other runs.
    """
    found = []
    for run in np.unique(series.stretches):
        others = np.flatnonzero(series.stretches != run)
        found.append(non_negative_without_background(series.drawn(others))[1:])
    return _scatter(series, found)


def _scatter(series: Series, demands: list[Floats]) -> float:
    """Return the squared error of busy time with demands by class, divided by the error with equal demands. [ratio]

    If the result is below 1, demands by class predict the busy time better than equal demands.
    """
    left = plain = 0.0
    for run, costs in zip(np.unique(series.stretches), demands, strict=True):
        rows = series.stretches == run
        busy, rates = series.busy[rows], series.rates[rows]
        alike = _misses(busy, rates.sum(axis=1))
        if alike <= 0:
            continue
        # The squared errors of each run are divided by the run's errors with equal demands, so that a run with high
        # utilization does not dominate.
        left += rows.sum() * _misses(busy, rates @ costs) / alike
        plain += rows.sum()
    return float(left / plain) if plain else float("inf")


def _misses(busy: Floats, work: Floats) -> float:
    square = float(work @ work)
    return float(np.sum((busy - work * (work @ busy) / square) ** 2)) if square > 0 else float("inf")
