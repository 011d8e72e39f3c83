"""What the mix of transactions at each load level demands: runs draw their transactions at random, and one that costs
twenty times as much as the others moves the mean demand of a level by several per cent from run to run.

The mix is what was asked of the system, like users and think time, so it is taken as it was. Demands of classes come
from the levels below the highest only: what is held out stays unseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.model.fitting.demand_estimators import Series, non_negative_without_background, service_demand_law
from towtank.model.fitting.demand_series import pooled, read_series
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.observations import Floats

WORTH = 0.95
"""Demands by class are used where they leave less than this of the scatter that counting all transactions alike leaves
in the seconds of runs they were not made from. [ratio]"""
_COUNTS, _REGRESSION, _TIMES = "all alike", "non-negative least squares", "service demand law"


@dataclass(frozen=True)
class Mix:
    """Work of the mean transaction by load level.

    Attributes
    ----------
    work : ndarray of shape (n_points,)
        Demand of the mix of a level over that of the mean mix. [ratio]
    estimator : str
        Where the demands of the classes come from.
    scatter_left : dict of str to float
        Scatter of the seconds that each estimator leaves, over that of counting all alike. [ratio]
    demands : dict of str to float
        Demand of each class, up to a common factor. [s]
    """

    work: Floats
    estimator: str
    scatter_left: dict[str, float]
    demands: dict[str, float]

    def document(self, loads: Floats) -> dict[str, Any]:
        """As it stands in a document."""
        rows = zip(loads, self.work, strict=True)
        return {
            "estimator": self.estimator,
            "scatter_left": self.scatter_left,
            "relative_demands_s": self.demands,
            "work": [{"load": float(load), "work": float(work)} for load, work in rows],
        }


def mix_of(one: Configuration, held: int) -> Mix | None:
    """Work of the mix at each point of a configuration.

    Parameters
    ----------
    one : Configuration
    held : int
        Highest levels that the demands of the classes must not come from. [1]

    Returns
    -------
    Mix or None
        None where there is one class, or too little to tell, or where telling classes apart explains nothing.
    """
    bottleneck = one.bottleneck()
    shares, names = _shares(one)
    seen = one.points[: len(one.points) - held]
    if bottleneck is None or len(names) < 2 or len(seen) < 2 or not one.folders:
        return None
    wanted = {str(name) for point in seen for name in point["runs"]}
    runs, _ = read_series([run for run in one.folders if run.run_id in wanted], one.resources)
    lowest = {str(name) for name in seen[0]["runs"]}
    found = pooled(runs, bottleneck.name, bottleneck.servers, timed=True)
    first = pooled([run for run in runs if run.name in lowest], bottleneck.name, bottleneck.servers, timed=True)
    if found is None or len(np.unique(found[0].stretches)) < 2:
        return None
    series, classes = found
    demands = {_REGRESSION: non_negative_without_background(series)[1:]}
    scatter = {_REGRESSION: _left_out(series)}
    times = _by_times(first, classes)
    if times is not None:
        # Where nobody waits, a transaction takes as long as it works; of all runs but the lowest this saw nothing.
        demands[_TIMES] = times
        scatter[_TIMES] = _scatter(series, [times] * len(np.unique(series.stretches)))
    best = min(scatter, key=lambda name: scatter[name])
    if scatter[best] > WORTH:
        return None
    by_name = dict(zip(classes, demands[best], strict=True))
    costs = np.array([by_name.get(name, 0.0) for name in names])
    work = shares @ costs
    # What no run below the highest level met has no demand; its share counts as the mean of the others.
    known = shares @ np.array([name in by_name for name in names], dtype=float)
    work = work / np.where(known > 0, known, 1.0)
    return Mix(work / float(work.mean()), best, scatter, {name: float(cost) for name, cost in by_name.items()})


def _shares(one: Configuration) -> tuple[Floats, list[str]]:
    """Share of each transaction at each point; shape (n_points, n_classes)."""
    names = sorted({name for run in one.runs for name in run.get("transactions", {})})
    rows = []
    for point in one.points:
        counts = np.zeros(len(names))
        for run in one.runs:
            if run["run"] in point["runs"]:
                counts += [float(run["transactions"].get(name, {}).get("count") or 0) for name in names]
        rows.append(counts / counts.sum() if counts.sum() else np.full(len(names), np.nan))
    shares = np.array(rows)
    return (shares, names) if np.isfinite(shares).all() else (shares, [])


def _by_times(first: tuple[Series, list[str]] | None, classes: list[str]) -> Floats | None:
    """Demands in proportion to response times at the lowest level; None where a class did not come there."""
    if first is None:
        return None
    found = service_demand_law(first[0])
    if found is None:
        return None
    by_name = dict(zip(first[1], found[1:], strict=True))
    # A class that did not come at the lowest level counts as the mean of those that did.
    return np.array([by_name.get(name, float(np.mean(found[1:]))) for name in classes])


def _left_out(series: Series) -> float:
    """Scatter that the regression leaves in each run when made from the others."""
    found = []
    for run in np.unique(series.stretches):
        others = np.flatnonzero(series.stretches != run)
        found.append(non_negative_without_background(series.drawn(others))[1:])
    return _scatter(series, found)


def _scatter(series: Series, demands: list[Floats]) -> float:
    """Squared misses of busy time by run, over those of counting all transactions alike; each run on its own scale."""
    left = plain = 0.0
    for run, costs in zip(np.unique(series.stretches), demands, strict=True):
        rows = series.stretches == run
        busy, rates = series.busy[rows], series.rates[rows]
        alike = _misses(busy, rates.sum(axis=1))
        if alike <= 0:
            continue
        # Each run weighs by its seconds, not by how busy it was.
        left += rows.sum() * _misses(busy, rates @ costs) / alike
        plain += rows.sum()
    return float(left / plain) if plain else float("inf")


def _misses(busy: Floats, work: Floats) -> float:
    square = float(work @ work)
    return float(np.sum((busy - work * (work @ busy) / square) ** 2)) if square > 0 else float("inf")
