"""Summary: the headline, what may be claimed, and how the objectives were met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towtank.analysis.doubts import not_checked
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.document import Block, Callout, Column, Section, Table, Text, paragraph, text
from towtank.report.source import Json, Results, dig

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
    "invalid": "No run can carry a conclusion. The numbers below are shown to find the cause; they answer nothing.",
}


def build(results: Results) -> Section:
    """Headline, verdict, objectives."""
    blocks: list[Block] = [Callout("headline", "", (text(headline(results)),)), verdict(results)]
    objectives = [one for one in results.summary.get("objectives") or () if isinstance(one, dict)]
    if objectives:
        blocks.append(_objectives(results, objectives))
    return Section("summary", "Summary", tuple(blocks))


def headline(results: Results) -> str:
    """The sentence of the analysis; a plain statement of fact where it could not make one."""
    found = results.summary.get("headline")
    if found:
        return str(found)
    runs, judged = people.plural(len(results.runs), "run"), len(results.measured)
    return f"Of {runs} of this study, {judged} could be judged and none allows a conclusion."


def level(results: Results) -> str:
    """Verdict of the study; `invalid` where the analysis gave none."""
    found = dig(results.summary, "verdict", "level")
    return found if found in LEVELS else "invalid"


def counts(results: Results) -> str:
    """Runs by verdict: `6 of 8 runs valid, 1 suspect, 1 missing`."""
    numbers = {
        "valid": len(results.in_state("valid")),
        "suspect": len(results.in_state("suspect")),
        "invalid": len(results.in_state("invalid")),
        "missing": len(results.missing),
    }
    others = [f"{number} {name}" for name, number in numbers.items() if number and name != "valid"]
    return ", ".join([f"{numbers['valid']} of {people.plural(len(results.runs), 'run')} valid", *others])


def verdict(results: Results) -> Callout:
    """What the measurement may claim, and the reasons in one sentence each."""
    found = level(results)
    reasons: list[Text] = [
        text(f"{str(doubt['message']).rstrip('.')}.") for doubt in _reasons(results) if doubt.get("message")
    ]
    missing = unchecked(results)
    unchecked_text = [text(people.sentence(missing))] if missing else []
    return Callout(found, f"{LEVELS[found]}: {counts(results)}", (text(_CLAIMS[found]), *reasons, *unchecked_text))


def unchecked(results: Results) -> str:
    """List the checks that could not be made on some run, each with its reason; empty if all were made."""
    return not_checked(dig(results.summary, "verdict", "not_checked") or ())


def _reasons(results: Results) -> list[Json]:
    return [doubt for doubt in dig(results.summary, "verdict", "reasons") or () if isinstance(doubt, dict)]


def _objectives(results: Results, objectives: Sequence[Json]) -> Table:
    metrics = {one.get("text"): one.get("metric") for one in results.study.get("objectives") or ()}
    windowed = any(one.get("windows") for one in objectives)
    rows = tuple(
        (
            str(one.get("text", "")),
            outcomes.outcome(one),
            people.quantity(one.get("seen"), outcomes.unit_of(metrics.get(one.get("text")) or one.get("metric"))),
            _at(one.get("at")),
            *((_share_of_windows(one), _worst_window(one)) if windowed else ()),
        )
        for one in objectives
    )
    columns: tuple[Column, ...] = (Column("Objective"), Column("Outcome"), Column("Seen", numeric=True), Column("At"))
    if windowed:
        columns += (Column("Windows that met it", numeric=True), Column("Worst window"))
    return Table("Objectives of the study", columns, rows)


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
    """Say that something was not recorded, instead of showing an empty table."""
    return paragraph(f"{what} was not recorded.")
