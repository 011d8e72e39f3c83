"""Selects the statements that answer the question of a study, and lists the parts without an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from towtank.analysis import narrative
from towtank.analysis.claims.judging import OTHER_STUDY
from towtank.analysis.claims.next_steps import CONTAINS
from towtank.analysis.claims.places import INVALID
from towtank.analysis.conclusion.judged_claims import JudgedClaim
from towtank.analysis.conclusion.quantity_words import objective_words
from towtank.digging import dig

STATEMENTS = 3
"""Largest number of statements in an answer. [1]"""
_OPEN = 2
"""Largest number of reasons for which an answer names claims without an answer. [1]"""
# Common reason of several claims that need the same step.
_REASONS = {INVALID: "all runs that they need are invalid"}
_NAMED = 5
"""Largest number of further refuted claims that an answer states in words. [1]"""
_OPERATIONS = re.compile(
    r"\b(throughput|carr(y|ies)|scales?|sustains?|capacity|get through|(operations|requests) a second)\b"
)
"""Words with which a question asks for throughput."""


def by_weight(claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """Return the confirmed and refuted claims, the most important first.

    Required claims are first, then claims with a consequence, then refuted ones, then those that do not depend on
    suspect runs. Otherwise the order of the study decides.
    """
    return sorted(
        (claim for claim in claims if claim.is_answered),
        key=lambda claim: (not claim.required, not claim.follows, claim.verdict != "refuted", claim.leans),
    )


def statements(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> tuple[list[str], str]:
    """Return the most important statements of a study, and a sentence that counts the others; both without full stops.

    A study without claims has a statement for each configuration. A statement of its own lists the other refuted
    claims.
    """
    if not claims:
        return narrative.answers(dict(summary)), ""
    throughputs = narrative.throughputs(dict(summary)) if _is_about_throughput(summary) else ""
    chosen = [*_missed(summary), *filter(None, [throughputs])]
    ordered = by_weight(claims)
    shown = ordered[: max(1, STATEMENTS - len(chosen))]
    chosen = [*chosen[: STATEMENTS - len(shown)], *(claim.sentence for claim in shown)]
    if not chosen:
        return [_nothing(summary, claims)], ""
    others = ordered[len(shown) :]
    return [*chosen, *_refuted(others)], _further(others, summary)


def _is_about_throughput(summary: Mapping[str, object]) -> bool:
    """Return True if the question asks for throughput, or if a configuration has several load levels."""
    if _OPERATIONS.search(str(dig(summary, "question") or "").lower()):
        return True
    found = dig(summary, "configurations") or ()
    return any(len(dig(each, "points") or ()) > 1 or dig(each, "found_limit") for each in found)


def _refuted(claims: Sequence[JudgedClaim]) -> list[str]:
    """Return a statement that lists refuted claims in words; empty if there is none."""
    refuted = [claim for claim in claims if claim.verdict == "refuted"]
    if len(refuted) == 1:
        return [refuted[0].sentence]
    parts = [f"{claim.short} (No. {claim.number})" for claim in refuted[:_NAMED]]
    if left := refuted[_NAMED:]:
        parts.append(f"{len(left)} more (No. {numbers(left)})")
    return [f"Refuted: {len(refuted)} claims do not hold here: {'; '.join(parts)}"] if parts else []


def _nothing(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> str:
    """Return the statement of a study whose claims all have no answer."""
    counts = [dig(summary, "verdict", f"{level}_runs") or 0 for level in ("valid", "suspect", "invalid")]
    head = "The claim has no answer" if len(claims) == 1 else f"None of the {len(claims)} claims has an answer"
    return f"{head}: {counts[2]} of {sum(counts)} runs are invalid" if counts[2] else head


def _missed(summary: Mapping[str, object]) -> list[str]:
    """Return a statement about the objectives that are missed; empty if none is."""
    missed = [objective for objective in dig(summary, "objectives") or () if dig(objective, "met") is False]
    if not missed:
        return []
    text = objective_words(str(dig(missed[0], "text")))
    where = f" with {dig(missed[0], 'label')}" if dig(missed[0], "configuration") else ""
    upto = dig(missed[0], "holds_up_to")
    holds = "" if upto is None else f", met up to a load of {upto:,.10g}"
    more = f"; {len(missed) - 1} more missed" if len(missed) > 1 else ""
    return [f"Objective missed: {text}{where}{holds}{more}"]


def _further(claims: Sequence[JudgedClaim], summary: Mapping[str, object]) -> str:
    """Count the confirmed claims and the objectives that the statements do not contain; empty if there are none."""
    confirmed = sum(claim.verdict == "confirmed" for claim in claims)
    parts = [f"{confirmed} claim{'s' * (confirmed > 1)} confirmed"] if confirmed else []
    met = [dig(objective, "met") for objective in dig(summary, "objectives") or ()]
    if any(met):
        number = met.count(True)
        every = {1: "1", 2: "both"}.get(number, f"all {number}") if all(met) else str(number)
        parts.append(f"{every} objective{'s' * (number > 1)} met")
    return f"Further: {', '.join(parts)}" if parts else ""


def unanswered(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> list[str]:
    """Return sentences without full stops about the parts of the question without an answer, each with its reason.

    Undecided claims have a sentence each, and claims that cannot be tested one for each reason. Claims that need
    another system are counted only.
    """
    if not claims:
        return narrative.unanswered(dict(summary))
    found = [_undecided(claim) for claim in claims if claim.verdict == "undecided"]
    reasons: dict[str, list[JudgedClaim]] = {}
    for claim in claims:
        if claim.verdict == "not_testable" and claim.do != OTHER_STUDY:
            why = _REASONS.get(claim.do, claim.why.rstrip("."))
            reasons.setdefault(why, []).append(claim)
    found += [_untested(why, same) for why, same in reasons.items()]
    elsewhere = sum(claim.verdict == "not_testable" and claim.do == OTHER_STUDY for claim in claims)
    other = {0: [], 1: ["1 claim needs another system"]}.get(elsewhere, [f"{elsewhere} claims need other systems"])
    left = len(found) - _OPEN
    if left <= 1:
        return [*found, *other]
    rest = sum(map(len, [*([each] for each in claims if each.verdict == "undecided"), *reasons.values()][_OPEN:]))
    return [*found[:_OPEN], f"{rest} further claims have no answer", *other]


def _undecided(claim: JudgedClaim) -> str:
    value, limits = claim.value_words, claim.limits_within
    if claim.why == CONTAINS and value and limits:
        close = f"too close to call; {value}, and the interval contains the limit {limits}"
        return f"{claim.short}: {close} (No. {claim.number})"
    seen = f" ({value}, expected {claim.expected})" if value else ""
    return f"{claim.short}{seen}: {claim.why.rstrip('.')} (No. {claim.number})"


def _untested(why: str, claims: Sequence[JudgedClaim]) -> str:
    """State why claims cannot be tested. A single claim has its own reason, and several are named by their numbers."""
    first = claims[0]
    if len(claims) == 1:
        return f"{first.short}: {first.why.rstrip('.')} (No. {first.number})"
    return f"{len(claims)} claims (No. {numbers(claims)}), such as “{first.short}”: {why}"


def numbers(claims: Sequence[JudgedClaim]) -> str:
    """Render the numbers of claims, such as `3, 4 and 5`."""
    texts = list(map(str, sorted(claim.number for claim in claims)))
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
