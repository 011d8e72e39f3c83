"""Finds lasting changes of the level of a series by the E-divisive method in windows, with a t-test.

The method does not distinguish a trend from a sequence of changes: in a drifting series it finds many changes of level.
Use `steady.trend` to check whether a change is part of a trend.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from towtank.analysis.statistics.batches import lag_one
from towtank.arrays import Floats
from towtank.distributions import t_tail

WINDOW = 50
"""Number of observations in a window of the search. A change can hide another change only within the same window.
[1]
"""
PARTS = 60
"""Largest number of values that `lasting_steps` searches. Neighbouring values of a longer series are replaced by their
means. [1]
"""
# Smallest number of values of a level. With fewer values, the level is a brief excursion, whose variance cannot be
# estimated. [1]
_LASTING = 5
# Significance level of the candidates in `lasting_steps`, in (0, 1). It is high because the first test compares an
# excursion together with all later values, which makes the excursion less significant.
_CANDIDATES = 0.05
# The significance level of the first pass is higher by a factor: 10 for levels below 0.05, 2 for levels below 0.5. A
# change that another change hides then remains a candidate.
_WEAK = ((0.05, 10.0), (0.5, 2.0))


@dataclass(frozen=True)
class ChangePoint:
    """Position in a series at which the level of its values changes.

    Attributes
    ----------
    index : int
        Index of the first observation of the new level, >= 1.
    before, after : float
        Mean of the values from the previous change to this change, and from this change to the next change.
    p_value : float
        Probability of a difference at least this large if the level does not change, for independent observations, in
        [0, 1].
    """

    index: int
    before: float
    after: float
    p_value: float

    @property
    def magnitude(self) -> float:
        """Difference of the means before and after the change, divided by the smaller mean; infinite if either mean is
        zero. [1]
        """
        if self.before == self.after:
            return 0.0
        if not (self.before and self.after):
            return math.inf
        return max(abs(self.after / self.before - 1), abs(self.before / self.after - 1))


def change_points(
    values: Sequence[float] | Floats,
    *,
    max_p_value: float = 0.001,
    min_magnitude: float = 0.0,
    window: int = WINDOW,
) -> list[ChangePoint]:
    """Find the positions where the level of a series of independent observations changes.

    Parameters
    ----------
    values : sequence of float, of shape (n_observations,)
        Observations in order of time.
    max_p_value : float, default 0.001
        A change counts only if its p-value is below this, in (0, 1).
    min_magnitude : float, default 0
        A change counts only if its `magnitude` is above this.
    window : int, default 50
        Observations in a window, at least 2; windows overlap by half. [1]

    Returns
    -------
    list of ChangePoint
        Changes in order of time.

    Notes
    -----
    In each window the method searches for two adjacent sequences, n observations X in [s, t) and m observations Y in
    [t, k), that maximise Q(t, k) = n m / (n + m) E. Here E = 2 mean |X - Y| - mean |X - X'| - mean |Y - Y'| is the
    energy distance of [1]_. The position t is a change if a two-sided t-test finds a significant difference between all
    values before t and all values after it. The values before and after t are then searched separately. As in [2]_ the
    t-test replaces the permutation test of [1]_.

    The significance level of the first pass is ten times `max_p_value`, or twice `max_p_value` from 0.05 on. The
    changes that it finds are candidates. They are tested again without windows. The weakest candidate is removed, one
    at a time, until all candidates are significant. As in [2]_, the variance in the test is divided by n and not by n -
    1, so p-values are a little too small with few observations.

    A larger `max_p_value` does not always give more changes, because the first pass then finds different candidates.
    The returned p-value compares the levels before and after a change in the final result. It may exceed `max_p_value`
    if a neighbouring change was removed later. The test assumes independent observations; `lasting_steps` does not.

    References
    ----------
    .. [1] D. S. Matteson and N. A. James, "A nonparametric approach for multiple change point analysis of multivariate
           data", Journal of the American Statistical Association 109(505), 334-345, 2014,
           doi:10.1080/01621459.2013.849605.
    .. [2] M. Fleming, P. Kolaczkowski et al., "Hunter: using change point detection to hunt for performance
           regressions", ICPE 2023, 199-206, doi:10.1145/3578244.3583719.

    Examples
    --------
    >>> [change.index for change in change_points([1.02, 0.95, 0.99, 1.0, 1.12, 0.9, 0.5, 0.51, 0.48, 0.48, 0.55])]
    [6]
    """
    series = np.asarray(values, dtype=float)
    factor = next((factor for below, factor in _WEAK if max_p_value < below), 1.0)
    found = sorted(_weak(series, max_p_value * factor, window))
    return _merged(series, found, max_p_value, min_magnitude)


def lasting_steps(values: Floats, max_p_value: float) -> list[tuple[int, float, float]]:
    """Find the positions where the level of a series of correlated observations changes.

    Parameters
    ----------
    values : ndarray of shape (n_observations,)
    max_p_value : float
        A change counts if its p-value is at most this, in (0, 1).

    Returns
    -------
    list of (int, float, float)
        For each change: index of the first observation of the new level, mean before the change, mean after the change.

    Notes
    -----
    A long series is reduced to at most `PARTS` means of neighbouring values. Brief excursions then do not count as
    changes, and the number of candidates does not grow with the series. Candidates come from the first pass of
    `change_points`, at a significance level that is high enough to find the start and the end of an excursion. Each
    candidate is tested again. For this test, the numbers of observations before and after the change are divided by (1
    + r) / (1 - r), where r is the lag-1 autocorrelation of the deviations from the levels. The weakest candidate is
    removed, one at a time, until all candidates are significant and no level is brief.
    """
    size = max(1, math.ceil(len(values) / PARTS))
    count = len(values) // size
    means = values[: count * size].reshape(count, size).mean(axis=1)
    found = sorted(_weak(means, _CANDIDATES, WINDOW))
    while found:
        edges = [0, *found, count]
        short = [place for place, (start, end) in enumerate(pairwise(edges)) if end - start < _LASTING]
        tested = _tested(means, found, _worth(means, found))
        weakest = max(tested, key=lambda change: change.p_value)
        if short:
            # To remove a brief level, the weaker of the changes at its start and end is removed. The first and the last
            # level have only one such change.
            sides = [change for change in tested if change.index in (edges[short[0]], edges[short[0] + 1])]
            weakest = max(sides, key=lambda change: change.p_value)
        elif weakest.p_value < max_p_value:
            return [(change.index * size, change.before, change.after) for change in tested]
        found.remove(weakest.index)
    return []


def _weak(series: Floats, max_p_value: float, window: int) -> set[int]:
    """Return the positions of all candidates for a change of level, found in any window of the series."""
    found: set[int] = set()
    start = 0
    while start < len(series):
        inside = [start + index for index in _divided(series[start : start + window], max_p_value)]
        found.update(inside)
        start = max([start + window // 2, *inside])
    return found


def _divided(values: Floats, max_p_value: float) -> list[int]:
    """Return the positions of the changes of level within a window.

    Each significant change divides a sequence of values into two, which are searched for further changes.
    """
    found: list[int] = []
    while True:
        edges = [0, *found, len(values)]
        candidates = [
            (quality, start + index, start, end)
            for start, end in pairwise(edges)
            if end - start > 1
            for index, quality in [_candidate(values[start:end])]
        ]
        if not candidates:
            return found
        _, index, start, end = max(candidates)
        if _p_value(values[start:index], values[index:end]) > max_p_value:
            return found
        found = sorted([*found, index])


def _candidate(values: Floats) -> tuple[int, float]:
    """Return the position t that maximises Q (see `change_points`), and the maximum."""
    count = len(values)
    distances = np.abs(values[:, None] - values[None, :])
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    first, last = np.triu_indices(count + 1, k=1)
    first, last = first[first > 0], last[first > 0]
    before, after = first.astype(float), (last - first).astype(float)
    left = sums[first, first] / 2
    right = (sums[last, last] - 2 * sums[first, last] + sums[first, first]) / 2
    between = sums[first, last] - sums[first, first]
    # A single observation has no distances to other observations in its sequence, so its term is zero.
    quality = (
        between
        - after * left / np.where(before > 1, before - 1, np.inf)
        - before * right / np.where(after > 1, after - 1, np.inf)
    ) * (2 / (before + after))
    best = int(np.argmax(quality))
    return int(first[best]), float(quality[best])


def _merged(series: Floats, found: list[int], max_p_value: float, min_magnitude: float) -> list[ChangePoint]:
    """Remove the weakest candidates, one at a time, until all candidates are significant and large enough. Return the
    remaining changes.

    As in the published method, only the two changes after a removed change are tested again. Testing all changes again
    would rarely give a different result, and only for changes near the significance level.
    """
    tested = _tested(series, found)
    while tested:
        weakest = max(tested, key=lambda change: change.p_value)
        if weakest.p_value < max_p_value:
            weakest = min(tested, key=lambda change: change.magnitude)
            if weakest.magnitude > min_magnitude:
                return _tested(series, [change.index for change in tested])
        place = tested.index(weakest)
        del tested[place]
        again = _tested(series, [change.index for change in tested])
        tested[place : place + 2] = again[place : place + 2]
    return []


def _tested(series: Floats, found: list[int], worth: float = 1.0) -> list[ChangePoint]:
    return [
        ChangePoint(index, float(left.mean()), float(right.mean()), _p_value(left, right, worth))
        for index, left, right in _sides(series, found)
    ]


def _sides(series: Floats, found: list[int]) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield the position of each change of level, with the values of the levels before and after it."""
    edges = [0, *found, len(series)]
    for (start, index), (_, end) in pairwise(pairwise(edges)):
        yield index, series[start:index], series[index:end]


