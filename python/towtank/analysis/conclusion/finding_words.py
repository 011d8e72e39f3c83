"""Renders decided claims as findings: the claim with its measured value, in one sentence.

A claim that compares in words, such as `takes many times as long`, gets the measured factor in their place. Other
claims are followed by a colon and the value. Every finding names its quantity, such as `mean response time`.
"""

from __future__ import annotations

import re
from contextlib import suppress

from towtank.analysis.claims.verdicts import ClaimVerdict, MeasuredLevel
from towtank.analysis.conclusion.quantity_words import (
    comparing_adjective,
    is_count,
    quantity_words,
    transactions_words,
)
from towtank.analysis.conclusion.value_words import (
    base_words,
    bounds_of,
    compared_words,
    expected_words,
    is_of_whole_stage,
    is_share,
    level_words,
    measured_words,
    parts_of,
    ranked_levels,
    value_text,
    value_words,
)
from towtank.analysis.statistics.estimates import Estimate
from towtank.claim_words import estimate_text, is_factor, percent_words
from towtank.conclusion_words import level_name
from towtank.digging import dig
from towtank.study import RATIO_MEASURE

_LONG = 220
"""Length of a finding from which it does not contain the values that a ratio compares. [characters]"""
_NAMED = 2
"""Largest number of similar claims that a finding lists with their values. [1]"""
_NUMERAL = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|a few|several|many)"
_VERB = r"\b(?:takes?|lasts?|answers?|waits?|needs?|costs?|uses?|carry|carries|serves?) (?:the \w+ )?"
_TIMES = rf"(?:(?:about|more than|at least|up to) )?(?:{_NUMERAL}(?: to {_NUMERAL})? times|twice)"
# Words after a factor, by the adjective that compares the quantity. Only these words show that a claim is about the
# measured ratio: `on a disk twice as large` is not.
_AFTER = {
    "long": r"as long|later|longer",
    "high": r"as much|as many|as high|the (?:operations|requests|throughput)",
    "much": r"as much|the CPU",
}


def finding(claim: ClaimVerdict) -> str:
    """Render a decided claim with its measured value, without its number and without a full stop.

    A refuted claim is quoted, and has the condition that it did not meet.
    """
    if claim.verdict == "refuted":
        value = _value(claim)
        measured = f": measured {value}, expected {expected_words(claim)}" if value else ""
        return f"Refuted: “{claim.short}”{measured}"
    merged, compared = _merged(claim), compared_words(claim)
    if merged:
        name = quantity_words(str(dig(parts_of(claim)[1], "of")))
        whole = f"{merged}: {name} {compared}"
        return whole if compared and len(whole) <= _LONG else f"{merged}, measured as {name}"
    value = _value(claim)
    start = f"{claim.short}: {value}" if value else claim.short
    whole = f"{start}, {compared}"
    return whole if compared and len(whole) <= _LONG else start


def likewise(claim: ClaimVerdict, similar: list[ClaimVerdict]) -> str:
    """Render the levels, and up to two values, of claims that differ from a claim in one level; empty if none.

    A few claims have their values, such as `likewise 10.5 (10.2 to 10.8) times with` and their level.
    """
    if not similar:
        return ""
    factors = [_differing(claim, other) for other in similar]
    if len(similar) > _NAMED or all(other.measured is not None and other.measured.value == 0 for other in similar):
        return f"; likewise with {level_name(factors[0][0], *(level for _, level in factors))}"
    parts = [
        f"{bare_value(other)} with {level_words(factor, level)}"
        for other, (factor, level) in zip(similar, factors, strict=True)
    ]
    return f"; likewise {' and '.join(parts)}"


def is_similar(claim: ClaimVerdict, other: ClaimVerdict) -> bool:
    """Return True if two claims have the same verdict, quantity and condition, and differ in one level only."""
    (kind, mine), (other_kind, theirs) = parts_of(claim), parts_of(other)
    if (claim.verdict, kind, claim.holds) != (other.verdict, other_kind, other.holds):
        return False
    ours, others = ({key: value for key, value in given.items() if key != "at"} for given in (mine, theirs))
    return ours == others and bool(_differing(claim, other)[0])


def _differing(claim: ClaimVerdict, other: ClaimVerdict) -> tuple[str, object]:
    """Return the only factor in whose level two claims differ, and its level in the other claim; empty otherwise."""
    mine, theirs = (dig(parts_of(each)[1], "at") or {} for each in (claim, other))
    if set(mine) != set(theirs):
        return "", ""
    factors = [factor for factor in mine if mine[factor] != theirs[factor]]
    return (str(factors[0]), theirs[factors[0]]) if len(factors) == 1 else ("", "")


def _merged(claim: ClaimVerdict) -> str:
    """Return the claim with the measured factor in place of its words, such as `takes many times as long`; empty if it
    has no such words.
    """
    kind, given = parts_of(claim)
    value = None if claim.measured is None else claim.measured.value
    if kind != RATIO_MEASURE or value is None or not is_factor(value, bounds_of(claim)):
        return ""
    after = _AFTER[comparing_adjective(str(dig(given, "of")))]
    found = re.search(rf"({_VERB}){_TIMES}(?= (?:{after}))", claim.short)
    if found is None:
        return ""
    factor = estimate_text(claim.measured, "", bounds_of(claim))
    return f"{claim.short[: found.start()]}{found[1]}{factor} times{claim.short[found.end() :]}"


