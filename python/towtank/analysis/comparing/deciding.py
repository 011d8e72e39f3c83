"""Compares two results, A and B, and gives a verdict on all measured quantities (figures) together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from towtank.analysis.comparing.differing import Difference, differences
from towtank.analysis.comparing.failing import FailureLine, failure_line
from towtank.analysis.comparing.family import chances_of, holm
from towtank.analysis.comparing.findings import Finding, Outcome, finding_of, finding_of_failures, finding_without_ratio
from towtank.analysis.comparing.lines import Line, line_of
from towtank.analysis.comparing.power import HEADLINE, Family
from towtank.analysis.comparing.runs import Metric, Place, Side, alike
from towtank.errors import StudyError

_TRANSACTIONS = "transactions"
SCHEMA = "towtank/compare/1"
THRESHOLD = 0.02
"""Default threshold: the smallest relative change that matters in a comparison. [1]"""


@dataclass(frozen=True)
class Compared:
    """Result of a comparison of two results, A and B.

    Attributes
    ----------
    a, b : Side
        The compared results.
    threshold : float
        Smallest relative change that matters. [1]
    verdict : Outcome
        Verdict on all figures together.
    findings : tuple of Finding
        Verdict on each figure.
    least_detectable : float or None
        Smallest relative change of the mean response time over all transactions that the comparison detects. If this
        mean is missing, it is the smallest change of the throughput. [1]
    runs_needed : int or None
        Number of runs per side that would probably lead to a decision. None if the verdict is already decided, or if
        the number is unknown. [1]
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
        """True if all runs of A or all runs of B are invalid, so that nothing can be compared."""
        return not (self.a.usable and self.b.usable)

    @property
    def is_worse(self) -> bool:
        """True if at least one figure of B is significantly worse than that of A, by at least the threshold."""
        return self.verdict is Outcome.WORSE

    @property
    def doubts(self) -> list[str]:
        """Reasons to doubt the comparison: response times of 0, invalid runs and suspect runs."""
        coarse = [
            f"{found.name}{f' of {found.transaction}' if found.transaction else ''} is 0 in a run, below the "
            "resolution of the recorded times, so the comparison has no ratio"
            for found in self.findings
            if found.ratio is None and found.shares is None
        ]
        return coarse + [
            f"{run.name} is {'left out, because it is invalid' if run.verdict == 'invalid' else 'suspect'}"
            f"{': ' if run.reasons else ''}{run.reasons[0] if run.reasons else ''}"
            for side in (self.a, self.b)
            for run in side.runs
            if run.verdict != "valid"
        ]

    @property
    def differs_in(self) -> list[Difference]:
        """Differences between A and B in their transactions, configurations and environments."""
        return differences(_facts(self.a), _facts(self.b))

    @property
    def missing(self) -> tuple[list[str], list[str]]:
        """Two lists: transactions that only B has, and transactions that only A has. Both are empty if the transactions
        of A or B are unknown.
        """
        return missing(self.a, self.b)

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


def _facts(side: Side) -> dict[str, str]:
    names = {_TRANSACTIONS: ", ".join(side.transactions)} if side.transactions else {}
    return {**names, **side.facts}


def _counted(side: Side) -> dict[str, object]:
    left_out = len(side.runs) - len(side.usable)
    return {"name": side.name, "runs": len(side.usable), "left_out": left_out, "lost": len(side.lost)}


def compare(a: Side, b: Side, threshold: float = THRESHOLD) -> Compared:
    """Compare two results, A and B.

    Parameters
    ----------
    a, b : Side
    threshold : float, default 0.02
        Smallest relative change that matters, in (0, 1). [1]

    Raises
    ------
    StudyError
        If the threshold is not between 0 and 1, or if A and B have no configuration and load in common.

    Notes
    -----
    A figure is worse or better if three conditions hold: its difference is significant after Holm's adjustment for the
    number of figures, its 95 % interval excludes 1, and the difference is at least the threshold. A figure is the same
    if the 90 % interval of its ratio lies within the threshold on both sides (two one-sided tests at 5 % [1]_).
    Otherwise it is undecided.

    With several loads or configurations, a figure is tested at each of them and for the mean over them, as one family
    of tests. The figure is worse if any of these tests gives "worse". Otherwise it is better if any test gives
    "better". It is the same if all tests give "same".

    The verdict on all figures together is "worse" if any figure is worse. Otherwise it is "better" if any figure is
    better. It is "same" if throughput, mean response time, CPU time and failures over all transactions are the same.

    A run with too many failures is invalid, so that only the good runs of a failing system would be compared. The
    comparison of failures therefore includes runs that are invalid for this reason. If B has a larger share of these
    runs than A, the verdict on all figures is never "same" or "better". The same applies if a transaction exists only
    in A or only in B, because the comparison then omits this transaction.

    References
    ----------
    .. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
           equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680, 1987.
    """
    if not 0 < threshold < 1:
        raise StudyError.at("compare", f"must be above 0 and below 1, got {threshold} instead", where="threshold")
    a, b = alike(a, b)
    lines, failures = _lines(a, b)
    every = [each for line in lines for each in (line, *line.cells) if each.is_tested]
    tested = [each for line in failures for each in (line, *line.cells) if each.share_a or each.share_b]
    family = Family(every, len(every) + len(tested), threshold)
    findings = sorted([*_findings(family, tested, failures), *_without_ratio(a, b, lines)], key=_order_of)
    verdict = _verdict(findings, b.lost_share > a.lost_share or any(missing(a, b)))
    headline = _headline(lines)
    needed = None if verdict is not Outcome.UNDECIDED else family.runs_needed()
    least = None if headline is None else family.least_of(headline)
    return Compared(a, b, threshold, verdict, tuple(findings), least, needed)


