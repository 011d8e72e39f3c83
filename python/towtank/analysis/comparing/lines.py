"""Compares one figure of two sides by the logarithms of its values, one value a run.

The run is the unit: requests of one run share its start, its memory layout and its hour, so their number says nothing
about the next run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from towtank.analysis.comparing.runs import ComparedRun, Measured, Place
from towtank.distributions import t_quantile

_CELLS_AT_LEAST = 3


@dataclass(frozen=True)
class Line:
    """Difference of the logarithms of one figure.

    Attributes
    ----------
    place : Place
    difference : float
        Mean logarithm of B minus that of A.
    variance : float or None
        Variance of the logarithm from run to run, of one run; None if no side is repeated.
    freedom : int
        Degrees of freedom of the variance; 0 if no side is repeated. [1]
    scale : float
        Variance of the difference over that of one run: 1 / n_A + 1 / n_B in a single cell. [1]
    within : float
        Standard error of the difference by the errors within the runs; 0 if they are not known.
    runs : (int, int)
        Runs of A and of B that have the figure. [1]
    """

    place: Place
    difference: float
    variance: float | None
    freedom: int
    scale: float
    within: float
    runs: tuple[int, int]

    @property
    def ratio(self) -> float:
        """B over A."""
        return math.exp(self.difference)

    def error(self, variance: float | None = None) -> float | None:
        """Return the standard error of the difference; at least that of the errors within the runs."""
        known = self.variance if variance is None else variance
        return None if known is None else max(math.sqrt(known * self.scale), self.within)

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the ratio by Student's t; None if no side is repeated.

        Notes
        -----
        The runs of both sides have one variance of the logarithm, as in Student's two-sample test: with two or three
        runs a side a variance of each would have one or two degrees of freedom. A percentile bootstrap over runs [1]_
        draws from so few that its intervals are too short: with three runs a side and a normal difference from run to
        run, 19 % of 95 % intervals miss (`tests/certified/test_certified_compare.py` measures both).

        References
        ----------
        .. [1] A. C. Davison and D. V. Hinkley, *Bootstrap Methods and their Application*, Cambridge University Press,
               1997, section 3.8 (hierarchical data).
        """
        error = self.error()
        if error is None or self.freedom < 1:
            return None
        half = t_quantile(0.5 + confidence / 2, self.freedom) * error
        return (math.exp(self.difference - half), math.exp(self.difference + half)) if half < 50 else None


@dataclass(frozen=True)
class _Cell:
    """Values of both sides at one configuration and load."""

    a: Sequence[Measured]
    b: Sequence[Measured]

    @property
    def scale(self) -> float:
        return 1 / len(self.a) + 1 / len(self.b)

    @property
    def difference(self) -> float:
        return float(np.mean(_logs(self.b)) - np.mean(_logs(self.a)))


def _logs(values: Sequence[Measured]) -> list[float]:
    return [math.log(each.value) for each in values]


def line_of(place: Place, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> Line | None:
    """Compare a figure; None if the sides have no cell in common that has it.

    Notes
    -----
    Several cells (loads, configurations) are blocks: each gives a difference, weighted by its number of runs. The
    variance is that within the sides of the cells; if no cell is repeated, that of the differences of three cells or
    more, which contains how much the ratio depends on the load.
    """
    cells = _cells(place, a, b)
    if not cells:
        return None
    weights = np.array([1 / cell.scale for cell in cells.values()])
    differences = np.array([cell.difference for cell in cells.values()])
    difference = float(weights @ differences / weights.sum())
    scale = float(1 / weights.sum())
    counts = (sum(len(cell.a) for cell in cells.values()), sum(len(cell.b) for cell in cells.values()))
    sides = [values for cell in cells.values() for values in (cell.a, cell.b)]
    freedom = sum(len(values) - 1 for values in sides)
    variance: float | None = None
    if freedom:
        variance = sum(float(np.sum((np.array(_logs(each)) - np.mean(_logs(each))) ** 2)) for each in sides) / freedom
    elif len(cells) >= _CELLS_AT_LEAST:
        freedom = len(cells) - 1
        variance = float(weights @ (differences - difference) ** 2 / freedom)
    return Line(place, difference, variance, freedom, scale, _within(cells, weights), counts)


def _cells(place: Place, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> dict[str, _Cell]:
    found = {}
    for cell in dict.fromkeys(run.cell for run in a):
        sides = [[run.figures[place] for run in runs if run.cell == cell and place in run.figures] for runs in (a, b)]
        if all(sides):
            found[cell] = _Cell(*sides)
    return found


def _within(cells: Mapping[str, _Cell], weights: npt.NDArray[np.float64]) -> float:
    """Return the standard error of the difference by the errors within the runs; 0 if one of them is not known."""
    total, weighted = 0.0, float(weights.sum())
    for weight, cell in zip(weights, cells.values(), strict=True):
        for values in (cell.a, cell.b):
            errors = [each.error for each in values]
            if any(error is None for error in errors):
                return 0.0
            total += (weight / weighted / len(values)) ** 2 * sum(error**2 for error in errors if error is not None)
    return math.sqrt(total)
