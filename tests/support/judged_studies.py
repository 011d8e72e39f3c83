"""Summaries of studies and judged claims, as `conclude` reads them."""

from __future__ import annotations

from typing import Any

from towtank.analysis.conclusion import conclude
from towtank.conclusion_words import Conclusion


def estimate(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "method": "runs", "n": 3, "confidence": 0.95}


def claim(says: str, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a judged claim about the ratio of two throughputs, 1.28 (1.16 to 1.41)."""
    given = {"of": "throughput", "at": {"settings": "all"}, "to": {"settings": "default"}}
    known: dict[str, Any] = {"holds": "> 1.1", "measure": {"ratio": given}, "measured": estimate(1.28, 1.16, 1.41)}
    return {"says": says, "verdict": verdict, "unit": "", "found": None, "suspect_runs": [], **known, **more}


def configuration(
    level: str, throughput: float, runs: int = 3, verdict: str = "valid", load: int = 150
) -> dict[str, Any]:
    """Return a configuration with one load level, at which no limit was reached."""
    point = {
        "users": load,
        "load": load,
        "stage": None,
        "runs": [f"{level}{number}" for number in range(runs)],
        "verdicts": [verdict] * runs,
        "throughput_per_s": estimate(throughput, throughput - 1, throughput + 1),
        "response_time_s": {"mean": estimate(0.1, 0.09, 0.11), "p95": estimate(0.2)},
    }
    limit = {"kind": "undecided", "reached": None, "resource": None}
    return {"key": {"settings": level}, "label": f"settings {level}", "points": [point], "limit": limit}


def study(*counts: int, runs: int = 3, configurations: int = 5, **more: Any) -> dict[str, Any]:
    """Return the summary of a study; `counts` are its valid, suspect, invalid and missing runs."""
    levels = ("default", "threads", "pools", "all", "no_index")[:configurations]
    states = zip(("valid", "suspect", "invalid", "missing"), (*counts, 0, 0, 0), strict=False)
    return {
        "configurations": [configuration(level, 100.0 + place, runs) for place, level in enumerate(levels)],
        "comparisons": [],
        "objectives": [],
        "verdict": {"level": "valid", "reasons": [], **{f"{state}_runs": number for state, number in states}},
        **more,
    }


def concluded(*claims: dict[str, Any], summary: dict[str, Any] | None = None, **more: Any) -> Conclusion:
    return conclude(summary or study(15), {"claims": list(claims)}, **more)