def _findings(family: Family, tested: Sequence[FailureLine], failures: Sequence[FailureLine]) -> list[Finding]:
    """Return the verdicts on all figures. All comparisons, over all loads together and at each load, are one family of
    tests: those of `family`, and the comparisons of failures in `tested`. `failures` covers all loads together.
    """
    every, threshold = family.lines, family.threshold
    adjusted = holm([*chances_of(every), *(each.chance for each in tested)])
    chances: dict[Place, dict[str | None, float]] = defaultdict(dict)
    for each, chance in zip(every, adjusted, strict=False):
        chances[each.place][each.cell] = chance
    for line, chance in zip(tested, adjusted[len(every) :], strict=True):
        chances[Place(Metric.ERRORS, line.transaction)][line.cell] = chance
    return [
        *(
            finding_of(line, chances[line.place], threshold, family.least_of(line))
            for line in every
            if line.cell is None
        ),
        *(finding_of_failures(line, chances[Place(Metric.ERRORS, line.transaction)], threshold) for line in failures),
    ]


def _lines(a: Side, b: Side) -> tuple[list[Line], list[FailureLine]]:
    places = sorted({place for run in a.usable for place in run.figures}, key=_order)
    lines = [line for place in places if (line := line_of(place, a.usable, b.usable)) is not None]
    names = sorted({name for run in a.counted for name in run.failures})
    failures = [failure_line(name, a.counted, b.counted) for name in names]
    return lines, [line for line in failures if line is not None]


def _without_ratio(a: Side, b: Side, lines: Sequence[Line]) -> Iterator[Finding]:
    """Yield a finding for each figure without a ratio B / A. A figure has no ratio if its value is 0 in a run."""
    places = {place for run in a.usable for place in run.figures}
    for place in places - {line.place for line in lines}:
        values = [[run.figures[place].value for run in side.usable if place in run.figures] for side in (a, b)]
        if all(values) and not all(map(all, values)):
            yield finding_without_ratio(place, (len(values[0]), len(values[1])))


def _order_of(finding: Finding) -> tuple[bool, str, int]:
    """Return the sort key of a finding. Findings on failures are last."""
    return finding.name is Metric.ERRORS, *_order(Place(finding.name, finding.transaction or ""))


def _order(place: Place) -> tuple[str, int]:
    """Return the sort key of a figure. Figures of all transactions together are first."""
    return place.transaction, list(Metric).index(place.metric)


def _headline(lines: Sequence[Line]) -> Line | None:
    """Return the comparison of the mean response time over all transactions. If it is missing, return that of the
    throughput.
    """
    found = {line.place: line for line in lines}
    return found.get(Place(Metric.MEAN)) or found.get(Place(Metric.THROUGHPUT))


def missing(a: Side, b: Side) -> tuple[list[str], list[str]]:
    """Return two lists: transactions that only B has, and transactions that only A has. Both are empty if the
    transactions of A or B are unknown.
    """
    if not a.transactions or not b.transactions:
        return [], []
    return (
        [name for name in b.transactions if name not in a.transactions],
        [name for name in a.transactions if name not in b.transactions],
    )


def _verdict(findings: Sequence[Finding], is_selected: bool) -> Outcome:
    """Return the verdict on all figures together.

    `is_selected` is True if the comparison covers only a selection: B lost a larger share of its runs than A, or a
    transaction exists only in A or only in B.
    """
    outcomes = {finding.verdict for finding in findings}
    if Outcome.WORSE in outcomes or is_selected:
        return Outcome.WORSE if Outcome.WORSE in outcomes else Outcome.UNDECIDED
    if Outcome.BETTER in outcomes:
        return Outcome.BETTER
    headline = [each.verdict for each in findings if each.transaction is None and each.name in HEADLINE]
    return Outcome.SAME if headline and set(headline) == {Outcome.SAME} else Outcome.UNDECIDED
