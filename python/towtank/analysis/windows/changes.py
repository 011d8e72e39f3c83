"""Describes changes of a metric over a window: their size, a lower bound of the size at 95 % confidence, and their
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
"""Changes of response time that are larger than this are tested at a weaker significance level. [1]"""
CAUTIOUS_SIGNIFICANCE = 0.05
"""Significance level of the cautious trend test, in (0, 1). This test corrects the autocorrelation for its bias in
short series.
"""
_LARGE_SIGNIFICANCE = 0.025
_CONFIDENCE = 0.95
# Significance level at which a gross change makes the run invalid. At this level, chance hardly ever makes a run
# invalid in a study of ten runs.
_GROSS_SIGNIFICANCE = 0.001


@dataclass(frozen=True)
class Change:
    """Relevant change of a metric over the window.

    Attributes
    ----------
    metric : str
        Name of the metric.
    share : float
        Change, divided by the mean. [1]
    at_least : float
        Lower bound of the absolute change: the limit of its 95 % interval that is nearer to zero. [1]
    p_value : float
        Probability of a change this large by chance, from the cautious test, in [0, 1].
    """

    metric: str
    share: float
    at_least: float
    p_value: float = 0.0

    @property
    def tolerance(self) -> float:
        """Largest change of this metric that counts as irrelevant. [1]"""
        return tolerances.tolerance(self.metric)

    @property
    def is_gross(self) -> bool:
        """True if the change is significant, and certainly exceeds `GROSS` times the tolerance of its metric.

        A large change alone is not sufficient: in a window that is not much longer than the relaxation time, the queue
        of a steady system fluctuates strongly.
        """
        return self.at_least > GROSS * self.tolerance and self.p_value < _GROSS_SIGNIFICANCE

    @property
    def text(self) -> str:
        """Name of the metric as text. For the CPU use of a tier, the text adds `at mean throughput`, because the use is
        adjusted to it.
        """
        words = self.metric.replace("_", " ")
        return f"{words} at mean throughput" if words.startswith("cpu of ") else words


class Step(NamedTuple):
    """Relevant sudden change of the level of a metric within a window.

    Attributes
    ----------
    metric : str
    at_s : float
        Time of the change, in run time. [s]
    share : float
        Change, divided by the level before. [1]
    is_gross : bool
        True if the change significantly exceeds `GROSS` times the tolerance.
    """

    metric: str
    at_s: float
    share: float
    is_gross: bool

    @property
    def tolerance(self) -> float:
        """Largest change of this metric that counts as irrelevant. [1]"""
        return tolerances.tolerance(self.metric)


def relative(metric: str, difference: float, mean: float) -> float:
    """Return a difference, divided by the mean. For response time, `difference` is a difference of logarithms. [1]"""
    if metric == "response_time":
        return math.expm1(min(50.0, difference))
    return difference / abs(mean) if mean else 0.0


def of_trend(
    metric: str, line: Trend, cautious: Trend, span_s: float, mean: float, *, strict: bool = True
) -> Change | None:
    """Return the change that a trend causes over a window, if it is relevant and significant; otherwise None.

    Parameters
    ----------
    metric : str
    line, cautious : Trend
        Trends from the plain test and from the cautious test. The cautious test determines the severity of the change.
    span_s : float
        Time from the first to the last observation. [s]
    mean : float
        Mean of the series.
    strict : bool, default True
        True if the cautious test must agree with the plain test; see `relaxation.Memory.is_short`.

    Notes
    -----
    A change larger than the tolerance counts if the plain test has p < 0.01. In a window not much longer than the
    relaxation time of a queue (`strict`), this test mistakes a queue that returns to its mean for a trend. The cautious
    test must then have p < 0.05 as well. A rise of response time by half, or a fall by a third, always counts if the
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
    """Return the change from the excluded start of a window to the rest of the window.

    `error` is the standard error of the difference in the cautious test, and `freedom` its degrees of freedom.
    """
    least = abs(
        relative(metric, math.copysign(max(0.0, abs(difference) - quantile(freedom) * error), difference), mean)
    )
    return Change(metric, relative(metric, difference, mean), least, chance_of(difference, error, freedom))


def quantile(freedom: float) -> float:
    """Return the quantile of Student's t for a two-sided 95 % interval. [1]"""
    return t_quantile(0.5 + _CONFIDENCE / 2, freedom)
