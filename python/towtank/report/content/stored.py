"""Builds the section on documents that the system confirmed as stored, and that Towtank read back after each run."""

from __future__ import annotations

from typing import Any

from towtank.analysis import EventResult
from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Column, Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult

NAMED_AT_MOST = 10
"""Largest number of documents for each run that notes describe. [1]"""
SOON_S = 5.0
"""Time before an event within which a confirmed document may have been lost because of the event. [s]"""
_FATES = ("found", "lost", "different", "unreadable", "unread")
_SAID = (
    "Responses to virtual users confirm that documents are stored. During the load Towtank records each confirmed "
    "document with the size and the SHA-256 of the content that was sent. After the load, services that an event ended "
    "are started again, and Towtank reads the documents back and compares them. Lost documents do not exist any more. "
    "Different documents have another content than the content sent. Unreadable documents gave no complete response in "
    "four attempts. There was no time left for documents that were not read. If the response to the last change is "
    "missing, the states before and after it are both correct: the document counts as uncertain, and as found if it "
    "has one of both states."
)


def build(results: Results) -> Section | None:
    """Build the section on stored documents; None if no document was confirmed as stored."""
    runs = [run for run in results.measured if run.summary.get("stored")]
    if not runs:
        return None
    columns = headings(
        *heads.columns(results),
        "#Confirmed",
        "#Uncertain",
        *(Column("Not read" if fate == "unread" else fate.capitalize(), numeric=True) for fate in _FATES),
    )
    notes = tuple(note for run in runs for note in _notes(run))
    table = Table("Documents confirmed as stored", columns, tuple(_row(run) for run in runs), notes)
    return Section("stored", "What is stored", (paragraph(_SAID), table))


def _row(run: RunResult) -> tuple[str, ...]:
    counts = run.summary["stored"]
    return (
        *heads.cells(run),
        people.count(counts["acknowledged"]),
        people.count(counts["uncertain"]),
        *(_count(counts[fate]) for fate in _FATES),
    )


def _count(value: Any) -> str:
    """Render a number of documents; an estimate from a sample with its interval."""
    return people.plain_estimate(value) if isinstance(value, dict) else people.count(value)


def _notes(run: RunResult) -> list[str]:
    """Return notes on documents of a run that were not read back, or that were lost or changed."""
    counts = run.summary["stored"]
    notes = [f"{run.run_id}: {counts['reason']}."] if counts.get("reason") else []
    for entry in counts["named"][:NAMED_AT_MOST]:
        when = "".join(
            words
            for name, event in run.record.events.items()
            if (words := _beside(name, event, entry["acknowledged_s"]))
        )
        notes.append(
            f"{run.run_id}: {entry['kind']} {entry['key']} is {entry['fate']}; "
            f"confirmed at {entry['acknowledged_s']:.1f} s{when}."
        )
    return notes


def _beside(name: str, event: EventResult, at_s: float) -> str:
    """Render a time relative to an event; empty if the time is neither during the event nor shortly before it."""
    begin, until = event.begin_s, event.until_s
    if begin is None or until is None:
        return ""
    if begin <= at_s <= until:
        return f", while {name}"
    return f", {people.seconds(begin - at_s)} before {name}" if 0 < begin - at_s <= SOON_S else ""
