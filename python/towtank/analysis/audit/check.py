"""Defines the result of a test of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.goodness import Goodness
from towtank.analysis.statistics.histograms import BadHistogramError, Histogram

MIX, SHARES, THINK = "mix", "group shares", "think time"
NUMBER, GAPS, SECONDS = "number of arrivals", "gaps between arrivals", "arrivals per second"
NO_ARRIVALS = "no arrivals were recorded"
Values = Mapping[str, object]
"""Requested or recorded values of a test, by name."""


@dataclass(frozen=True)
class AuditTest:
    """Test of the audit in a run summary; `group` and `stage` are None if the test covers all of them."""

    test: str
    group: str | None
    stage: str | None
    method: str
    statistic: float | None
    degrees_of_freedom: int | None
    p_value: float
    n: int
    asked: Values
    seen: Values
    verdict: str


@dataclass(frozen=True)
class Untested:
    """Test of the audit that was not possible, with the reason."""

    test: str
    group: str | None
    stage: str | None
    why: str


@dataclass(frozen=True)
class Check:
    """Result of one test of the audit, with the requested and the recorded values.

    Attributes
    ----------
    about : str
        Subject of the test, such as `MIX`.
    group : str or None
        User group; None if the test covers all groups.
    stage : str or None
        Stage of the load, for tests of arrivals; otherwise None.
    outcome : Goodness or None
        Test statistic and p-value; None if the test was not possible. `why` then gives the reason.
    """

    about: str
    group: str | None = None
    stage: str | None = None
    asked: Values = field(default_factory=dict)
    seen: Values = field(default_factory=dict)
    outcome: Goodness | None = None
    why: str = ""

    def tested(self, level: float) -> AuditTest:
        """Return the result of the test for a run summary. `level` is the significance level of the verdict."""
        assert self.outcome is not None
        found, verdict = self.outcome, "suspect" if self.outcome.p_value < level else "ok"
        numbers = (found.method, found.statistic, found.freedom, found.p_value, found.n)
        return AuditTest(self.about, self.group, self.stage, *numbers, self.asked, self.seen, verdict)


def merged(encoded: list[str]) -> Histogram | None:
    """Merge all readable histograms into one; None if there is no value. Unreadable histograms are skipped; the check
    of damaged data reports them.
    """
    found: list[Histogram] = []
    for text in encoded:
        try:
            histogram = histograms.decode(text)
        except BadHistogramError:
            continue
        if not found or histogram.layout == found[0].layout:
            found.append(histogram)
    whole = histograms.merge(found)
    return whole if whole is not None and whole.total else None