def _value(claim: ClaimVerdict) -> str:
    """Render the measured value in a few words, with the name of its quantity."""
    kind, given = parts_of(claim)
    of = str(dig(given, "of") or "")
    if claim.found is not None:
        return _ranked(claim, kind)
    if claim.measured is None or claim.measured.value is None:
        return ""
    if kind == RATIO_MEASURE:
        return _ratio(claim, of)
    if kind != "value" or dig(given, "per") is not None:
        return _part(claim, of) if is_of_whole_stage(claim) else value_words(claim)
    if is_share(of):
        return _failed(claim, transactions_words(of))
    name = quantity_words(of)
    return f"{value_text(claim)} {name}" if is_count(of) else f"{name} is {value_text(claim)}"


def _failed(claim: ClaimVerdict, transactions: str) -> str:
    """Render a share of failed transactions; if none failed, with the end of the interval only."""
    assert claim.measured is not None
    high = claim.measured.high
    if claim.measured.value == 0 and not claim.measured.low:
        least = Estimate(0.0 if high is None else high)
        return f"no {transactions.removesuffix('s')} failed" + (f" (at most {percent_words(least)})" if high else "")
    return f"{percent_words(claim.measured, bounds_of(claim))} of {transactions} failed"


def _part(claim: ClaimVerdict, of: str) -> str:
    """Render the value during an event as a share of the value of the whole steady stage."""
    assert claim.measured is not None
    share = f"{percent_words(claim.measured, bounds_of(claim))} of its average"
    low = claim.measured.low
    name, when = quantity_words(of).split(" while ", 1) if " while " in quantity_words(of) else (quantity_words(of), "")
    if low is not None and low >= 1 and when:
        return f"{name} did not fall while {when}, it was {share}"
    return f"{quantity_words(of)} was {share}"


def _name(claim: ClaimVerdict, of: str) -> str:
    """Return the name of a quantity with a blank after it; empty if the claim contains the name."""
    name = quantity_words(of)
    return "" if name in claim.short else f"{name} "


def _ratio(claim: ClaimVerdict, of: str) -> str:
    assert claim.measured is not None and claim.measured.value is not None
    value, low, high = claim.measured.value, claim.measured.low, claim.measured.high
    bounds, adjective = bounds_of(claim), comparing_adjective(of)
    name = _name(claim, of)
    if is_factor(value, bounds):
        return f"{name}{estimate_text(claim.measured, '', bounds)} times as {adjective}"
    if claim.verdict == "refuted" or low is None or high is None or low <= 1 <= high:
        return f"{measured_words(claim)}{base_words(claim)}"
    rest = Estimate(1 - value, 1 - high, 1 - low) if value < 1 else Estimate(value - 1, low - 1, high - 1)
    change = percent_words(rest, [abs(bound - 1) for bound in bounds])
    than = base_words(claim).replace(" of that with ", " than with ", 1)
    return f"{name}{change} {'lower' if value < 1 else 'higher'}{than}"


def _ranked(claim: ClaimVerdict, kind: str) -> str:
    """Render the level with the highest or lowest value, and the next level, each with its value."""
    given = parts_of(claim)[1]
    of, over = str(dig(given, "of") or ""), str(dig(given, "over") or "")
    first, after = ranked_levels(claim, kind)
    if first is None:
        return f"{kind} {quantity_words(of)} with {level_name(over, claim.found)}"
    own = f"{_name(claim, of)}{_with_value(first, claim.unit, over)}"
    return own if after is None else f"{own}, next {_with_value(after, claim.unit, over)}"


def _with_value(level: MeasuredLevel, unit: str, over: str) -> str:
    return f"{estimate_text(level.measured, unit)} with {level_name(over, level.level)}"


def named_value(claim: ClaimVerdict) -> str:
    """Render the measured value with the name of its quantity, such as `throughput 128 (116 to 141) %` and the base of
    a ratio; empty if unknown.
    """
    kind, given = parts_of(claim)
    if claim.found is not None:
        return _ranked(claim, kind)
    value = bare_value(claim)
    return f"{quantity_words(str(dig(given, 'of') or ''))} {value}" if value else ""


def bare_value(claim: ClaimVerdict) -> str:
    """Render the measured value without any name: a factor, a percentage, or a value with its unit; empty if
    unknown.
    """
    kind, given = parts_of(claim)
    if claim.measured is None or claim.measured.value is None:
        return ""
    if kind == "trend":
        return _against_first(claim.measured, str(dig(given, "of") or ""))
    if kind == RATIO_MEASURE:
        if is_factor(claim.measured.value, bounds_of(claim)):
            return f"{estimate_text(claim.measured, '', bounds_of(claim))} times"
        return f"{percent_words(claim.measured, bounds_of(claim))}{base_words(claim)}"
    with suppress(ValueError):
        if is_share(str(dig(given, "of"))) or measured_words(claim).endswith("%"):
            return f"{percent_words(claim.measured, bounds_of(claim))}{base_words(claim)}"
    return value_text(claim)


def _against_first(ratio: Estimate, of: str) -> str:
    """Render the ratio of the last to the first level of a trend."""
    if is_factor(ratio.value or 0.0, ()):
        return f"{estimate_text(ratio, '')} times as {comparing_adjective(of)} as at the first level"
    return f"{percent_words(ratio)} of that at the first level"
