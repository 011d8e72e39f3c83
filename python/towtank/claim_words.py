"""Renders claims for terminal, report, JSON and exports: the measured value, and sentences that explain the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from towtank import units
from towtank.claim_bounds import read_bounds
from towtank.digging import dig
from towtank.estimates import duration_unit, few_digits, is_zero, places_of, rounded_text, says_nothing

WORDS = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "undecided": "undecided",
    "not_testable": "not testable here",
}
ANSWERED = ("confirmed", "refuted")
_ABSENT = "–"
_MOST_DIGITS = 12
# Ratio from which a sentence names a factor instead of a percentage. [1]
_FACTOR = 2.0
# Value of an estimate, and the ends of its interval.
_ENDS = ("value", "low", "high")
Claim = Mapping[str, Any]


def measured(claim: Claim) -> str:
    """Render the measured value of a claim, with its confidence interval."""
    if claim["found"] is not None:
        others = [level for level in claim["may_be"] if level != claim["found"]]
        return f"{claim['found']} (or {', '.join(others)})" if others else str(claim["found"])
    estimate = claim["measured"]
    if estimate is None or estimate["value"] is None:
        return _ABSENT
    if claim["levels"]:
        return f"last to first {estimate_text(estimate, '')}"
    unit = str(claim["unit"])
    return estimate_text(estimate, unit, finite_bounds(str(dig(claim, "holds")), unit))


def finite_bounds(holds: str, unit: str) -> tuple[float, ...]:
    """Return the finite bounds in the condition of a claim, in the base unit; none for other conditions."""
    with suppress(ValueError, KeyError):
        found = read_bounds(holds, unit)
        return tuple(bound for bound in (found.low, found.high) if math.isfinite(bound))
    return ()


def estimate_text(estimate: object, unit: str, bounds: Sequence[float] = ()) -> str:
    """Render an estimate in the unit of a claim, with its confidence interval if known: `200 (80 to 320) ms`.

    The estimate may be a JSON object. The ends decide the verdict on the claim. Therefore a wide interval is shown too,
    unlike elsewhere, and the ends have as many digits as show on which side of each of the claim's bounds they lie.

    Examples
    --------
    >>> estimate_text({"value": 0.2, "low": 0.08, "high": 0.32}, "s")
    '200 (80 to 320) ms'
    >>> estimate_text({"value": 22.0, "low": 6.0, "high": 3200.0}, "")
    '22 (6 to 3,200)'
    >>> estimate_text({"value": 0.13, "low": 0.0996, "high": 2.0}, "s", [0.1])
    '130 (99.6 to 2,000) ms'
    >>> [estimate_text({"value": value, "low": low, "high": 51e6}, "B") for value, low in ((48e6, 44e6), (0.0, 0.0))]
    ['45.8 (42.0 to 48.6) MiB', '0 (0 to 49) MiB']
    """
    value, low, high = (dig(estimate, key) for key in _ENDS)
    return number_text(value, unit) if low is None or high is None else _with_interval((value, low, high), unit, bounds)


def change_words(ratio: object, bounds: Sequence[float] = (), adjective: str = "long") -> str:
    """Render a ratio as a change: a factor if the ratio or a bound is 2 or more, otherwise a percentage.

    The digits show on which side of each bound the ends of the interval lie. The adjective compares the quantity, as in
    `4 times as long`.

    Examples
    --------
    >>> change_words({"value": 0.47, "low": 0.25, "high": 0.89})
    'falls to 47 (25 to 89) %'
    >>> change_words({"value": 4.0, "low": 3.5, "high": 4.5})
    'is 4.0 (3.5 to 4.5) times as long'
    """
    value, low, high = (dig(ratio, key) for key in _ENDS)
    if is_factor(value, bounds):
        return f"is {estimate_text(ratio, '', bounds)} times as {adjective}"
    verb = "is" if low is None or high is None or low <= 1 <= high else "rises to" if low > 1 else "falls to"
    return f"{verb} {percent_words(ratio, bounds)}"


def is_factor(value: float, bounds: Sequence[float]) -> bool:
    """Return True if a ratio with these bounds is rendered as a factor, and False if as a percentage."""
    return max(value, *bounds, 0.0) >= _FACTOR


def percent_words(share: object, bounds: Sequence[float] = ()) -> str:
    """Render a share or ratio with its interval as a percentage; `bounds` as in `change_words`.

    Examples
    --------
    >>> percent_words({"value": 0.85, "low": 0.79, "high": 0.91})
    '85 (79 to 91) %'
    """
    ends = {key: None if (end := dig(share, key)) is None else 100 * end for key in _ENDS}
    return f"{estimate_text(ends, '', [100 * bound for bound in bounds])} %"


def _with_interval(numbers: tuple[float, float, float], unit: str, bounds: Sequence[float]) -> str:
    size = 1.0
    if unit == "s":
        size, unit = duration_unit(numbers[0] or max(map(abs, numbers)))
    if unit in ("B", "B/s"):
        name = units.format_size(abs(numbers[0]) or max(map(abs, numbers))).rpartition(" ")[2]
        size, unit = float(units.SIZE_UNITS[name]), f"{name}{unit[1:]}"
    value, low, high = (number / size for number in numbers)
    within = [bound / size for bound in bounds]
    shown, lowest, highest = _texts(value, low, high, unit, within)
    return f"{shown} ({lowest} to {highest}){unit and ' '}{unit}".replace("-", "−")


def _texts(value: float, low: float, high: float, unit: str, bounds: Sequence[float]) -> list[str]:
    """Write a value and the ends of its interval with the fewest digits that suit the interval and show both ends on
    their side of each bound.
    """
    texts: list[str] = []
    for more in range(_MOST_DIGITS):
        write = _writer(value, low, high, unit, more)
        texts = [write(number) for number in (value, low, high)]
        ends = zip((low, high), texts[1:], strict=True)
        if not any(_crosses(end, text, bound) for end, text in ends for bound in bounds):
            break
    return texts


def _writer(value: float, low: float, high: float, unit: str, more: int) -> Callable[[float], str]:
    """Return the function that writes each of the numbers, with some more digits than usual."""
    places = places_of(value, low, high)
    if says_nothing(value, low, high, unit) or (places is None and more):
        digits = (2 if places is not None else 4) + more
        return lambda number: "0" if is_zero(number, high) else few_digits(number, digits)
    return lambda number: rounded_text(number, None if places is None else places + more)


def _crosses(end: float, text: str, bound: float) -> bool:
    """Return True if the written end lies on another side of a bound than the end itself, or on the bound."""
    if math.isinf(end):
        return False
    return _side(end, bound) != _side(float(text.replace(",", "")), bound)


def _side(number: float, bound: float) -> int:
    """Return -1 below a bound, 1 above it, and 0 for a number that differs from it by rounding errors only."""
    return 0 if math.isclose(number, bound, rel_tol=1e-12, abs_tol=1e-15) else 1 if number > bound else -1


def number_text(value: float, unit: str) -> str:
    """Render a number in the unit of a claim, without a confidence interval, with three significant digits."""
    short = float(f"{value:.3g}")
    if unit == "s" and short > 0:
        return units.format_duration(short)
    if unit == "B/s" and short > 0:
        return units.format_data_rate(short)
    if unit == "B" and short > 0:
        return units.format_size(short)
    return f"{few_digits(value)}{f' {unit}' if unit else ''}".replace("-", "−")


def sentence(claim: Claim) -> str:
    """Render an entry of `claims.json` with its verdict, the expected and the measured value, doubts and the next step,
    in sentences.

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
