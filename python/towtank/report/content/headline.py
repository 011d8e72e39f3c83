"""Builds the summary section, which is the first screen or page of the report."""

from __future__ import annotations

import re

from towtank.analysis import not_checked, relaxed_words
from towtank.containment import Failed, attempt
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content import brief, claims
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Callout, Section, Text, paragraph, strong, text
from towtank.report.figures import MAIN
from towtank.report.left_out import left_out_words
from towtank.report.source import Json, Results
from towtank.report.suspects import MARK
from towtank.verdict_words import verdict_words

_REASONS = 3
"""Largest number of doubts in the summary section. [1]"""
LEVELS = {
    "valid": "Valid measurement",
    "suspect": "Suspect measurement",
    "invalid": "No valid measurement",
}
_CLAIMS = {
    "valid": "The numbers may be used within the limits that this report states.",
    "suspect": f"Values marked {MARK} must not be quoted without the doubt about them.",
    "incomplete": "Invalid runs give no values. Other numbers may be used within the limits that this report states.",
    "invalid": "No run supports a conclusion. The numbers help to find the cause, but do not answer the question.",
}


def build(results: Results) -> Section:
    """Build the summary section: question, answer, claims, main figure, results in brief, and verdict."""
    asked = question_of(results) or "The study file states no question."
    brief_table, of_claims = brief.table(results), claims.in_brief(results)
    blocks: list[Block | None] = [
        paragraph(strong("Question. "), asked),
        Callout("headline", "", tuple(map(text, sentences(results)))),
        *(claims.expected_beforehand(results) if of_claims is None else [_counted_claims(results)]),
        *_figure(results),
        brief_table,
        verdict(results),
        of_claims,
    ]
    return Section("summary", "Summary", tuple(block for block in blocks if block is not None))


def question_of(results: Results) -> str:
    """Return the question of the study, and a sentence about levels that the preset leaves out; may be empty."""
    question = str(results.summary.get("question") or results.study.get("question") or "").strip()
    return " ".join(filter(None, (question, left_out_words(results.summary))))


def _counted_claims(results: Results) -> Block:
    """Return a paragraph with the number of claims for each verdict."""
    return paragraph(strong("Claims. "), people.sentence(people.listing(claims.by_verdict(results))))


def sentences(results: Results) -> list[str]:
    """Split the headline into paragraphs: one for each configuration, for unanswered questions, and for the strongest
    effect.
    """
    configurations = [each for each in results.summary.get("configurations") or () if isinstance(each, dict)]
    factors = [str(name) for each in configurations for name in each.get("key") or ()]
    heads = [f"With {each.get('label')}, " for each in configurations]
    # `Not answered with` occurs in results of older versions.
    heads += [
        "There is no result for ",
        "Not answered with ",
        *(f"{name[:1].upper()}{name[1:]} " for name in dict.fromkeys(factors)),
    ]
    begins = re.compile(rf"(?<=\.) (?={'|'.join(map(re.escape, heads))})")
    return begins.split(headline(results))


def _figure(results: Results) -> list[Block]:
    """Return the main figure; if it could not be built, a note."""
    what, make = MAIN
    made = attempt(f"figure {what}", make, results)
    if isinstance(made, Failed):
        return [not_made(made)]
    return [made] if made is not None else []


def headline(results: Results) -> str:
    """Return the headline of the analysis; without one, a sentence about the number of runs with a verdict."""
    found = results.summary.get("headline")
    if found:
        return str(found)
    runs, judged = people.plural(len(results.runs), "run"), len(results.measured)
    return f"Of {runs} of this study, {judged} could be judged, and none of them allows a conclusion."


def verdict_level(results: Results) -> str:
    """Return the verdict on the study: `valid`, `suspect` or `invalid`; `invalid` if the analysis has no verdict."""
    found = dig(results.summary, "verdict", "level")
    return found if found in LEVELS else "invalid"


def counts(results: Results) -> str:
    """Render the number of runs by verdict, such as `6 of 8 runs valid, 1 suspect, 1 missing`."""
    numbers = {
        "valid": len(results.in_state("valid")),
        "suspect": len(results.in_state("suspect")),
        "invalid": len(results.in_state("invalid")),
        "missing": len(results.missing),
    }
    others = [f"{number} {name}" for name, number in numbers.items() if number and name != "valid"]
    return ", ".join([f"{numbers['valid']} of {people.plural(len(results.runs), 'run')} valid", *others])


def verdict(results: Results) -> Callout:
    """Build a callout with the verdict on the study and its most serious reasons."""
    found = verdict_level(results)
    doubts = [doubt for doubt in _reasons(results) if doubt.get("message")]
    said = headline(results)
    reasons: list[Text] = [_reason(doubt, said) for doubt in doubts[:_REASONS]]
    if len(doubts) > _REASONS:
        more = people.plural(len(doubts) - _REASONS, "further doubt")
        reasons.append(text(f"{more.capitalize()}: see the limits of the conclusions."))
    further = [
        text(people.sentence(words)) for words in (relaxed_limits_note(results), unchecked_note(results)) if words
    ]
    title = f"{verdict_words(LEVELS[found], relaxed=relaxed_limits_note(results))}: {counts(results)}"
    has_marks = found != "suspect" or bool(results.in_state("suspect")) or not results.in_state("invalid")
    return Callout(found, title, (text(_CLAIMS[found if has_marks else "incomplete"]), *reasons, *further))


def _reason(doubt: Json, answer: str) -> Text:
    """Render a doubt with the first step of its advice, or with `see the answer` if the answer contains this step."""
    said = people.sentence(str(doubt["message"]).rstrip("."))
    hint = str(doubt.get("hint") or "").partition("; ")[0]
    if not hint:
        return text(said)
    is_repeated = hint.rstrip(".") in answer
    return text(said, " ", strong("Do: "), "see the answer." if is_repeated else people.sentence(hint))


def unchecked_note(results: Results) -> str:
    """Render the checks that were impossible for some runs, with reasons; empty if all checks were possible."""
    return not_checked(dig(results.summary, "verdict", "not_checked") or ())


def relaxed_limits_note(results: Results) -> str:
    """Render the limits that the study relaxed; empty if it relaxed none."""
    return relaxed_words(dig(results.summary, "verdict", "relaxed_limits") or ())


def _reasons(results: Results) -> list[Json]:
    return [doubt for doubt in dig(results.summary, "verdict", "reasons") or () if isinstance(doubt, dict)]


def nothing(what: str) -> Block:
    """Return a sentence that replaces a table whose data were not recorded."""
    return paragraph(f"{what} was not recorded.")
