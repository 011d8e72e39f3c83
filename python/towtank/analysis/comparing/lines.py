"""Compares one figure (measured quantity) of two results, A and B, by the logarithms of its values. Each run has one
value.

The run is the unit of replication. Requests of one run have the same start of the system, memory layout and time of
day. Even a large number of requests therefore does not show how runs differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.comparing.runs import ComparedRun, Measured, Place
from towtank.analysis.statistics import capped_freedom
from towtank.distributions import t_quantile

_CELLS_AT_LEAST = 3  # Smallest number of cells whose differences can be treated as paired values. [1]
_RUNS_AT_LEAST = 2  # Smallest number of runs for a variance. [1]
_WIDEST = 50  # Intervals with a larger half-width, in logarithms, are not returned. [1]


@dataclass(frozen=True)
class Line:
    """Difference between A and B in the logarithm of one figure (measured quantity).

    Attributes
    ----------
    place : Place
    difference : float
        Mean logarithm of B minus mean logarithm of A. [1]
    variance : float or None
        Variance of the logarithm from run to run; None if A or B has a single run.
    freedom : float
        Degrees of freedom of the variance; 0 if A or B has a single run. [1]
    scale : float
        Variance of the difference, divided by `variance`. For a single cell with n_A and n_B runs, it is 1 / n_A + 1 /
        n_B. [1]
    within : float
        Standard error of the difference that the errors within the runs cause; 0 if unknown.
    resolution : float
        Standard error of the difference that the resolution of the values causes; 0 if negligible or unknown.
    step : float
        Coarsest relative resolution of a value. [1]
    runs : (int, int)
        Numbers of runs of A and of B that have the figure. [1]
    cell : str
        Cell, which is a combination of configuration and load; None for all cells together.
    cells : tuple of Line
        Difference in each cell; empty if there is only one cell.
    is_tested : bool
        False for a cell without repeated runs, because such a cell alone cannot show a difference.
    """

    place: Place
    difference: float
    variance: float | None
    freedom: float
    scale: float
    within: float
    resolution: float
    step: float
    runs: tuple[int, int]
    cell: str | None = None
    cells: tuple[Line, ...] = ()
    is_tested: bool = True

    @property
    def ratio(self) -> float:
        """Value of B divided by the value of A: the exponential of the difference of their logarithms. [1]"""
        return math.exp(self.difference)

    def error(self, variance: float | None = None) -> float | None:
        """Return the standard error of the difference between A and B; None if it is unknown, for instance because A or
        B has a single run. If `variance` is given, it replaces the estimated variance from run to run.

        The result is the largest of three standard errors: from the variance between runs, from the errors within the
        runs, and from the resolution of the values. Equal values of unknown resolution may be rounded, so they have no
        standard error.
        """
        known = self.variance if variance is None else variance
        found = 0.0 if known is None else max(math.sqrt(known * self.scale), self.within, self.resolution)
        return found if found > 0 else None

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the ratio B / A by Student's t; None if it is unknown, for instance because A or B has
        a single run.

        Notes
        -----
        In each cell, A and B have separate variances, as in Welch's test; see `line_of`. An alternative would be a
        percentile bootstrap over runs [1]_, but it gives too short intervals for few runs. With three runs per side and
        normally distributed values, 19 % of its 95 % intervals miss the true ratio.
        `tests/certified/test_certified_compare.py` measures both methods.

        References
        ----------
        .. [1] A. C. Davison and D. V. Hinkley, *Bootstrap Methods and their Application*, Cambridge University Press,
               1997, section 3.8 (hierarchical data).
        """
        error = self.error()
        if error is None or self.freedom <= 0:
            return None
        half = t_quantile(0.5 + confidence / 2, self.freedom) * error
        return (math.exp(self.difference - half), math.exp(self.difference + half)) if half < _WIDEST else None


@dataclass(frozen=True)
class _Cell:
    """Values of A and B in one cell, that is, at one configuration and load."""

    name: str
    a: Sequence[Measured]
    b: Sequence[Measured]

    @property
    def sides(self) -> tuple[Sequence[Measured], Sequence[Measured]]:
        return self.a, self.b

    @property
    def difference(self) -> float:
        return float(np.mean(_logs(self.b)) - np.mean(_logs(self.a)))

    @property
    def scale(self) -> float:
        return 1 / len(self.a) + 1 / len(self.b)

    @property
    def is_repeated(self) -> bool:
        return min(len(self.a), len(self.b)) >= _RUNS_AT_LEAST


def _logs(values: Sequence[Measured]) -> list[float]:
    return [math.log(each.value) for each in values]


