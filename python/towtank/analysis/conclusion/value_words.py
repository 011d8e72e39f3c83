"""Renders the values of claims in words: value, base of a ratio, both values that a ratio compares, and condition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter

from towtank.analysis.claims.verdicts import ClaimVerdict, MeasuredLevel
from towtank.analysis.conclusion.quantity_words import SHARES, comparing_adjective, quantity_words
from towtank.analysis.statistics.estimates import Estimate
from towtank.claim_words import change_words, estimate_text, finite_bounds, is_factor, number_text, percent_words
from towtank.conclusion_words import level_name
from towtank.digging import dig
from towtank.estimates import few_digits
from towtank.study import RATIO_MEASURE, read_metric, unit_of_metric

_INTERVAL = re.compile(r" \([^()]*\)")
# Words for a level in study files, which need an article.
_EXTREMES = ("lowest", "highest", "first", "last")
# Ratio of half an interval to its value below which the interval is not printed. [1]
_NARROW = 0.0005
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def measured_words(claim: ClaimVerdict) -> str:
    """Render the measured value of a claim with its interval, such as `throughput rises to 128 (116 to 141) %`; empty
    without a value.
    """
    kind, given = parts_of(claim)
    of = str(dig(given, "of") or "")
    quantity = quantity_words(of)
    if dig(given, "total_over"):
        quantity = f"total {quantity}"
    if claim.found is not None:
        over = str(dig(given, "over") or "")
        return f"{level_name(over, claim.found)} has the {kind} {quantity}{_ranks(claim, kind, over)}"
    if claim.measured is None or claim.measured.value is None:
        return ""
    if kind == RATIO_MEASURE:
        return f"{quantity} {change_words(claim.measured, bounds_of(claim), comparing_adjective(of))}"
    if kind == "trend":
        return (
            f"{quantity} {change_words(claim.measured, (), comparing_adjective(of))} from the first to the last level"
        )
    return _value(claim, quantity, of, dig(given, "per"))


def base_words(claim: ClaimVerdict) -> str:
    """Render the base of a ratio, such as ` of that with`, followed by a level; empty for other values."""
    kind, given = parts_of(claim)
    if claim.found is not None or claim.measured is None or claim.measured.value is None:
        return ""
    if kind == RATIO_MEASURE:
        to = dig(given, "to") or {}
        places = [level_words(str(factor), level) for factor, level in to.items()]
        link = "as" if is_factor(claim.measured.value, bounds_of(claim)) else "of that"
        return f" {link} with {' and '.join(places)}" if places else ""
    of, per = str(dig(given, "of") or ""), dig(given, "per")
    if kind != "value" or not _has_divisor_of_same_unit(of, per):
        return ""
    if is_of_whole_stage(claim):
        return " of its average over the steady stage"
    return f" of {quantity_words(str(per))}"


def compared_words(claim: ClaimVerdict) -> str:
    """Render both values that a ratio compares, such as `139 /s against 108 /s`; empty for other claims."""
    kind, given = parts_of(claim)
    known = [each for each in claim.compared if each.value is not None]
    if kind != RATIO_MEASURE or len(known) != 2 or dig(given, "per") is not None:
        return ""
    with suppress(ValueError):
        path = read_metric(str(dig(given, "of")))
        here, there = (_short(each, path) for each in known)
        return f"{here} against {there}"
    return ""


def parts_of(claim: ClaimVerdict) -> tuple[str, Mapping[str, object]]:
    """Return the kind of a claim's measure and what it measures; empty without a measure."""
    return next(iter((claim.measure or {}).items()), ("", {}))


def level_words(factor: str, level: object) -> str:
    """Render a level of a factor.

    Examples
    --------
    >>> level_words("settings", "default"), level_words("users", "lowest")
    ('`settings = default`', 'the lowest `users`')
    """
    text = str(level[0] if isinstance(level, list) else level)
    return f"the {text} `{factor}`" if text in _EXTREMES else level_name(factor, text)


