"""What users were told is stored, read back after each run: all of it there, or what is lost."""

from __future__ import annotations

from typing import Any

from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Column, Section, Table, paragraph
from towtank.report.source import Json, Results, RunResult

NAMED_AT_MOST = 10
"""Things shown one by one, of each run."""
SOON_S = 5.0
"""What was told so shortly before an event may be lost to it. [s]"""
_FATES = ("found", "lost", "different", "unreadable", "unread")
_SAID = (
    "What the answers to virtual users said is stored was noted while the load went on, with size and SHA-256 of what "
    "was sent. After the load, with services that an event had ended started again, it was read back and compared. "
    "Lost is not there any more; different has another content than was sent; unreadable gave no whole answer, tried "
    "four times; not read is what the time did not suffice for. Where the answer to the last change did not come, the "
    "state before it and the one after it are both right: these are counted as uncertain, and as found where one of "
    "them is there."
)


def build(results: Results) -> Section | None:
    """One row for each run; None where nobody was told that anything is stored."""
    runs = [run for run in results.measured if run.summary.get("stored")]
    if not runs:
        return None
    columns = (
        *heads.columns(results),
        Column("Told", numeric=True),
        Column("Uncertain", numeric=True),
        *(Column("Not read" if fate == "unread" else fate.capitalize(), numeric=True) for fate in _FATES),
    )
    notes = tuple(note for run in runs for note in _notes(run))
    table = Table("What users were told is stored", columns, tuple(_row(run) for run in runs), notes)
    return Section("stored", "What is stored", (paragraph(_SAID), table))


def _row(run: RunResult) -> tuple[str, ...]:
    told: Json = run.summary["stored"]
    return (
        *heads.cells(run),
        people.count(told["told"]),
        people.count(told["uncertain"]),
        *(_count(told[fate]) for fate in _FATES),
    )


def _count(value: Any) -> str:
    """A count, or of a sample what follows for all."""
    return people.plain_estimate(value) if isinstance(value, dict) else people.count(value)


def _notes(run: RunResult) -> list[str]:
    """Why something was not read, and what is not as it should be."""
    told: Json = run.summary["stored"]
    notes = [f"{run.run_id}: {told['reason']}."] if told.get("reason") else []
    for one in told["named"][:NAMED_AT_MOST]:
        events = run.summary.get("events") or {}
        when = "".join(words for name, event in events.items() if (words := _beside(name, event, one["told_s"])))
        notes.append(f"{run.run_id}: {one['kind']} {one['key']} is {one['fate']}; told at {one['told_s']:.1f} s{when}.")
    return notes


def _beside(name: str, event: Json, at_s: float) -> str:
    """How an instant lies to an event; nothing where they have nothing to do with each other."""
    begin, until = event.get("begin_s"), event.get("until_s")
    if begin is None or until is None:
        return ""
    if begin <= at_s <= until:
        return f", while {name}"
    return f", {people.seconds(begin - at_s)} before {name}" if 0 < begin - at_s <= SOON_S else ""
