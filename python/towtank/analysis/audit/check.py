"""One test of the audit, and what all of them need."""

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
    """One test with what was asked and what was seen.

    Attributes
    ----------
    about : str
        One of the names above.
    group : str or None
        User group; None where it is about all.
    stage : str or None
        Stage of the load, of tests of arrivals.
    outcome : Goodness or None
        None where it could not be made; `why` says why.
    """

    about: str
    group: str | None = None
    stage: str | None = None
    asked: dict[str, Any] | None = None
    seen: dict[str, Any] | None = None
    outcome: Goodness | None = None
    why: str = ""

    def place(self) -> dict[str, Any]:
        """What it is about."""
        return {"test": self.about, "group": self.group, "stage": self.stage}

    def document(self, level: float) -> dict[str, Any]:
        """As it stands in a summary."""
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
    """Values of all histograms that can be read; damage is told elsewhere."""
    found: list[Histogram] = []
    for text in encoded:
        try:
            one = histograms.decode(text)
        except BadHistogramError:
            continue
        if not found or one.layout == found[0].layout:
            found.append(one)
    whole = histograms.merge(found)
    return whole if whole is not None and whole.total else None