def _ranks(claim: ClaimVerdict, kind: str, over: str) -> str:
    """Render the value of the level with the highest or lowest value, and that of the next level; empty if unknown."""
    first, after = ranked_levels(claim, kind)
    if first is None:
        return ""
    own = estimate_text(first.measured, claim.unit)
    if after is None:
        return f": {own}"
    return f": {own}; {level_name(over, after.level)} has {estimate_text(after.measured, claim.unit)}"


def ranked_levels(claim: ClaimVerdict, kind: str) -> tuple[MeasuredLevel | None, MeasuredLevel | None]:
    """Return the level with the highest or lowest value, and the next level; None for levels without a value."""
    known = [(each.measured.value, each) for each in claim.levels if each.measured.value is not None]
    ordered = [each for _, each in sorted(known, key=itemgetter(0), reverse=kind == "highest")]
    place = next((place for place, each in enumerate(ordered) if each.level == claim.found), None)
    if place is None:
        return None, None
    return ordered[place], ordered[place + 1] if place + 1 < len(ordered) else None


def _short(estimate: Estimate, path: Sequence[str]) -> str:
    """Render a value without its interval, which the interval of the ratio replaces."""
    if path[-1] in SHARES:
        return _INTERVAL.sub("", percent_words(estimate))
    assert estimate.value is not None
    return number_text(estimate.value, unit_of_metric(tuple(path)))


def _narrow(estimate: Estimate, unit: str) -> str:
    """Render a value with three digits if its interval has no visible width; empty for all other values."""
    value, low, high = estimate.value, estimate.low, estimate.high
    assert value is not None
    if low is None or high is None or high - low <= 2 * _NARROW * abs(value):
        return number_text(value, unit)
    return ""


def _has_divisor_of_same_unit(of: str, per: object) -> bool:
    """Return True if a quantity is divided by another one with the same unit."""
    if per is None or per == "load":
        return False
    with suppress(ValueError):
        return unit_of_metric(read_metric(str(per))) == unit_of_metric(read_metric(of))
    return False


def is_of_whole_stage(claim: ClaimVerdict) -> bool:
    """Return True if a claim compares a quantity during an event with the same quantity of the whole steady stage."""
    kind, given = parts_of(claim)
    of, per = str(dig(given, "of") or ""), dig(given, "per")
    return kind == "value" and _has_divisor_of_same_unit(of, per) and read_metric(of)[-1:] == read_metric(str(per))


def is_share(of: str) -> bool:
    """Return True if a quantity is the share of failed transactions."""
    with suppress(ValueError):
        return read_metric(of)[-1] in SHARES
    return False


def value_text(claim: ClaimVerdict) -> str:
    """Render the measured value with its interval and unit; a value whose interval has no visible width without it."""
    assert claim.measured is not None
    return _narrow(claim.measured, claim.unit) or estimate_text(claim.measured, claim.unit, bounds_of(claim))


def _value(claim: ClaimVerdict, quantity: str, of: str, per: object) -> str:
    """Render a value or difference: `failed transactions: 85 (79 to 91) %`, or `lost objects: 0`."""
    assert claim.measured is not None
    if per is None and is_share(of):
        return f"{quantity}: {percent_words(claim.measured, bounds_of(claim))}"
    if _has_divisor_of_same_unit(of, per):
        return f"{quantity} is {percent_words(claim.measured, bounds_of(claim))}"
    if per is not None:
        quantity = f"{quantity} per {'unit of load' if per == 'load' else quantity_words(str(per))}"
    return f"{quantity}: {value_text(claim)}"


def bounds_of(claim: ClaimVerdict) -> tuple[float, ...]:
    """Return the finite bounds of the condition of a claim, in the base unit; empty for other conditions."""
    return finite_bounds(claim.holds, claim.unit)


def value_words(claim: ClaimVerdict) -> str:
    """Render the measured value of a claim with its interval and its base; empty without a value."""
    measured = measured_words(claim)
    return f"{measured}{base_words(claim)}" if measured else ""


def expected_words(claim: ClaimVerdict) -> str:
    """Return the condition of a claim, in the unit of `value_words`: as a percentage if the value is one."""
    if not measured_words(claim).endswith("%") or "%" in claim.holds:
        return claim.holds
    return f"{_NUMBER.sub(lambda found: few_digits(100 * float(found[0]), 4), claim.holds)} %"
