"""Groups transactions at a resource. Transactions that the data cannot distinguish share one demand.

At first every transaction is a group of its own. As long as a demand is too imprecise, or exceeds the response time of
its transactions at low load, two groups are joined: the pair for which the sum of squares increases least. Groups whose
union contradicts the data are not joined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from towtank.distributions import f_tail
from towtank.model.fitting.demand_estimators import Series, condition_number, variance_inflation
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats

KNOWN_WITHIN = 0.5
"""Largest half-width of the 95 % interval of a demand. It is relative to the demand of the group, or to the demand of
the mean transaction if this is larger. A group with a wider interval is joined with another group. [ratio]
"""
MINDS = 0.01
"""Significance level of the F test for the union of two groups. If the p-value is smaller, the union contradicts the
measurements, and the groups are not joined.
"""
ALIKE, BY_RESPONSE = "alike", "by response time at low load"
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Grouping:
    """Groups of transactions that share a demand at one resource.

    Attributes
    ----------
    groups : tuple of tuple of int
        Indices of the classes in each group.
    within : str
        Relation of the demands within a group: `ALIKE` (equal) or `BY_RESPONSE` (proportional to the response times).
    weights : ndarray of shape (n_classes,)
        Demand of each class relative to the demand factor of its group. [1]
    condition, inflation : float
        Condition number and largest variance inflation of the groups.
    before : float
        Condition number of the data if every class is a separate group.
    unsure : tuple of int
        Indices of groups with imprecise demands that differ significantly from all other groups.
    """

    groups: tuple[tuple[int, ...], ...]
    within: str
    weights: Floats
    condition: float
    inflation: float
    before: float
    unsure: tuple[int, ...] = ()

    def columns(self, rates: Floats) -> Floats:
        """Return the throughput of each group of transactions: the weighted sum of the throughputs of its classes.
        [1/s]
        """
        return np.stack([rates[:, list(each)] @ self.weights[list(each)] for each in self.groups], axis=1)

    def demands(self, factors: Floats) -> Floats:
        """Return the service demand of each class, computed from the demands of the groups. [s]"""
        found = np.zeros(len(self.weights))
        for factor, each in zip(factors, self.groups, strict=True):
            found[list(each)] = factor * self.weights[list(each)]
        return found


def stacked(of: Measured, station: int) -> tuple[Floats, Floats]:
    """Return throughputs [1/s] and busy servers [1] of a station in the intervals of all runs, concatenated."""
    rates = np.concatenate([run.counts / run.seconds[:, None] for run in of.runs])
    busy = np.concatenate([run.busy[:, station] / run.seconds for run in of.runs])
    return rates, busy


def regressed(columns: Floats, busy: Floats) -> tuple[Floats, float]:
    """Return the factors of a non-negative regression (background first, then the demand of each group), and its
    residual sum of squares.
    """
    design = np.hstack([np.ones((len(busy), 1)), columns])
    # Columns are scaled to equal length, because the tolerance of the non-negative least-squares solver is absolute.
    scale = np.linalg.norm(design, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    factors, left = scipy.optimize.nnls(design / scale, busy)
    return np.asarray(factors / scale, dtype=float), float(left) ** 2


# Smallest number of transactions at low load from which the mean response time is precise enough to bound a
# demand. [1]
_ENOUGH = 10
LONGER = 1.25
"""Largest ratio of a demand to the response time at low load. If the ratio is larger, part of the demand belongs to
another transaction. [ratio]
"""


def grouped(of: Measured, station: int) -> Grouping:
    """Return the groups of transactions at a resource.

    The demands within a group are either equal or proportional to the response times at low load. The relation that
    fits the intervals better is chosen.
    """
    rates, busy = stacked(of, station)
    levels = of.levels()
    counts = levels.counts[0]
    times = np.where(counts > 0, levels.responses[0], np.nan)
    known = np.isfinite(times) & (times > 0)
    mean = float(np.average(times[known], weights=counts[known])) if known.any() else 1.0
    by_response = np.where(known, times / mean, 1.0)
    longest = np.where(counts >= _ENOUGH, LONGER * np.nan_to_num(times, nan=np.inf), np.inf)
    found = []
    for within, weights in ((ALIKE, np.ones(len(of.classes))), (BY_RESPONSE, by_response)):
        groups, unsure = _united(rates, busy, weights, longest)
        grouping = _described((rates, busy), groups, within, weights, unsure)
        left = regressed(grouping.columns(rates), busy)[1]
        # Akaike's criterion, corrected for few intervals: logarithm of the sum of squares, plus a penalty for each
        # parameter.
        free = len(busy) - len(groups) - 2
        found.append(
            (len(busy) * np.log(max(left, 1e-300)) + 2 * len(busy) * (len(groups) + 1) / max(free, 1), grouping)
        )
    return min(found, key=lambda pair: pair[0])[1]


def _united(
    rates: Floats, busy: Floats, weights: Floats, longest: Floats
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    groups: list[tuple[int, ...]] = [(place,) for place in range(rates.shape[1])]
    while True:
        poor = _poorly_known(rates, busy, weights, groups, longest)
        if len(groups) == 1 or not poor:
            return groups, ()
        now = regressed(_columns(rates, weights, groups), busy)[1]
        pairs = {(min(a, b), max(a, b)) for a in poor for b in range(len(groups)) if a != b}
        trials = [
            (regressed(_columns(rates, weights, _joined(groups, *pair)), busy)[1], pair) for pair in sorted(pairs)
        ]
        least, pair = min(trials)
        freedom = len(busy) - len(groups) - 1
        exact = now <= 1e-20 * float(busy @ busy)
        if freedom > 0 and not exact:
            worth = (least - now) / (now / freedom)
            if f_tail(max(worth, 0.0), 1, freedom) < MINDS:
                return groups, tuple(poor)
        groups = _joined(groups, *pair)


def _joined(groups: list[tuple[int, ...]], first: int, second: int) -> list[tuple[int, ...]]:
    rest = [each for place, each in enumerate(groups) if place not in (first, second)]
    return [*rest, tuple(sorted(groups[first] + groups[second]))]


def _columns(rates: Floats, weights: Floats, groups: list[tuple[int, ...]]) -> Floats:
    return np.stack([rates[:, list(each)] @ weights[list(each)] for each in groups], axis=1)


def _poorly_known(
    rates: Floats, busy: Floats, weights: Floats, groups: list[tuple[int, ...]], longest: Floats
) -> list[int]:
    """Return the indices of the groups whose demand is imprecise, or longer than the response times of all their
    transactions.
    """
    columns = _columns(rates, weights, groups)
    design = np.hstack([np.ones((len(busy), 1)), columns])
    scale = np.linalg.norm(design, axis=0)
    if (scale <= 0).any() or np.linalg.cond(design / scale) > 1e10:
        return list(range(len(groups)))
    factors, left = regressed(columns, busy)
    freedom = max(1, len(busy) - design.shape[1])
    unit = design / scale
    errors = np.sqrt(left / freedom * np.diag(np.linalg.inv(unit.T @ unit))) / scale
    mean = float(busy.sum() / rates.sum())
    found = []
    for place, each in enumerate(groups):
        shares = rates[:, list(each)].sum(axis=0)
        # Mean weight of the transactions in the group. The demand of the group's mean transaction is the fitted factor
        # times this weight.
        weight = float(shares @ weights[list(each)] / shares.sum()) if shares.sum() > 0 else 1.0
        demand, half = factors[1 + place] * weight, _NORMAL_95 * errors[1 + place] * weight
        members = list(each)
        too_long = bool((factors[1 + place] * weights[members] > longest[members]).all())
        if half > KNOWN_WITHIN * max(demand, mean) or too_long:
            found.append(place)
    return found


def _described(
    seconds: tuple[Floats, Floats], groups: list[tuple[int, ...]], within: str, weights: Floats, unsure: tuple[int, ...]
) -> Grouping:
    rates, busy = seconds
    runs = np.zeros(len(busy))

    def series(columns: Floats) -> Series:
        return Series(busy, columns, None, 1, runs)

    columns = series(_columns(rates, weights, groups))
    return Grouping(
        tuple(groups),
        within,
        weights,
        condition_number(columns),
        max(variance_inflation(columns)),
        condition_number(series(rates)),
        unsure,
    )
