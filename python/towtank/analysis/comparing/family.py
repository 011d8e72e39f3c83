"""Computes p-values of many measured quantities (figures) together. A difference by chance in one of many figures then
seldom becomes a finding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from towtank.analysis.comparing.lines import Line
from towtank.distributions import t_tail

# A figure borrows degrees of freedom for its variance from other figures of the same metric. It borrows at most this
# many times its own degrees of freedom, because the other figures may vary differently from run to run. [1]
_LENT_AT_MOST = 3


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values that are adjusted for their number by Holm's step-down method, in the given order.

    Notes
    -----
    The i-th smallest of m p-values is multiplied by m - i + 1. If the result is below the adjusted value of the next
    smaller p-value, the latter is used instead [1]_.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6(2),
           65-70, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(chances)), key=lambda number: chances[number])
    adjusted, largest = [1.0] * len(chances), 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(1.0, (len(chances) - rank) * chances[number]))
        adjusted[number] = largest
    return adjusted


class Moderated(NamedTuple):
    """Standard error of a difference, and its degrees of freedom [1]. The error is estimated from this figure and other
    figures of the same metric.
    """

    error: float
    freedom: float


def chances_of(lines: Sequence[Line]) -> list[float]:
    """Return the p-value of each difference; 1 if unknown. The variances of figures of the same metric are estimated
    together; see `moderated`.
    """
    kinds = [(line.place.metric, line.cell) for line in lines]
    return [
        _chance(line, moderated(line, [other for other, found in zip(lines, kinds, strict=True) if found == kind]))
        for line, kind in zip(lines, kinds, strict=True)
    ]


def _chance(line: Line, drawn: Moderated | None) -> float:
    return 1.0 if drawn is None else float(2 * t_tail(abs(line.difference) / drawn.error, drawn.freedom))


def moderated(line: Line, alike: Sequence[Line]) -> Moderated | None:
    """Return the standard error of a difference between A and B, with its degrees of freedom. It is also based on other
    figures of the same metric at the same load. Return None if the variance of the difference is unknown.

    Notes
    -----
    With three runs per side, a variance has four degrees of freedom, too few for a small p-value. Figures of one metric
    for different transactions vary similarly from run to run. Each variance is therefore moved towards the median of
    the variances, as in an empirical Bayes t test [1]_. `lent` computes the degrees of freedom that the median
    contributes. A variance above the median is not lowered.

    Only figures at the same load are used, because the variance may depend on the load. Figures of rare transactions
    vary more, because the errors within their runs are larger. If the errors within the runs are known, each variance
    is divided by the variance that these errors cause, before the median is computed.

    References
    ----------
    .. [1] G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
           experiments", Statistical Applications in Genetics and Molecular Biology 3(1), 3, 2004,
           doi:10.2202/1544-6115.1027.
    """
    known = [other for other in alike if other.variance is not None and other.freedom > 0]
    if line.variance is None or line.freedom <= 0:
        return None
    extra = lent(line.freedom, sum(other.freedom for other in known if other is not line))
    typical = median(other.variance or 0.0 for other in known)
    if all(_unit(other) > 0 for other in known):
        typical = max(typical, _unit(line) * median((other.variance or 0.0) / _unit(other) for other in known))
    freedom = line.freedom + extra
    error = line.error(max(line.variance, (line.freedom * line.variance + extra * typical) / freedom))
    return None if error is None else Moderated(error, freedom)


def lent(freedom: float, others: float) -> float:
    """Return the degrees of freedom that a figure borrows from other figures: `others`, but at most `_LENT_AT_MOST`
    times its own `freedom`. [1]
    """
    return min(_LENT_AT_MOST * freedom, others)


def _unit(line: Line) -> float:
    """Return the variance that the errors within the runs cause in the value of one run; 0 if these errors are
    unknown.
    """
    return line.within**2 / line.scale


def spread(line: Line) -> float | None:
    """Return the standard deviation of a figure from run to run. It is at least the error within a run. Return None if
    it is unknown.
    """
    error = line.error()
    return None if error is None else error / math.sqrt(line.scale)
