"""Computes the smallest change that a comparison detects, and the number of runs that would lead to a decision."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from towtank.analysis.comparing.family import lent, moderated, spread
from towtank.analysis.comparing.findings import CONFIDENCE, SIGNIFICANCE
from towtank.analysis.comparing.lines import Line
from towtank.analysis.comparing.runs import Metric
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.distributions import chi_square_median, noncentral_t_tail, normal_tail, t_quantile

HEADLINE = (Metric.THROUGHPUT, Metric.MEAN, Metric.CPU, Metric.ERRORS)
"""Figures that determine the verdict `same`: each of them, over all transactions together, must be the same."""
_POWER = 0.80  # Probability with which a change must be detected, in (0, 1).
_WIDEST = 10.0  # Largest change that is tried, in logarithms. [1]
_RUNS_AT_MOST = 10_000  # Largest number of runs per side that is tried. [1]


@dataclass(frozen=True)
class Family:
    """All tests of one comparison. The probability that chance leads to any finding is limited for these tests
    together.

    Attributes
    ----------
    lines : sequence of Line
        Comparisons of all figures, over all loads together and at each load.
    tests : int
        Number of tests, including tests of failures. [1]
    threshold : float
        Smallest relative change that matters. [1]
    """

    lines: Sequence[Line]
    tests: int
    threshold: float

    def least_of(self, line: Line) -> float | None:
        """Return the smallest relative change of one figure that the comparison detects in four of five cases; None if
        it is unknown. [1]

        Notes
        -----
        A change is detected if three conditions hold. Its p-value is at most alpha / m in a family of m tests with
        significance level alpha (Holm's first step). The 95 % interval excludes 1. The difference is at least the
        threshold. The first two conditions require a difference of at least q standard errors, where q is the larger of
        their two t quantiles. The probability of such a difference is a tail of the noncentral t distribution [1]_. The
        tail has the degrees of freedom of this figure's own runs, because data of other figures do not make the
        difference itself less variable.

        References
        ----------
        .. [1] J. Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 2nd ed., Erlbaum, 1988, section 12.8.
        """
        error, drawn = line.error(), moderated(line, self.alike(line))
        if error is None or drawn is None:
            return None
        quantile = max(self._quantile(drawn.freedom) * drawn.error / error, _of_interval(line.freedom))
        likely = _unbiased(error, line.freedom)
        least = math.log1p(self.threshold)

        def lacking(size: float) -> float:
            beyond_threshold = normal_tail((least - size) / likely)
            return _POWER - beyond_threshold * noncentral_t_tail(quantile, line.freedom, size / likely)

        return math.expm1(float(brentq(lacking, 0.0, _WIDEST, xtol=1e-6))) if lacking(_WIDEST) < 0 else None

    def _quantile(self, freedom: float) -> float:
        """Return the t quantile that belongs to the largest significant p-value in Holm's first step."""
        return t_quantile(1 - SIGNIFICANCE / self.tests / 2, freedom)

    def alike(self, line: Line) -> list[Line]:
        """Return all comparisons with the same metric and load as the given comparison, including this comparison."""
        kind = (line.place.metric, line.cell)
        return [other for other in self.lines if (other.place.metric, other.cell) == kind]

    def runs_needed(self) -> int | None:
        """Return how many runs per side would detect the largest measured change in a figure of `HEADLINE`; None if the
        number is unknown or too large. [1]

        If this change is below the threshold, the number is computed for a change that equals the threshold. If A or B
        has a single run, a standard deviation from run to run is assumed; see `run_to_run`.
        """
        known = [line for line in self.lines if line.cell is None and line.place.metric in HEADLINE]
        if not known:
            return None
        line = max(known, key=lambda each: abs(each.difference))
        deviation = spread(line)
        size = max(abs(line.difference), math.log1p(self.threshold)) / (
            ASSUMED_SHARE if deviation is None else deviation
        )
        lenders = len(self.alike(line)) - 1
        found = bisect_left(range(2, _RUNS_AT_MOST), True, key=lambda runs: self._finds(runs, size, lenders)) + 2
        # The present number of runs gave no decision, and would probably not do so in a repetition. The result is at
        # least one more.
        return max(found, min(line.runs) + 1) if found < _RUNS_AT_MOST else None

    def _finds(self, runs: int, size: float, lenders: int) -> bool:
        """Return True if `runs` runs per side detect a change with a probability of at least 80 %. `size` is the
        change, divided by the standard deviation from run to run.
        """
        freedom = 2 * runs - 2
        quantile = max(self._quantile(freedom + lent(freedom, lenders * freedom)), _of_interval(freedom))
        return noncentral_t_tail(quantile, freedom, size / math.sqrt(2 / runs)) >= _POWER


def _of_interval(freedom: float) -> float:
    """Return the smallest difference, in standard errors, for which the 95 % interval excludes a ratio of 1."""
    return t_quantile(0.5 + CONFIDENCE / 2, freedom)


def _unbiased(error: float, freedom: float) -> float:
    """Return the standard error, corrected for the median bias of the sample variance.

    The median of the sample variance is lower than the true variance. Their ratio is the median of chi-square divided
    by its degrees of freedom.
    """
    return error * math.sqrt(freedom / chi_square_median(freedom))
