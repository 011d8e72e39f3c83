"""Renders claims for terminal, report, JSON and exports: the measured value, and sentences that explain the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank import units
from towtank.estimates import duration_unit, few_digits, in_words, is_zero, says_nothing

WORDS = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "undecided": "undecided",
    "not_testable": "not testable here",
}
ANSWERED = ("confirmed", "refuted")
_ABSENT = "–"
Claim = Mapping[str, Any]


def measured(claim: Claim) -> str:
    """Render the measured value of a claim, with its confidence interval."""
    if claim["found"] is not None:
        others = [level for level in claim["may_be"] if level != claim["found"]]
        return f"{claim['found']} (or {', '.join(others)})" if others else str(claim["found"])
    estimate = claim["measured"]
    if estimate is None or estimate["value"] is None:
        return _ABSENT
    text = estimate_text(estimate, "" if claim["levels"] else str(claim["unit"]))
    return f"last to first {text}" if claim["levels"] else text


def estimate_text(estimate: Mapping[str, Any], unit: str) -> str:
    """Render an estimate in the unit of a claim, with its confidence interval if known: `200 (80 to 320) ms`.

    The bounds of the interval decide the verdict, so even a very wide interval is shown, unlike in `estimates`.

    Examples
    --------
    >>> estimate_text({"value": 0.2, "low": 0.08, "high": 0.32}, "s")
    '200 (80 to 320) ms'
    >>> estimate_text({"value": 22.0, "low": 6.0, "high": 3200.0}, "")
    '22 (6 to 3,200)'
    """
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    return number_text(value, unit) if low is None or high is None else _with_interval(value, low, high, unit)


def _with_interval(value: float, low: float, high: float, unit: str) -> str:
    if unit == "s":
        length, unit = duration_unit(value or max(abs(low), abs(high)))
        value, low, high = value / length, low / length, high / length
    if unit == "B/s":
        name = units.format_size(abs(value)).rpartition(" ")[2]
        size = float(units.SIZE_UNITS[name])
        value, low, high, unit = value / size, low / size, high / size, f"{name}/s"
    if says_nothing(value, low, high, unit):
        shown, lowest, highest = ("0" if is_zero(each, high) else few_digits(each, 2) for each in (value, low, high))
        return f"{shown} ({lowest} to {highest}){unit and ' '}{unit}"
    return in_words(value, low, high, unit)


def number_text(value: float, unit: str) -> str:
    """Render a number in the unit of a claim, without a confidence interval, with three significant digits."""
    short = float(f"{value:.3g}")
    if unit == "s" and short > 0:
        return units.format_duration(short)
    if unit == "B/s" and short > 0:
        return units.format_data_rate(short)
    return f"{few_digits(value)}{f' {unit}' if unit else ''}".replace("-", "−")


def sentence(claim: Claim) -> str:
    """Render a claim with its verdict, the expected and the measured value, doubts and the next step, in sentences.

    Parameters
    ----------
    claim : dict
        An entry of `claims.json`.

    Examples
    --------
    >>> mean = {"value": 0.9, "low": 0.7, "high": 1.1}
    >>> claim = {"says": "The mean is short.", "verdict": "undecided", "asks": "mean", "holds": "< 1 s", "unit": "s"}
    >>> claim |= {"measured": mean, "found": None, "may_be": [], "levels": [], "doubts": []}
    >>> claim |= {"why": "the interval crosses what must hold", "do": "repeat the runs"}
    >>> for part in sentence(claim).split(". "):
    ...     print(part)
    Not answered: The mean is short
    Expected < 1 s, found 900 (700 to 1,100) ms (mean), because the interval crosses what must hold
    Do: repeat the runs.
    """
    parts = (f"{_head(claim)}: {claim['says']}", _expected_and_found(claim) + _because(claim), *_notes(claim))
    return " ".join(map(_stop, parts))


def answer(claim: Claim) -> str:
    """Render the verdict on a claim with its reason, doubts and the next step, but without the values."""
    return " ".join(map(_stop, (_head(claim) + _because(claim), *_notes(claim))))


def _head(claim: Claim) -> str:
    return WORDS[claim["verdict"]].capitalize() if claim["verdict"] in ANSWERED else "Not answered"


def _expected_and_found(claim: Claim) -> str:
    if not claim["holds"]:
        return "Not tested"
    value = measured(claim)
    if value == _ABSENT:
        return f"Expected {claim['holds']} ({claim['asks']}), not tested"
    return f"Expected {claim['holds']}, found {value} ({claim['asks']})"


def _because(claim: Claim) -> str:
    return f", because {str(claim['why']).rstrip('.')}" if claim["why"] else ""


def _notes(claim: Claim) -> list[str]:
    notes = [("Doubt", "; ".join(claim.get("doubts") or ())), ("Do", str(claim.get("do") or ""))]
    return [f"{head}: {text}" for head, text in notes if text]


def _stop(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
