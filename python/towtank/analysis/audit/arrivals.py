"""Tests the arrivals in one steady stage of an open load: their number, the gaps between them, and their dispersion.

If the rate λ(t) of a Poisson process changes, the number of arrivals in an interval is Poisson with mean Λ = ∫ λ dt. If
the total over several intervals is known, the numbers in these intervals are multinomial, with probabilities
proportional to the Λ of each interval [1]_.

References
----------
.. [1] E. Çinlar, *Introduction to Stochastic Processes*, Prentice-Hall, 1975, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.audit.asked import Arrivals, RateCurve
from towtank.analysis.audit.check import GAPS, NO_ARRIVALS, NUMBER, SECONDS, Check, Values, merged
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import goodness
from towtank.analysis.statistics.goodness import EXPECTED_AT_LEAST, Distribution, Goodness
from towtank.results import RecordedInterval

# A start lag increases the index of dispersion. The index is tested only if this increase is at most the given fraction
# of the standard deviation of the index. [1]
_LAG_AT_MOST = 0.05


@dataclass(frozen=True)
class StageOfArrivals:
    """Requested and recorded arrivals of one stage.

    Attributes
    ----------
    name : str
        Name of the stage.
    asked : Arrivals
        Requested arrivals.
    groups : list of str
        Names of the user groups.
    is_poisson : bool
        True for Poisson arrivals; False for evenly spaced arrivals.
    measurement : Measurement
    mask : ndarray of bool of shape (n_bins,)
        Bins of the stage that lie in the window.
    intervals : list of RecordedInterval
        Intervals that the load threads recorded in these bins.
    """

    name: str
    asked: Arrivals
    groups: list[str]
    is_poisson: bool
    measurement: Measurement
    mask: Mask
    intervals: list[RecordedInterval]

    @property
    def starts(self) -> Floats:
        """Start times of the bins of the stage. [s]"""
        return np.asarray(self.measurement.starts[self.mask], dtype=float)

    @property
    def ends(self) -> Floats:
        """End times of the bins of the stage. [s]"""
        return np.asarray(self.measurement.ends[self.mask], dtype=float)

    @property
    def length(self) -> float:
        """Total length of all bins of the stage. [s]"""
        return float((self.ends - self.starts).sum())

    @property
    def expected(self) -> Floats:
        """Planned number of arrivals in each bin of the stage. [1]"""
        return self.asked.expected(self.starts, self.ends)

    def count(self, group: int | None) -> int:
        """Return the number of arrivals of one user group in the stage, or of all groups if `group` is None. [1]"""
        if group is None:
            return sum(sum(interval.arrivals) for interval in self.intervals)
        return sum(interval.arrivals[group] for interval in self.intervals if group < len(interval.arrivals))


def arrivals_of_stage(stage: StageOfArrivals) -> Iterator[Check]:
    """Yield the results of all tests of the arrivals in a stage."""
    expected = float(stage.expected.sum())
    count = stage.count(None)
    if not count or expected <= 0:
        yield Check(NUMBER, stage=stage.name, why=NO_ARRIVALS if expected > 0 else "the requested rate is zero")
        return
    for number, curve in enumerate(stage.asked.curves):
        yield _number(stage, number if stage.asked.by_group else None, curve)
    yield _gaps(stage)
    if stage.is_poisson:
        yield _seconds(stage)


def _number(stage: StageOfArrivals, group: int | None, curve: RateCurve) -> Check:
    """Test whether the number of arrivals in a stage agrees with the requested rate."""
    expected, count = float(curve.arrivals(stage.starts, stage.ends).sum()), stage.count(group)
    name = None if group is None else stage.groups[group]
    place = Check(
        NUMBER, name, stage.name, {"rate_per_s": expected / stage.length}, {"rate_per_s": count / stage.length}
    )
    if expected <= 0 and not count:
        return replace(place, why="the requested rate is zero")
    if stage.is_poisson:
        return replace(place, outcome=goodness.poisson_number(count, expected))
    # Start lag may delay the count of an arrival into the next stage. The allowed difference is therefore the number of
    # arrivals within the largest start lag, plus 1.
    lag = stage.measurement.lag.merged(stage.mask)
    fastest = float(curve.rates.max())
    slack = 1.0 + (lag.maximum_s if lag else 0.0) * fastest
    outcome = Goodness("exact", float(count), 1.0 if abs(count - expected) <= slack else 0.0, count)
    return replace(place, outcome=outcome)


def _gaps(stage: StageOfArrivals) -> Check:
    """Test whether the gaps between arrivals have the distribution of the requested arrival process."""
    place = Check(GAPS, stage=stage.name)
    if not stage.asked.is_constant:
        return replace(place, why="the rate changes within the stage, so the gaps have no single distribution")
    rates = np.array([curve.rates[0] for curve in stage.asked.curves])
    rates = rates[rates > 0]
    place = replace(place, asked=_gaps_asked(stage, rates))
    found = merged([interval.gaps for interval in stage.intervals if interval.gaps])
    if found is None:
        return replace(place, why="no gap was recorded")
    seen = {"mean_s": sum(interval.gaps_sum_s for interval in stage.intervals) / found.total}
    if stage.is_poisson:
        return replace(place, seen=seen, outcome=goodness.kolmogorov(found, _mixture(rates)))
    # The first gap of each user group began before this stage, at the rate of the previous stage. It is not tested.
    return replace(place, seen=seen, outcome=goodness.always(found, 1 / rates, exempt=len(rates)))


def _gaps_asked(stage: StageOfArrivals, rates: Floats) -> Values:
    shape = "exponential" if stage.is_poisson else "fixed"
    # A group with arrival rate λ_g has the share λ_g / Σ λ of all gaps, and its mean gap is 1 / λ_g. The mean of all
    # gaps is therefore the number of groups divided by Σ λ.
    return {"dist": shape if len(rates) == 1 else f"{shape} by group", "mean_s": len(rates) / float(rates.sum())}


def _mixture(rates: Floats) -> Distribution:
    """Return the distribution of the gaps between successive arrivals of the same user group, for all groups together.

    Each group is a Poisson process with its own rate λ_g: F(t) = Σ λ_g / Λ (1 - exp(-λ_g t)), with Λ = Σ λ_g.
    """
    weights = rates / rates.sum()
    laws = [goodness.exponential(1 / float(rate)) for rate in rates]
    if len(laws) == 1:
        return laws[0]
    return lambda times: np.asarray(sum(w * law(times) for w, law in zip(weights, laws, strict=True)), dtype=float)


def _seconds(stage: StageOfArrivals) -> Check:
    """Test whether the numbers of arrivals per second vary as in a Poisson process, whose index of dispersion is 1."""
    place = Check(SECONDS, stage=stage.name, asked={"dispersion": 1.0})
    counts, expected = stage.measurement.arrivals[stage.mask], stage.expected
    lengths = stage.ends - stage.starts
    lag = stage.measurement.lag.merged(stage.mask)
    if lag is not None:
        # An arrival is counted in the second in which the generator handles it. Because of the start lag, about rate ×
        # lag arrivals are counted one second too late. This adds 2 (rate × lag)² / (rate × length of the second) to the
        # contribution of each second to the index of dispersion.
        squares = lag.variance_s2 + lag.mean_s**2
        added = float((2 * expected * squares / lengths**2).sum())
        if added > _LAG_AT_MOST * float(np.sqrt(2 * len(lengths))):
            return replace(
                place,
                why="the start lag moved arrivals into later seconds, which changes the counts per second",
            )
    if not stage.asked.is_constant:
        counts, expected = _pooled(counts, expected)
    outcome = goodness.dispersion(counts, expected)
    if outcome is None:
        return replace(place, why="too few arrivals for a test")
    statistic, freedom = outcome.statistic, outcome.freedom
    seen = {} if statistic is None or not freedom else {"dispersion": statistic / freedom}
    return replace(place, seen=seen, outcome=outcome)


def _pooled(counts: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Merge neighbouring bins until each merged interval has enough expected arrivals for a test. Bins that remain at
    the end are added to the last interval. Return the counted and the expected number of arrivals of each interval. [1]
    """
    total = np.cumsum(expected)
    edges = [0]
    while edges[-1] < len(expected):
        base = total[edges[-1] - 1] if edges[-1] else 0.0
        edges.append(int(np.searchsorted(total, base + EXPECTED_AT_LEAST)) + 1)
    if len(edges) > 2:
        edges.pop(-2)
    edges[-1] = len(expected)
    starts = edges[:-1]
    return np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)