def _p_value(left: Floats, right: Floats, worth: float = 1.0) -> float:
    """Return the p-value of a two-sided t-test with pooled variance for the means of two samples.

    The sample sizes are multiplied by `worth`, to allow for correlated observations.
    """
    counts = len(left) * worth, len(right) * worth
    freedom = counts[0] + counts[1] - 2
    if freedom <= 0:
        return 1.0
    difference = float(right.mean() - left.mean())
    # A sample of one observation has zero variance, and adds no degree of freedom to the pooled variance.
    variances = float(left.var()), float(right.var())
    pooled = sum((count - 1) * variance for count, variance in zip(counts, variances, strict=True)) / freedom
    if pooled <= 0:
        return 0.0 if difference else 1.0
    error = math.sqrt(pooled * (1 / counts[0] + 1 / counts[1]))
    return float(2 * t_tail(abs(difference) / error, freedom))


def _worth(series: Floats, found: list[int]) -> float:
    """Return the number of independent observations that give as much information as one observation of a correlated
    series, in (0, 1].

    The correlation is the larger of two estimates. The first is the lag-1 correlation of the deviations from the fitted
    levels. It is too small, although it is corrected for the fit. The second estimate hardly depends on the fitted
    levels. In a first-order autoregressive series, differences over one and over two observations have the variances
    v_1 = 2 s^2 (1 - r) and v_2 = 2 s^2 (1 - r^2). Hence r = v_2 / v_1 - 1.
    """
    left = np.concatenate([part - part.mean() for part in np.split(series, found)])
    lag_1, lag_2 = float(np.mean(np.diff(left) ** 2)), float(np.mean((left[2:] - left[:-2]) ** 2))
    count, levels = len(left), len(found) + 1
    fitted = (count * lag_one(left) + levels) / max(1, count - 3 * levels)
    correlation = max(fitted, lag_2 / lag_1 - 1 if lag_1 > 0 else 0.0)
    correlation = min(0.9, max(0.0, correlation))
    return (1 - correlation) / (1 + correlation)
