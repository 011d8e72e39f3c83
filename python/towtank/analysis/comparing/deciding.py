"""Makes the verdict of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from towtank.analysis.comparing.differing import Difference, differences
from towtank.analysis.comparing.failing import RELEVANT, FailureLine, failure_line
from towtank.analysis.comparing.family import chances_of, holm, spread
from towtank.analysis.comparing.lines import Line, line_of
from towtank.analysis.comparing.runs import Metric, Place, Side, alike
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.distributions import t_quantile

SCHEMA = "towtank/compare/1"
THRESHOLD = 0.02
"""Smallest change that matters, relative. [1]"""
SIGNIFICANCE = 0.05
"""Probability that any figure of two equal systems is found to differ. [1]"""
_CONFIDENCE = 0.95
# An equivalence at 5 % needs both one-sided tests, and so the 90 % interval within the threshold.
_EQUIVALENCE = 0.90
_POWER = 0.80
_RUNS_AT_MOST = 10_000
_HEADLINE = (Metric.THROUGHPUT, Metric.MEAN, Metric.CPU)
_MORE_IS_BETTER = (Metric.THROUGHPUT,)


class Outcome(StrEnum):
    """Verdict on a figure, or on all of them."""

    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """One compared figure.

    Attributes
    ----------
    name : Metric
    transaction : str or None
        None for all transactions together.
    ratio, low, high : float or None
        B over A with its 95 % interval. [1]
    verdict : Outcome
    chance : float
        Probability of the difference by chance, adjusted for the number of figures, in [0, 1].
    least_detectable : float or None
        Relative change that this many runs find in four of five cases. [1]
    runs : (int, int)
        Runs of A and of B. [1]
    shares : (float, float) or None
        Shares of failures of A and of B.
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

    def document(self) -> dict[str, object]:
        """Return the finding as JSON, an entry of `metrics`."""
        shares = {} if self.shares is None else {"share_a": self.shares[0], "share_b": self.shares[1]}
        return {
            "name": str(self.name),
            "transaction": self.transaction,
            "ratio": {"value": self.ratio, "low": self.low, "high": self.high},
            "verdict": str(self.verdict),
            "chance": self.chance,
            "least_detectable": self.least_detectable,
            "runs": list(self.runs),
            **shares,
        }


@dataclass(frozen=True)
class Compared:
    """Result of a comparison.

    Attributes
    ----------
    a, b : Side
    threshold : float
        Smallest change that matters, relative. [1]
    verdict : Outcome
    findings : tuple of Finding
    least_detectable : float or None
        Of the mean response time, or else of the throughput, over all transactions. [1]
    runs_needed : int or None
        Runs a side that would probably decide; None if all is decided, or if that is not known. [1]
    """

    a: Side
    b: Side
    threshold: float
    verdict: Outcome
    findings: tuple[Finding, ...]
    least_detectable: float | None
    runs_needed: int | None

    @property
    def is_invalid(self) -> bool:
        """True if a side has no run that is valid or suspect."""
        return not (self.a.usable and self.b.usable)

    @property
    def is_worse(self) -> bool:
        """True if B is worse: a regression beyond chance, and at least as large as the threshold."""
        return self.verdict is Outcome.WORSE

    @property
    def doubts(self) -> list[str]:
        """Reasons not to trust the comparison, as text: runs left out, and suspect ones."""
        return [
            f"{run.name} is {'left out, since it is not valid' if run.verdict == 'invalid' else 'suspect'}"
            f"{': ' if run.reasons else ''}{run.reasons[0] if run.reasons else ''}"
            for side in (self.a, self.b)
            for run in side.runs
            if run.verdict != "valid"
        ]

    @property
    def differs_in(self) -> list[Difference]:
        """Configuration and environment that differ."""
        return differences(self.a.facts, self.b.facts)

    def document(self) -> dict[str, object]:
        """Return the comparison as the JSON document of `towtank compare --json`."""
        return {
            "schema": SCHEMA,
            "verdict": str(self.verdict),
            "valid": not self.is_invalid,
            "a": _counted(self.a),
            "b": _counted(self.b),
            "threshold": self.threshold,
            "metrics": [finding.document() for finding in self.findings],
            "least_detectable": self.least_detectable,
            "runs_needed": self.runs_needed,
            "differs_in": [each._asdict() for each in self.differs_in],
            "doubts": self.doubts,
        }


def _counted(side: Side) -> dict[str, object]:
    left_out = len(side.runs) - len(side.usable)
    return {"name": side.name, "runs": len(side.usable), "left_out": left_out, "lost": len(side.lost)}


def compare(a: Side, b: Side, threshold: float = THRESHOLD) -> Compared:
    """Compare two sides.

    Parameters
    ----------
    a, b : Side
    threshold : float, default 0.02
        Smallest change that matters, relative. [1]

    Raises
    ------
    StudyError
        If the sides have no configuration and load in common.

    Notes
    -----
    A figure is worse or better if its difference is significant after Holm's adjustment for the number of figures, its
    95 % interval excludes 1, and the difference is at least the threshold. It is the same if the 90 % interval of its
    ratio lies within the threshold on both sides (two one-sided tests at 5 % [1]_). Otherwise it is undecided. All
    together are worse if any figure is, else better if any is, else the same if throughput, mean response time and CPU
    time over all transactions are.

    A run with failures above its limit is invalid, and so a system that fails would lose its bad runs and keep its good
    ones. The failures are therefore compared over these runs, too; and if B lost a larger share of its runs in this way
    than A, all together are neither the same nor better.

    References
    ----------
    .. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
           equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680, 1987.
    """
    a, b = alike(a, b)
    lines, failures = _lines(a, b)
    tested = [line for line in failures if line.share_a or line.share_b]
    adjusted = holm([*chances_of(lines), *(line.chance for line in tested)])
    by_transaction = {line.transaction: chance for line, chance in zip(tested, adjusted[len(lines) :], strict=True)}
    findings = [
        *(_finding(line, chance, threshold) for line, chance in zip(lines, adjusted, strict=False)),
        *(_of_failures(line, by_transaction.get(line.transaction, 1.0), threshold) for line in failures),
    ]
    verdict = _verdict(findings, b.lost_share > a.lost_share)
    headline = _headline(lines)
    needed = None if verdict is not Outcome.UNDECIDED else _needed(lines, threshold)
    least = None if headline is None else _least(headline)
    return Compared(a, b, threshold, verdict, tuple(findings), least, needed)


