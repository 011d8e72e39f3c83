"""Builds the summary section, which is the first screen or page of the report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from towtank.analysis import DoubtOfRuns, not_checked, relaxed_words
from towtank.conclusion_words import NOT_REPEATED, SURER, Conclusion, marked
from towtank.containment import Failed, attempt
from towtank.digging import dig
from towtank.doubt_words import kind_words, meaning_words
from towtank.report import format as people
from towtank.report.content import brief, claims
from towtank.report.content.not_made import not_made
from towtank.report.document import (
    ALSO_NOT_ANSWERED,
    FOUND,
    NOT_ANSWERED,
    SURE,
    TO_DO,
    Block,
    Callout,
    Run,
    Section,
    Text,
    code,
    paragraph,
    strong,
    text,
)
from towtank.report.figures import MAIN
from towtank.report.left_out import left_out_words
from towtank.report.source import Results
from towtank.report.suspects import MARK
from towtank.verdict_words import verdict_words

_REASONS = 3
"""Largest number of doubts in the summary section. [1]"""
_NONE_VALID = "Invalid measurement"
LEVELS = {
    "valid": "Valid measurement",
    "suspect": "Suspect measurement",
    "invalid": _NONE_VALID,
}
UNREPEATED = "unrepeated"
"""Level of the verdict callout of a valid study with one run of each load level."""
# Shares of runs from which a suspect study is called largely valid, and above which largely invalid. [1]
_LARGELY_VALID, _MOSTLY_INVALID = 0.75, 0.5
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
        answer(results),
        *(claims.expected_beforehand(results) if of_claims is None else []),
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


def answer(results: Results) -> Callout:
    """Build the callout that answers the question: statements, parts without an answer, certainty and next steps.

    The first paragraph of each part begins with strong words: `Found`, `Not answered`, `How sure` or `What to do`. Of
    each part, the first sentence is strong too, and of the certainty the word that names it.
    """
    concluded = Conclusion.of(results.summary).in_folder(shlex.quote(results.name))
    if not concluded.found:
        return Callout("headline", "", (text(headline(results)),))
    first, *others = concluded.open or ("",)
    parts = [
        *_part(FOUND, concluded.found),
        *([_headed(NOT_ANSWERED, first)] if first else []),
        *([_headed(ALSO_NOT_ANSWERED, " ".join(others))] if others else []),
        *([_sure(concluded)] if concluded.certainty or concluded.sure else []),
        *_part(TO_DO, concluded.do or concluded.measure),
        *(text(*_pieces(f"{SURER}{step}")) for step in (concluded.measure if concluded.do else ())),
    ]
    return Callout("headline", "", tuple(parts), below=_below(results) if concluded.open else "")


def _below(results: Results) -> str:
    """Return the number of claims without an answer, for screens on which these follow the verdict."""
    number = claims.without_answer(results)
    return f"{people.plural(number, 'claim')} not answered: see below." if number else "Not answered: see below."


def _sure(concluded: Conclusion) -> Text:
    """Return the paragraph about the certainty; its word is empty in results of earlier versions."""
    word, meaning = concluded.certainty_parts
    degree: list[str | Run] = [strong(word), " "] if word else []
    return text(strong(f"{SURE}. "), *degree, *_pieces(" ".join(filter(None, (meaning, *concluded.sure)))))


def _part(head: str, said: Sequence[str]) -> list[Text]:
    """Return a paragraph for each sentence; the first has a strong head, and is strong."""
    return [
        text(*([strong(f"{head}. ")] if place == 0 else []), *_pieces(each, is_strong=place == 0))
        for place, each in enumerate(said)
    ]


def _headed(head: str, said: str) -> Text:
    """Return a text that begins with a strong word."""
    return text(strong(f"{head}. "), *_pieces(said))


def _pieces(said: str, *, is_strong: bool = False) -> list[str | Run]:
    """Return the parts of a sentence; those between backquotes are commands and names of the study file."""
    plain = strong if is_strong else str
    return [code(part) if is_code else plain(part) for part, is_code in marked(said)]


def _figure(results: Results) -> list[Block]:
    """Return the main figure; if it could not be built, a note."""
    if is_without_order(results):
        return [_instead(has_step=bool(Conclusion.of(results.summary).measure))]
    what, make = MAIN
    made = attempt(f"figure {what}", make, results)
    if isinstance(made, Failed):
        return [not_made(made)]
    return [made] if made is not None else []


def is_without_order(results: Results) -> bool:
    """Return True if no run is valid and most are invalid, so that a figure would compare meaningless values."""
    return not results.in_state("valid") and len(results.in_state("invalid")) > _MOSTLY_INVALID * len(results.runs)


def _instead(*, has_step: bool) -> Block:
    """Return the paragraph that replaces the main figure of a study without a valid run."""
    why = "Values of invalid runs do not show which configuration is better."
    return paragraph(strong("No figure. "), f"{why} “What to do” has the next step." if has_step else why)


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
    """Build a callout with the verdict on the study, and its most serious doubts by kind with their number of runs."""
    found = verdict_level(results)
    doubts = [doubt for doubt in results.study_summary.verdict.reasons if doubt.message]
    concluded = Conclusion.of(results.summary)
    said = " ".join((headline(results), *concluded.sure, *concluded.do, *concluded.measure))
    valid = frozenset(run.run_id for run in results.in_state("valid"))
    reasons: list[Text] = [_reason(doubt, said, valid) for doubt in doubts[:_REASONS]]
    if len(doubts) > _REASONS:
        more = people.plural(len(doubts) - _REASONS, "further doubt")
        reasons.append(text(f"{more.capitalize()}: see the limits of the conclusions."))
    further = [
        text(people.sentence(words)) for words in (relaxed_limits_note(results), unchecked_note(results)) if words
    ]
    title = f"{verdict_words(level_words(results), relaxed=relaxed_limits_note(results))}: {counts(results)}"
    has_marks = found != "suspect" or bool(results.in_state("suspect")) or not results.in_state("invalid")
    return Callout(_colour(results), title, (text(_CLAIMS[found if has_marks else "incomplete"]), *reasons, *further))


def level_words(results: Results) -> str:
    """Render the verdict on the study with the share of its runs that count, such as `Largely valid measurement`."""
    found, runs = verdict_level(results), len(results.runs)
    if found == "valid" and is_unrepeated(results):
        return f"{LEVELS[found]}, not repeated"
    if found != "suspect" or not runs:
        return LEVELS[found]
    if len(results.in_state("invalid")) > _MOSTLY_INVALID * runs:
        return "Largely invalid measurement" if results.in_state("valid") else _NONE_VALID
    return "Largely valid measurement" if len(results.in_state("valid")) >= _LARGELY_VALID * runs else LEVELS[found]


def _colour(results: Results) -> str:
    """Return the level of the verdict callout: `unrepeated` if no level was repeated, `invalid` for most runs."""
    found = verdict_level(results)
    if len(results.in_state("invalid")) > _MOSTLY_INVALID * len(results.runs):
        return "invalid"
    return UNREPEATED if found == "valid" and is_unrepeated(results) else found


def is_unrepeated(results: Results) -> bool:
    """Return True if the study has one run of each load level."""
    return any(each.startswith(NOT_REPEATED) for each in Conclusion.of(results.summary).sure)


def _reason(doubt: DoubtOfRuns, answer: str, valid: frozenset[str]) -> Text:
    """Render a doubt: its kind and number of runs, its message without their names, and the first step of its advice.

    A kind whose name is in the message has its meaning. If the answer contains the meaning, it is left out; if it
    contains the step, this is replaced by `see above`.
    """
    names = doubt.runs
    noted = sum(name in valid for name in names) if doubt.level == "note" else 0
    said, _, where = doubt.message.rstrip(".").rpartition(" (")
    message = said if any(where.startswith(name) for name in names) else doubt.message
    kind, meaning = kind_words(doubt.kind), meaning_words(doubt.kind)
    is_explained = not message.startswith(kind) or meaning in answer
    kind = kind.capitalize() if is_explained else f"{kind.capitalize()} ({meaning})"
    runs = people.plural(len(names), "run")
    also = f"also noted in {noted} valid {'run' if noted == 1 else 'runs'}"
    head = f"{kind}, {runs if not noted else also if noted < len(names) else f'noted in {runs}'}. "
    parts = [strong(head)] if names else []
    hint = (doubt.hint or "").partition("; ")[0]
    if not hint:
        return text(*parts, people.sentence(message.rstrip(".")))
    is_repeated = hint.rstrip(".").lower() in answer.lower()
    step = "see above." if is_repeated else people.sentence(hint)
    return text(*parts, people.sentence(message.rstrip(".")), " ", strong("Do: "), step)


def unchecked_note(results: Results) -> str:
    """Render the checks that were impossible for some runs, with reasons; empty if all checks were possible.

    A check that raised a doubt about other runs is left out.
    """
    doubted = {doubt.kind for doubt in results.study_summary.verdict.reasons}
    missing = dig(results.summary, "verdict", "not_checked") or ()
    return not_checked(each for each in missing if dig(each, "check") not in doubted)


def relaxed_limits_note(results: Results) -> str:
    """Render the limits that the study relaxed; empty if it relaxed none."""
    return relaxed_words(dig(results.summary, "verdict", "relaxed_limits") or ())


def nothing(what: str) -> Block:
    """Return a sentence that replaces a table whose data were not recorded."""
    return paragraph(f"{what} was not recorded.")
