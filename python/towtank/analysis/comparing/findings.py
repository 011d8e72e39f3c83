"""Gives the verdict on each figure (measured quantity), based on all loads together and on each load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from towtank.analysis.comparing.failing import RELEVANT, FailureLine
from towtank.analysis.comparing.lines import Line
from towtank.analysis.comparing.runs import Metric, Place

SIGNIFICANCE = 0.05
"""Probability, at most, that a comparison of two equal systems finds a difference in at least one figure, in (0, 1)."""
CONFIDENCE = 0.95
"""Confidence of the intervals of the ratios B / A, in (0, 1)."""
# A and B are the same if the interval of their ratio with this confidence lies within the threshold. A 90 % interval
# corresponds to two one-sided tests at 5 % each.
_EQUIVALENCE = 0.90
_MORE_IS_BETTER = (Metric.THROUGHPUT,)


class Outcome(StrEnum):
    """Verdict on one figure, or on all figures together."""

    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class AtLoad:
    """Comparison of one figure (measured quantity) of A and B at a single load.

    Attributes
    ----------
    load : str
        Load. If A and B have several configurations, the text begins with the configuration.
    ratio, low, high : float or None
        Value of B divided by that of A, with its 95 % interval. [1]
    verdict : Outcome
    chance : float
        Probability of the difference by chance (p-value), adjusted for the number of figures and loads, in [0, 1].
    shares : (float, float) or None
        Shares of failures of A and of B; None for other figures.
    """

    load: str
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Outcome
    chance: float
    shares: tuple[float, float] | None = None

    def document(self) -> dict[str, object]:
        """Return the comparison at this load as JSON, for the key `worst_load` of a finding."""
        return {
            "load": self.load,
            "ratio": {"value": self.ratio, "low": self.low, "high": self.high},
            "verdict": str(self.verdict),
            "chance": self.chance,
            **_shares(self.shares),
        }


@dataclass(frozen=True)
class Finding:
    """Result of the comparison of one figure (measured quantity) of A and B.

    Attributes
    ----------
    name : Metric
    transaction : str or None
        Name of the transaction; None for all transactions together.
    ratio, low, high : float or None
        Value of B divided by that of A, with its 95 % interval, over all loads. [1]
    verdict : Outcome
        Verdict, based on all loads together and on each load.
    chance : float
        Probability of the difference by chance (p-value), adjusted for the number of figures and loads, in [0, 1].
    least_detectable : float or None
        Smallest relative change that this number of runs detects in four of five cases. [1]
    runs : (int, int)
        Numbers of runs of A and of B. [1]
    shares : (float, float) or None
        Shares of failures of A and of B; None for other figures.
    worst : AtLoad or None
        Comparison at the load where B is worst in comparison with A; None if there is a single load.
    """

    name: Metric
    transaction: str | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Outcome
    chance: float
    least_detectable: float | None
    runs: tuple[int, int]
    shares: tuple[float, float] | None = None
    worst: AtLoad | None = None

    def document(self) -> dict[str, object]:
        """Return the finding as JSON, for the list `metrics` of a comparison."""
        return {
            "name": str(self.name),
            "transaction": self.transaction,
            "ratio": {"value": self.ratio, "low": self.low, "high": self.high},
            "verdict": str(self.verdict),
            "chance": self.chance,
            "least_detectable": self.least_detectable,
            "runs": list(self.runs),
            "worst_load": None if self.worst is None else self.worst.document(),
            **_shares(self.shares),
        }


def _shares(shares: tuple[float, float] | None) -> dict[str, object]:
    return {} if shares is None else {"share_a": shares[0], "share_b": shares[1]}


def finding_of(line: Line, chances: Mapping[str | None, float], threshold: float, least: float | None) -> Finding:
    """Return the finding on one figure.

    Parameters
    ----------
    chances : dict
        Adjusted p-values by cell (configuration and load). The key None stands for all cells together.
    least : float or None
        Smallest relative change that the comparison detects. [1]
    """
    whole, parts = _at_load(line, chances, threshold), [_at_load(cell, chances, threshold) for cell in line.cells]
    downwards = -1 if line.place.metric in _MORE_IS_BETTER else 1
    worst = _worst(parts, [downwards * cell.difference for cell in line.cells])
    verdict = _together(whole.verdict, parts)
    transaction = line.place.transaction or None
    bounds = (whole.ratio, whole.low, whole.high)
    return Finding(line.place.metric, transaction, *bounds, verdict, whole.chance, least, line.runs, worst=worst)


def finding_without_ratio(place: Place, runs: tuple[int, int]) -> Finding:
    """Return an undecided finding for a response time without a ratio. The response time is 0, below the resolution of
    the clock, in a run.
    """
    transaction = place.transaction or None
    return Finding(place.metric, transaction, None, None, None, Outcome.UNDECIDED, 1.0, None, runs)


def finding_of_failures(line: FailureLine, chances: Mapping[str | None, float], threshold: float) -> Finding:
    """Return the finding on the shares of failed transactions."""
    whole, parts = _failing(line, chances, threshold), [_failing(cell, chances, threshold) for cell in line.cells]
    worst = _worst(parts, [cell.difference for cell in line.cells])
    # A small difference without an interval does not count at a single load. Its failures count in the comparison over
    # all loads.
    judged = [
        part
        for part, cell in zip(parts, line.cells, strict=True)
        if cell.low is not None or abs(cell.difference) >= RELEVANT
    ]
    verdict = _together(whole.verdict, judged)
    transaction = line.transaction or None
    return Finding(
        Metric.ERRORS, transaction, line.ratio, None, None, verdict, whole.chance, None, line.runs, whole.shares, worst
    )


def _together(whole: Outcome, parts: Sequence[AtLoad]) -> Outcome:
    """Return the verdict on a figure, based on its mean over the loads and on each load.

    Single loads are included, because the mean may hide a change at one load.
    """
    found = {whole, *(part.verdict for part in parts)}
    for outcome in (Outcome.WORSE, Outcome.BETTER, Outcome.UNDECIDED):
        if outcome in found:
            return outcome
    return Outcome.SAME


def _worst(parts: Sequence[AtLoad], harms: Sequence[float]) -> AtLoad | None:
    if not parts:
        return None
    ranked = zip((part.verdict is Outcome.WORSE for part in parts), harms, range(len(parts)), strict=True)
    return parts[max(ranked)[2]]


def _at_load(line: Line, chances: Mapping[str | None, float], threshold: float) -> AtLoad:
    chance = chances.get(line.cell, 1.0)
    bounds = line.interval(CONFIDENCE)
    low, high = bounds if bounds is not None else (None, None)
    rises = line.ratio > 1
    verdict = Outcome.UNDECIDED
    # A ratio r and its inverse 1 / r are changes of the same size, so |ln r| is compared with the threshold.
    beyond_chance = chance < SIGNIFICANCE and bounds is not None and not bounds[0] <= 1 <= bounds[1]
    if beyond_chance and abs(line.difference) >= math.log1p(threshold):
        verdict = Outcome.BETTER if rises == (line.place.metric in _MORE_IS_BETTER) else Outcome.WORSE
    # If the resolution of the values is coarser than the threshold, a change below the threshold cannot be shown.
    elif line.step <= threshold and _is_within(line.interval(_EQUIVALENCE), threshold):
        verdict = Outcome.SAME
    return AtLoad(line.cell or "", line.ratio, low, high, verdict, chance)


def _is_within(bounds: tuple[float, float] | None, threshold: float) -> bool:
    return bounds is not None and bounds[0] >= 1 / (1 + threshold) and bounds[1] <= 1 + threshold


def _failing(line: FailureLine, chances: Mapping[str | None, float], threshold: float) -> AtLoad:
    chance = chances.get(line.cell, 1.0)
    ratio, verdict = line.ratio, Outcome.UNDECIDED
    matters = abs(line.difference) >= RELEVANT and (
        ratio is None or not ratio or abs(math.log(ratio)) >= math.log1p(threshold)
    )
    if chance < SIGNIFICANCE and matters:
        verdict = Outcome.WORSE if line.difference > 0 else Outcome.BETTER
    elif line.low is not None and line.high is not None and line.low > -RELEVANT and line.high < RELEVANT:
        verdict = Outcome.SAME
    return AtLoad(line.cell or "", ratio, None, None, verdict, chance, (line.share_a, line.share_b))
