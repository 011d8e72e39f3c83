"""Finds changes of the level of a short series by permutation tests, so that the rate of false alarms is known.

`change_points` is made for long series. Its t-test is applied at the position with the largest difference. In a series
of ten values from one distribution, it therefore finds changes far more often than its significance level states. The
permutation test includes the choice of the position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from towtank.analysis.statistics.change_points import ChangePoint
from towtank.arrays import Floats

LEVEL = 0.01
"""Largest share of series without a change in which a change is found, in (0, 1)."""
LEAST = 10
"""Smallest number of values in a series for which changes are searched. In a shorter series, a change is seldom
significant. [1]
"""
# Smallest number of values of a level; fewer values are outliers. [1]
_SIDE = 3
_PERMUTATIONS = 4999
# Number of permutations that are tried first. If they show that the change is not significant, no more are tried. [1]
_FIRST = 199
_HOPELESS = 0.1  # A change is not significant if its p-value after the first permutations is above this.


def permuted_steps(values: Floats, level: float = LEVEL) -> list[ChangePoint]:
    """Find the changes of level of a series of exchangeable values.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values in order of time. Fewer than `LEAST` values are not searched.
    level : float, default 0.01
        Significance level, in (0, 1).

    Returns
    -------
    list of ChangePoint
        Changes in order of time. The p-value of a change is the share of the permutations of the searched values whose
        largest difference is at least as large, in (0, 1].

    Notes
    -----
    For each position k the two-sample statistic is |mean of the first k - mean of the others| sqrt(k (n - k) / n). Its
    largest value over all positions is compared with the largest values of random permutations of the series [1]_. If
    the level does not change, the values are exchangeable. The probability of a p-value of at most a is then at most a,
    for any distribution of the values. A significant change divides the series into two sequences, which are searched
    in the same way (binary segmentation [2]_). Values that are correlated in time are not exchangeable; changes are
    then found more often.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics
           and Molecular Biology 9(1), 39, 2010, doi:10.2202/1544-6115.1585.
    .. [2] L. Y. Vostrikova, "Detecting disorder in multidimensional random processes", Soviet Mathematics Doklady 24,
           55-59, 1981.
    """
    series = np.asarray(values, dtype=float)
    found = sorted(_divided(series, 0, len(series), level, np.random.default_rng(len(series))))
    edges = [0, *(index for index, _ in found), len(series)]
    return [
        ChangePoint(
            index, float(series[edges[place] : index].mean()), float(series[index : edges[place + 2]].mean()), p_value
        )
        for place, (index, p_value) in enumerate(found)
    ]


def _divided(
    series: Floats, start: int, end: int, level: float, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    if end - start < LEAST:
        return
    part = series[start:end]
    statistics = _statistics(part[None, :])[0]
    best = int(np.argmax(statistics))
    p_value = _p_value(part, float(statistics[best]), rng)
    if p_value > level:
        return
    index = start + _SIDE + best
    yield index, p_value
    yield from _divided(series, start, index, level, rng)
    yield from _divided(series, index, end, level, rng)


def _statistics(rows: Floats) -> Floats:
    """Return the statistic of each position in each row. A position has at least `_SIDE` values before and after it."""
    count = rows.shape[1]
    places = np.arange(_SIDE, count - _SIDE + 1)
    sums = np.cumsum(rows, axis=1)
    means = sums[:, places - 1] / places
    others = (sums[:, -1:] - sums[:, places - 1]) / (count - places)
    return np.asarray(np.abs(means - others) * np.sqrt(places * (count - places) / count))


def _p_value(part: Floats, observed: float, rng: np.random.Generator) -> float:
    # Sums of the same values in a different order differ by rounding errors, for which this tolerance allows.
    least = observed - 1e-9 * max(observed, float(np.abs(part).max()))
    if math.isclose(float(np.ptp(part)), 0.0, abs_tol=1e-12 * float(np.abs(part).max())):
        return 1.0
    above = count = 0
    for more in (_FIRST, _PERMUTATIONS - _FIRST):
        rows = rng.permuted(np.tile(part, (more, 1)), axis=1)
        above += int((_statistics(rows).max(axis=1) >= least).sum())
        count += more
        if above > _HOPELESS * count:
            break
    return (1 + above) / (1 + count)
