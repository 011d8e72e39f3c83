"""Summary section: question, answer, main figure, results in brief, doubts, claims and objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towtank.analysis import not_checked
from towtank.containment import Failed, attempt
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.content import brief, claims
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Callout, Column, Section, Table, Text, paragraph, strong, text
from towtank.report.figures import MAIN
from towtank.report.source import Json, Results
from towtank.report.suspects import MARK, NOTE

_REASONS = 3
"""Largest number of doubts in the summary section; the section on limits of the conclusions lists all doubts.
[1]
"""
LEVELS = {
    "valid": "Valid measurement",
    "suspect": "Suspect measurement",
    "invalid": "No valid measurement",
}
_CLAIMS = {
    "valid": "The numbers below may be used within the limits named in this report.",
    "suspect": "The numbers below carry doubts that are listed under the limits of the conclusions. "
    "Values that lean on a "
    "suspect run are marked; they must not be quoted without their doubt.",
    "invalid": "No run supports a conclusion. The numbers below serve to find the cause; they answer no question.",
}


def build(results: Results) -> Section:
    """Build the summary section: question, answer, results in brief, figure, doubts, objectives."""
    question = str(results.summary.get("question") or results.study.get("question") or "").strip()
    asked = question or "The study file states no question."
    blocks: list[Block] = [
        paragraph(strong("Question. "), asked),
        Callout("headline", "", (text(headline(results)),)),
        *_expected(results),
    ]
    blocks += [table for table in (brief.table(results), claims.in_brief(results)) if table is not None]
    blocks += [*_figure(results), verdict(results)]
    objectives = [objective for objective in results.summary.get("objectives") or () if isinstance(objective, dict)]
    if objectives:
        blocks.append(_objectives(results, objectives))
    return Section("summary", "Summary", tuple(blocks))


def _expected(results: Results) -> list[Block]:
    """Return paragraphs with the expectation of the study, and with the number of claims by verdict."""
    found: list[Block] = []
    if results.study.get("expect"):
        found.append(paragraph(strong("Expected beforehand. "), str(results.study["expect"]).strip()))
    verdicts = claims.by_verdict(results)
    if verdicts:
        found.append(paragraph(strong("Claims. "), f"{people.sentence(people.listing(verdicts))}"))
    return found


def _figure(results: Results) -> list[Block]:
    """Return the main figure, which shows the answer; a statement of the failure if the figure failed."""
    what, make = MAIN
    made = attempt(f"figure {what}", make, results)
    if isinstance(made, Failed):
        return [not_made(made)]
    return [made] if made is not None else []


def headline(results: Results) -> str:
    """Return the headline of the analysis; without a headline, a sentence with the number of judged runs."""
    found = results.summary.get("headline")
    if found:
        return str(found)
    runs, judged = people.plural(len(results.runs), "run"), len(results.measured)
    return f"Of {runs} of this study, {judged} could be judged and none allows a conclusion."


def level(results: Results) -> str:
    """Return the verdict of the study: `valid`, `suspect` or `invalid`; `invalid` if the analysis gave none."""
    found = dig(results.summary, "verdict", "level")
    return found if found in LEVELS else "invalid"


def counts(results: Results) -> str:
    """Return the number of runs by verdict, such as `6 of 8 runs valid, 1 suspect, 1 missing`."""
    numbers = {
        "valid": len(results.in_state("valid")),
        "suspect": len(results.in_state("suspect")),
        "invalid": len(results.in_state("invalid")),
        "missing": len(results.missing),
    }
    others = [f"{number} {name}" for name, number in numbers.items() if number and name != "valid"]
    return ", ".join([f"{numbers['valid']} of {people.plural(len(results.runs), 'run')} valid", *others])


def verdict(results: Results) -> Callout:
    """Return a callout with the verdict on the measurement, and one sentence for each reason."""
    found = level(results)
    doubts = [doubt for doubt in _reasons(results) if doubt.get("message")]
    reasons: list[Text] = [_reason(doubt) for doubt in doubts[:_REASONS]]
    if len(doubts) > _REASONS:
        more = people.plural(len(doubts) - _REASONS, "further doubt")
        reasons.append(text(f"{more.capitalize()}: see what limits the conclusions."))
    missing = unchecked(results)
    unchecked_text = [text(people.sentence(missing))] if missing else []
    return Callout(found, f"{LEVELS[found]}: {counts(results)}", (text(_CLAIMS[found]), *reasons, *unchecked_text))


def _reason(doubt: Json) -> Text:
    """Return the text of a doubt with the advice on it."""
    said = people.sentence(str(doubt["message"]).rstrip("."))
    return text(said, *((" ", strong("Do: "), people.sentence(str(doubt["hint"]))) if doubt.get("hint") else ()))


def unchecked(results: Results) -> str:
    """Return a text that lists checks which could not be made for some run, with reasons; empty if all were
    made.
    """
    return not_checked(dig(results.summary, "verdict", "not_checked") or ())


def _reasons(results: Results) -> list[Json]:
    return [doubt for doubt in dig(results.summary, "verdict", "reasons") or () if isinstance(doubt, dict)]


def _objectives(results: Results, objectives: Sequence[Json]) -> Table:
    metrics = {objective.get("text"): objective.get("metric") for objective in results.study.get("objectives") or ()}
    windowed = any(objective.get("windows") for objective in objectives)
    rows = tuple(
        (
            str(objective.get("text", "")),
            "; ".join(filter(None, (outcome, outcomes.alone(objective), outcomes.held(objective)))),
            people.quantity(
                objective.get("seen"), outcomes.unit_of(metrics.get(objective.get("text")) or objective.get("metric"))
            ),
            _at(objective.get("at")),
            *((_share_of_windows(objective), _worst_window(objective)) if windowed else ()),
        )
        for objective, outcome in _condensed(objectives)
    )
    columns: tuple[Column, ...] = (Column("Objective"), Column("Outcome"), Column("Seen", numeric=True), Column("At"))
    if windowed:
        columns += (Column("Windows that met it", numeric=True), Column("Worst window"))
    marked = any(MARK in row[1] for row in rows)
    notes = (NOTE,) if marked else ()
    return Table("Objectives of the study", columns, rows, notes)


def _condensed(objectives: Sequence[Json]) -> list[tuple[Json, str]]:
    """Pair objectives with their outcomes.

    An objective that all configurations meet is listed once, with its worst value.
    """
    found: list[tuple[Json, str]] = []
    for same in _by_text(objectives):
        outcomes_of = [outcomes.outcome(each) for each in same]
        words = {outcome.removesuffix(f" {MARK}") for outcome in outcomes_of}
        known = all(isinstance(each.get("seen"), int | float) for each in same)
        if len(same) > 1 and known and words == {"met"}:
            upward = ">" in str(same[0].get("text"))
            worst = (min if upward else max)(same, key=lambda objective: float(objective["seen"]))
            mark = f" {MARK}" if any(each.get("suspect_runs") for each in same) else ""
            found.append((worst, f"met in all {len(same)} configurations{mark}"))
        else:
            found += zip(same, outcomes_of, strict=True)
    return found


def _by_text(objectives: Sequence[Json]) -> list[list[Json]]:
    groups: dict[str, list[Json]] = {}
    for objective in objectives:
        groups.setdefault(str(objective.get("text")), []).append(objective)
    return list(groups.values())


def _share_of_windows(objective: Json) -> str:
    windows = objective.get("windows") or {}
    if not windows.get("count"):
        return people.ABSENT
    return f"{people.count(windows['met'])} of {people.count(windows['count'])} ({people.share(windows['share'])})"


def _worst_window(objective: Json) -> str:
    worst = (objective.get("windows") or {}).get("worst")
    if not worst:
        return people.ABSENT
    return f"{people.plain(worst['start_s'])} to {people.plain(worst['end_s'])} s of {worst['run']}"


def _at(place: Any) -> str:
    return ", ".join(f"{name} {level}" for name, level in place.items()) if isinstance(place, dict) else people.ABSENT


def nothing(what: str) -> Block:
    """Return a statement that data were not recorded, in place of an empty table."""
    return paragraph(f"{what} was not recorded.")