def line_of(place: Place, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> Line | None:
    """Compare a figure (measured quantity) of A and B. Return None if no cell has the figure in both A and B, or if a
    value is 0.

    Notes
    -----
    A cell is a combination of configuration and load. Cells are treated as blocks. Cell c has n_Ac and n_Bc runs, and
    the difference d_c of the mean logarithms. Its weight w_c is the reciprocal of 1 / n_Ac + 1 / n_Bc. The difference
    over all cells is D = sum w_c d_c / sum w_c, where the sums cover the cells in which A and B both have several runs.

    In each cell, A and B have separate variances s_i^2 of their n_i runs: runs vary more at a load near the limit than
    at a small load, and a new release may vary more than the old one. The variance of D is the sum of k_i s_i^2 over A
    and B in all cells, with k_i = (w_c / sum w)^2 / n_i. Its degrees of freedom follow Welch and Satterthwaite [1]_,
    with a limit (see `capped_freedom`).

    Values with a coarse resolution, such as percentiles in whole milliseconds, may be equal in many runs without being
    exact. If values are rounded to multiples of a step u, the rounding error is uniform, so the standard error is at
    least u / sqrt(12). A mean of values that are rounded to the same number has the same rounding error [2]_.

    If no cell has several runs in both A and B, the differences in three or more cells are treated as paired values.
    Their variance then includes the dependence of the ratio on the load. A single cell alone never shows a difference.
    However, it prevents the verdict "same" if its interval contains differences above the threshold.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin
           2(6), 110-114, 1946.
    .. [2] JCGM 100:2008, *Guide to the expression of uncertainty in measurement*, F.2.2.1 (resolution).
    """
    cells = _cells(place, a, b)
    if not cells or any(not each.value for cell in cells for values in cell.sides for each in values):
        return None
    repeated = [cell for cell in cells if cell.is_repeated]
    together = _line(place, repeated or cells)
    parts = tuple(replace(_line(place, [cell]), cell=cell.name) for cell in cells) if len(cells) > 1 else ()
    if not repeated and len(cells) >= _CELLS_AT_LEAST:
        squares = sum((part.difference - together.difference) ** 2 / part.scale for part in parts)
        variance, freedom = squares / (len(cells) - 1), len(cells) - 1
        together = replace(together, variance=variance, freedom=freedom)
        parts = tuple(replace(part, variance=variance, freedom=freedom, is_tested=False) for part in parts)
    counts = (sum(len(cell.a) for cell in cells), sum(len(cell.b) for cell in cells))
    return replace(together, runs=counts, cells=parts)


def _line(place: Place, cells: Sequence[_Cell]) -> Line:
    """Return the weighted difference over cells. It has a variance only if A and B both have several runs in each
    cell.
    """
    weights = np.array([1 / cell.scale for cell in cells])
    scale = float(1 / weights.sum())
    shares = weights * scale
    difference = float(shares @ [cell.difference for cell in cells])
    variance, freedom = None, 0.0
    if all(cell.is_repeated for cell in cells):
        sides = [(share, values) for share, cell in zip(shares, cells, strict=True) for values in cell.sides]
        factors = [float(share) ** 2 / len(values) for share, values in sides]
        variances = [float(np.var(_logs(values), ddof=1)) for _, values in sides]
        freedom = capped_freedom(factors, variances, [len(values) - 1 for _, values in sides])
        variance = sum(factor * each for factor, each in zip(factors, variances, strict=True)) / scale
    counts = (sum(len(cell.a) for cell in cells), sum(len(cell.b) for cell in cells))
    shared = list(zip(map(float, shares), cells, strict=True))
    steps = [(share, max(each.relative_step for each in values)) for share, cell in shared for values in cell.sides]
    resolution = math.sqrt(sum((share * step) ** 2 / 12 for share, step in steps))
    coarsest = max(step for _, step in steps)
    return Line(place, difference, variance, freedom, scale, _within(shared), resolution, coarsest, counts)


def _cells(place: Place, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> list[_Cell]:
    found = []
    for cell in dict.fromkeys(run.cell for run in a):
        sides = [[run.figures[place] for run in runs if run.cell == cell and place in run.figures] for runs in (a, b)]
        if all(sides):
            found.append(_Cell(cell, *sides))
    return found


def _within(cells: Sequence[tuple[float, _Cell]]) -> float:
    """Return the standard error that the errors within the runs cause in the difference; 0 if any of these errors is
    unknown.
    """
    total = 0.0
    for share, cell in cells:
        for values in cell.sides:
            errors = [each.error for each in values]
            if any(error is None for error in errors):
                return 0.0
            total += (share / len(values)) ** 2 * sum(error**2 for error in errors if error is not None)
    return math.sqrt(total)
