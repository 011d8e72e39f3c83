"""Compares the shares of failed requests of two results by their difference, because a share of zero has no ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.comparing.runs import ComparedRun, Failures
from towtank.analysis.statistics import capped_freedom
from towtank.distributions import binomial_tail, normal_quantile, t_quantile, t_tail

RELEVANT = 0.001
"""Smallest difference between two shares of failures that matters: 0.1 percentage points. In addition, the ratio of the
shares must exceed the threshold of the comparison. [1]
"""


@dataclass(frozen=True)
class FailureLine:
    """Difference between the shares of failures of two results, A and B.

    Attributes
    ----------
    transaction : str
        Name of the transaction; empty for all transactions together.
    share_a, share_b : float
        Shares of failures, in [0, 1].
    chance : float
        Probability of a difference of this size by chance (p-value), in [0, 1]; 1 if A or B has fewer than two runs.
    low, high : float or None
        90 % interval of the share of B minus the share of A; None if A or B has fewer than two runs.
    runs : (int, int)
        Numbers of runs of A and of B. [1]
    cell : str
        Cell, which is a combination of configuration and load; None for all cells together.
    cells : tuple of FailureLine
        Difference in each cell; empty if there is only one cell.
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
        """Share of failures of B divided by the share of failures of A; None if A has no failures. [1]"""
        return self.share_b / self.share_a if self.share_a > 0 else None

    @property
    def difference(self) -> float:
        """Share of failures of B minus the share of failures of A. [1]"""
        return self.share_b - self.share_a


def failure_line(transaction: str, a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> FailureLine | None:
    """Compare the shares of failures of a transaction. Return None if no cell (combination of configuration and load)
    has ended requests of this transaction in both A and B.

    Notes
    -----
    A difference counts only if two tests agree. The first is an exact test, which is valid for small numbers of
    failures: if A and B fail equally often, the number of failures of B is binomial, and the probability is the share
    of B in all requests [1]_. The second is Welch's t test of the shares in the runs, which accounts for differences
    between runs.

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
    """Return the two-sided p-value of the numbers of failures of A and B, if A and B actually fail equally often."""
    total, share = sum(failed), ended[1] / sum(ended)
    more = binomial_tail(failed[1] - 1, total, share) if failed[1] else 1.0
    fewer = 1 - binomial_tail(failed[1], total, share)
    return min(1.0, 2 * min(more, fewer))


def _tail(difference: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * t_tail(abs(difference) / error, freedom))
