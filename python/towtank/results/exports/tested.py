"""Claims in the words of the exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank import units

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
    text = _shown(estimate["value"], unit)
    if estimate["low"] is not None:
        text += f" ({_shown(estimate['low'], unit)} to {_shown(estimate['high'], unit)})"
    return f"last to first {text}" if claim["levels"] else text


def _shown(value: float, unit: str) -> str:
    short = float(f"{value:.3g}")
    if unit == "s" and short > 0:
        return units.format_duration(short)
    if unit == "B/s" and short > 0:
        return units.format_data_rate(short)
    return f"{short:g}{f' {unit}' if unit else ''}"
