"""Defines the result of a test of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.goodness import Goodness
from towtank.analysis.statistics.histograms import BadHistogramError, Histogram

MIX, SHARES, THINK = "mix", "group shares", "think time"
NUMBER, GAPS, SECONDS = "number of arrivals", "gaps between arrivals", "arrivals per second"
NO_ARRIVALS = "no arrivals were recorded"


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
    asked: dict[str, Any] | None = None
    seen: dict[str, Any] | None = None
    outcome: Goodness | None = None
    why: str = ""

    def place(self) -> dict[str, Any]:
        """Return the name, the user group and the stage of a test; group and stage are None if the test covers all of
        them.
        """
        return {"test": self.about, "group": self.group, "stage": self.stage}

    def document(self, level: float) -> dict[str, Any]:
        """Return the result of the test as JSON for a run summary. `level` is the significance level of the verdict."""
        assert self.outcome is not None
        found = self.outcome
        return {
            **self.place(),
            "method": found.method,
            "statistic": found.statistic,
            "degrees_of_freedom": found.freedom,
            "p_value": found.p_value,
            "n": found.n,
            "asked": self.asked or {},
            "seen": self.seen or {},
            "verdict": "suspect" if found.p_value < level else "ok",
        }


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
