"""Describes changes of a metric over a window: the size, a lower bound of the size at 95 % confidence, and the
severity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from towtank.analysis.windows import tolerances
from towtank.analysis.windows.steady import SIGNIFICANCE, Trend, chance_of
from towtank.analysis.windows.tolerances import GROSS
from towtank.distributions import t_quantile

_LARGE = 0.5
"""A change of response time that is larger than this is tested at a weaker significance level. [1]"""
CAUTIOUS_SIGNIFICANCE = 0.05
"""Significance level of the trend test that corrects the autocorrelation for its bias in short series
(cautious test).
"""
_LARGE_SIGNIFICANCE = 0.025
_CONFIDENCE = 0.95
# Significance level at which a change larger than the gross size makes the run invalid. Chance then hardly ever makes a
# run invalid in a study of ten runs.
_GROSS_SIGNIFICANCE = 0.001


@dataclass(frozen=True)
class Change:
    """Relevant change of a metric over the window.

    Attributes
    ----------
    metric : str
    share : float
        Change relative to the mean. [1]
    at_least : float
        Lower bound of the size of the change: the end of its 95 % interval that is nearer to zero. [1]
    p_value : float
        Probability of a change this large by chance, by the cautious test. In [0, 1]
    """

    metric: str
    share: float
    at_least: float
    p_value: float = 0.0

    @property
    def tolerance(self) -> float:
        """Largest change of this metric that is not relevant. [1]"""
        return tolerances.tolerance(self.metric)

    @property
    def is_gross(self) -> bool:
        """True if the change is significant, and surely exceeds `GROSS` times the tolerance of its metric.

        The size of a change is not sufficient, because the queue of a steady system fluctuates strongly in a window not
        much longer than its relaxation time.
        """
        return self.at_least > GROSS * self.tolerance and self.p_value < _GROSS_SIGNIFICANCE

    @property
    def text(self) -> str:
        """Name of the metric as text. For the CPU use of a tier, the text states that it is adjusted to mean
        throughput.
        """
        words = self.metric.replace("_", " ")
        return f"{words} at mean throughput" if words.startswith("cpu of ") else words


class Step(NamedTuple):
    """Relevant change of the level of a metric within a window.

    Attributes
    ----------
    metric : str
    at_s : float
        Time of the change, in run time. [s]
    share : float
        Change relative to the level before. [1]
    is_gross : bool
        Whether the change significantly exceeds `GROSS` times the tolerance.
    """

    metric: str
    at_s: float
    share: float
    is_gross: bool

    @property
    def tolerance(self) -> float:
        """Largest change of this metric that is not relevant. [1]"""
        return tolerances.tolerance(self.metric)


def relative(metric: str, difference: float, mean: float) -> float:
    """Return a difference relative to the mean. For response time, `difference` is a difference of logarithms."""
    if metric == "response_time":
        return math.expm1(min(50.0, difference))
    return difference / abs(mean) if mean else 0.0


def of_trend(
    metric: str, line: Trend, cautious: Trend, span_s: float, mean: float, *, strict: bool = True
) -> Change | None:
    """Return the change that a trend causes over a window, if the change is relevant and significant; None otherwise.

    Parameters
    ----------
    metric : str
    line, cautious : Trend
        Results of the plain and of the cautious test for a trend; the latter decides the severity of the change.
    span_s : float
        Time from the first to the last observation. [s]
    mean : float
        Mean of the series.
    strict : bool, default True
        Whether the cautious test must agree, see `relaxation.is_short`.

    Notes
    -----
    A change larger than the tolerance counts if the plain test has p < 0.01. In a window not much longer than the
    relaxation time of a queue (`strict`), this test mistakes a queue that returns to its mean for a trend. The cautious
    test must then also have p < 0.05. A rise of response time by half, or a fall by a third, counts whenever the
    cautious test has p < 0.025.
    """
    share = relative(metric, line.slope_per_s * span_s, mean)
    limit = tolerances.tolerance(metric)
    large = metric == "response_time" and not 1 / (1 + _LARGE) < 1 + share < 1 + _LARGE
    if not (large and cautious.p_value < _LARGE_SIGNIFICANCE) and not (
        abs(share) > limit and line.p_value < SIGNIFICANCE and (not strict or cautious.p_value < CAUTIOUS_SIGNIFICANCE)
    ):
        return None
    least = max(0.0, abs(line.slope_per_s) - quantile(cautious.freedom) * cautious.error_per_s) * span_s
    least = abs(relative(metric, math.copysign(least, line.slope_per_s), mean))
    return Change(metric, share, least, cautious.p_value)


def of_difference(metric: str, difference: float, error: float, freedom: float, mean: float) -> Change:
    """Return the change from the start of a window, which was left out, to the kept part of the window.

    `error` is the standard error of the difference in the cautious test.
    """
    least = abs(
        relative(metric, math.copysign(max(0.0, abs(difference) - quantile(freedom) * error), difference), mean)
    )
    return Change(metric, relative(metric, difference, mean), least, chance_of(difference, error, freedom))


def quantile(freedom: float) -> float:
    """Return the quantile of Student's t for a two-sided 95 % interval with the given degrees of freedom. [1]"""
    return t_quantile(0.5 + _CONFIDENCE / 2, freedom)