def _lines(a: Side, b: Side) -> tuple[list[Line], list[FailureLine]]:
    places = sorted({place for run in a.usable for place in run.figures}, key=_order)
    lines = [line for place in places if (line := line_of(place, a.usable, b.usable)) is not None]
    names = sorted({name for run in a.counted for name in run.failures})
    failures = [failure_line(name, a.counted, b.counted) for name in names]
    return lines, [line for line in failures if line is not None]


def _order(place: Place) -> tuple[str, int]:
    """Return the rank of a figure: all transactions first."""
    return place.transaction, list(Metric).index(place.metric)


def _headline(lines: Sequence[Line]) -> Line | None:
    """Return the mean response time over all transactions, or else the throughput."""
    found = {line.place: line for line in lines}
    return found.get(Place(Metric.MEAN)) or found.get(Place(Metric.THROUGHPUT))


def _finding(line: Line, chance: float, threshold: float) -> Finding:
    bounds = line.interval(_CONFIDENCE)
    low, high = bounds if bounds is not None else (None, None)
    rises = line.ratio > 1
    verdict = Outcome.UNDECIDED
    # The threshold is that of a ratio and of its inverse: a change and its reverse are equally large.
    beyond_chance = chance < SIGNIFICANCE and bounds is not None and not bounds[0] <= 1 <= bounds[1]
    if beyond_chance and abs(line.difference) >= math.log1p(threshold):
        verdict = Outcome.BETTER if rises == (line.place.metric in _MORE_IS_BETTER) else Outcome.WORSE
    elif _is_within(line.interval(_EQUIVALENCE), threshold):
        verdict = Outcome.SAME
    transaction = line.place.transaction or None
    return Finding(line.place.metric, transaction, line.ratio, low, high, verdict, chance, _least(line), line.runs)


def _is_within(bounds: tuple[float, float] | None, threshold: float) -> bool:
    return bounds is not None and bounds[0] >= 1 / (1 + threshold) and bounds[1] <= 1 + threshold


def _of_failures(line: FailureLine, chance: float, threshold: float) -> Finding:
    ratio, verdict = line.ratio, Outcome.UNDECIDED
    matters = abs(line.difference) >= RELEVANT and (
        ratio is None or not ratio or abs(math.log(ratio)) >= math.log1p(threshold)
    )
    if chance < SIGNIFICANCE and matters:
        verdict = Outcome.WORSE if line.difference > 0 else Outcome.BETTER
    elif line.low is not None and line.high is not None and line.low > -RELEVANT and line.high < RELEVANT:
        verdict = Outcome.SAME
    shares = (line.share_a, line.share_b)
    transaction = line.transaction or None
    return Finding(Metric.ERRORS, transaction, ratio, None, None, verdict, chance, None, line.runs, shares)


def _verdict(findings: Sequence[Finding], is_selected: bool) -> Outcome:
    """Return the verdict of all; `is_selected` if B lost more of its runs than A, so that the better ones are left."""
    outcomes = {finding.verdict for finding in findings}
    if Outcome.WORSE in outcomes or is_selected:
        return Outcome.WORSE if Outcome.WORSE in outcomes else Outcome.UNDECIDED
    if Outcome.BETTER in outcomes:
        return Outcome.BETTER
    headline = [each.verdict for each in findings if each.transaction is None and each.name in _HEADLINE]
    return Outcome.SAME if headline and set(headline) == {Outcome.SAME} else Outcome.UNDECIDED


def _least(line: Line) -> float | None:
    """Return the relative change of one figure that is found in four of five cases; None if no side is repeated."""
    error = line.error()
    if error is None or line.freedom <= 0:
        return None
    half = (t_quantile(1 - SIGNIFICANCE / 2, line.freedom) + t_quantile(_POWER, line.freedom)) * error
    return math.expm1(half) if half < 50 else None


def _needed(lines: Sequence[Line], threshold: float) -> int | None:
    """Return the runs a side that find the largest change seen, or one as large as the threshold if that is larger.

    A side of one run does not show how runs differ: the standard deviation that a study assumes is used, see
    `run_to_run`.
    """
    known = [line for line in lines if line.place.metric in _HEADLINE]
    if not known:
        return None
    line = max(known, key=lambda each: abs(each.difference))
    deviation = spread(line)
    size = max(abs(line.difference), math.log1p(threshold))
    for runs in range(2, _RUNS_AT_MOST):
        freedom = 2 * runs - 2
        quantiles = t_quantile(1 - SIGNIFICANCE / 2, freedom) + t_quantile(_POWER, freedom)
        if quantiles * (ASSUMED_SHARE if deviation is None else deviation) * math.sqrt(2 / runs) <= size:
            # Repeating the runs there are would answer the same.
            return max(runs, min(line.runs) + 1)
    return None
