"""Claims in the words of the exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank import units
from towtank.estimates import duration_in_words, in_words

WORDS = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "undecided": "undecided",
    "not_testable": "not testable here",
}
_ABSENT = "–"


def measured(claim: Mapping[str, Any]) -> str:
    """What was measured, with its interval."""
    if claim["found"] is not None:
        others = [level for level in claim["may_be"] if level != claim["found"]]
        return f"{claim['found']} (or {', '.join(others)})" if others else str(claim["found"])
    estimate = claim["measured"]
    if estimate is None or estimate["value"] is None:
        return _ABSENT
    unit = "" if claim["levels"] else str(claim["unit"])
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    text = _shown(value, unit) if low is None or high is None else _with_interval(value, low, high, unit)
    return f"last to first {text}" if claim["levels"] else text


def _with_interval(value: float, low: float, high: float, unit: str) -> str:
    if unit == "s":
        return duration_in_words(value, low, high)
    if unit == "B/s":
        name = units.format_size(abs(value)).rpartition(" ")[2]
        size = float(units.SIZE_UNITS[name])
        value, low, high, unit = value / size, low / size, high / size, f"{name}/s"
    return in_words(value, low, high, unit)


def _shown(value: float, unit: str) -> str:
    short = float(f"{value:.3g}")
    if unit == "s" and short > 0:
        return units.format_duration(short)
    if unit == "B/s" and short > 0:
        return units.format_data_rate(short)
    return f"{short:g}{f' {unit}' if unit else ''}"
