"""Compares shares of failed requests, which may be zero and so have no ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.comparing.runs import ComparedRun, Failures
from towtank.analysis.statistics import capped_freedom
from towtank.distributions import binomial_tail, normal_quantile, t_quantile, t_tail

RELEVANT = 0.001
"""Difference of shares that matters, besides the threshold of ratios: 0.1 percentage points. [1]"""


@dataclass(frozen=True)
class FailureLine:
    """Difference of the shares of failures.

    Attributes
    ----------
    transaction : str
        Empty for all together.
    share_a, share_b : float
        Shares of failures, in [0, 1].
    chance : float
        Probability of this difference by chance, in [0, 1]; 1 if no side is repeated.
    low, high : float or None
        90 % interval of B minus A; None if no side is repeated.
    runs : (int, int)
        Runs of A and of B. [1]
    cell : str
        Configuration and load; None for all cells together.
    cells : tuple of FailureLine
        The same in each cell, if there are several.
    """

    transaction: str
    share_a: float
    share_b: float
    chance: float
    low: float | None
    high: float | None
    runs: tuple[int, int]
    cell: str | None = None
    cells: tuple[FailureLine, ...] = ()

    @property
    def ratio(self) -> float | None:
        """B over A; None without failures of A."""
        return self.share_b / self.share_a if self.share_a > 0 else None

    @property
    def difference(self) -> float:
        """B minus A. [1]"""
        return self.share_b - self.share_a


def failure_line(transaction: str, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> FailureLine | None:
    """Compare the failures of a transaction; None if a side has no requests of it.

    Notes
    -----
    Two tests must agree. The exact one knows how few failures there are: of all failures, those of B are binomial with
    the share of B's requests if both sides fail alike [1]_. Welch's t of the shares of the runs knows how they vary.

    References
    ----------
    .. [1] J. Przyborowski and H. Wilenski, "Homogeneity of results in testing samples from Poisson series", Biometrika
           31(3-4), 313-323, 1940, doi:10.1093/biomet/31.3-4.313.
    """
    cells = {}
    for cell in dict.fromkeys(run.cell for run in a):
        sides = tuple(_counted(transaction, [run for run in runs if run.cell == cell]) for runs in (a, b))
        if all(sides):
            cells[cell] = sides
    if not cells:
        return None
    together = _line(transaction, [[each for sides in cells.values() for each in sides[side]] for side in (0, 1)])
    parts = (replace(_line(transaction, sides), cell=cell) for cell, sides in cells.items()) if len(cells) > 1 else ()
    return replace(together, cells=tuple(parts))


def _counted(transaction: str, runs: Sequence[ComparedRun]) -> list[Failures]:
    found = [run.failures[transaction] for run in runs if transaction in run.failures]
    return [each for each in found if each.ended > 0]


def _line(transaction: str, sides: Sequence[Sequence[Failures]]) -> FailureLine:
    failed, ended = ([sum(getattr(each, name) for each in side) for side in sides] for name in ("failed", "ended"))
    shares = [failures / count for failures, count in zip(failed, ended, strict=True)]
    together = sum(failed) / sum(ended)
    counting = math.sqrt(together * (1 - together) * (1 / ended[0] + 1 / ended[1]))
    runs = (len(sides[0]), len(sides[1]))
    if min(runs) < 2:
        return FailureLine(transaction, shares[0], shares[1], 1.0, None, None, runs)
    of_runs = [np.array([each.failed / each.ended for each in side]) for side in sides]
    factors, variances = [1 / len(values) for values in of_runs], [float(values.var(ddof=1)) for values in of_runs]
    freedom = capped_freedom(factors, variances, [len(values) - 1 for values in of_runs])
    scatter = math.sqrt(sum(factor * variance for factor, variance in zip(factors, variances, strict=True)))
    difference = shares[1] - shares[0]
    chance = max(_of_counts(failed, ended), _tail(difference, scatter, freedom))
    half = max(normal_quantile(0.95) * counting, t_quantile(0.95, freedom) * scatter)
    return FailureLine(transaction, shares[0], shares[1], chance, difference - half, difference + half, runs)


def _of_counts(failed: Sequence[int], ended: Sequence[int]) -> float:
    """Return the two-sided probability of these failures if both sides fail alike."""
    total, share = sum(failed), ended[1] / sum(ended)
    more = binomial_tail(failed[1] - 1, total, share) if failed[1] else 1.0
    fewer = 1 - binomial_tail(failed[1], total, share)
    return min(1.0, 2 * min(more, fewer))


def _tail(difference: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * t_tail(abs(difference) / error, freedom))
