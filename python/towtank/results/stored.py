"""What users were told is stored, as the engine noted it, and what was found when it was read back.

A note is a line of `stored-WW.ndjson`, see `docs/reference/run-folder.md`. Intents are noted before a request leaves:
where the answer did not come, the thing may be as before or as was asked, and both are right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.results import lines

NOTES = "stored-*.ndjson"
Content = tuple[int, str]
"""Size [bytes] and SHA-256."""
# These changed nothing: no connection, no request, or an answer that refuses.
_NOT_DONE = ("connect", "internal", "status_4xx", "refused")
_ABSENT = (404, 410)
FOUND, LOST, DIFFERENT, UNREADABLE, UNREAD, GONE = "found", "lost", "different", "unreadable", "unread", "gone"
FATES = (FOUND, LOST, DIFFERENT, UNREADABLE, UNREAD)
"""What can become of one thing; `gone` is right where its removal was asked for."""


@dataclass
class Thing:
    """One thing that users were told is stored.

    Attributes
    ----------
    told_ns : int
        When that was, in run time. [ns]
    contents : set
        Contents that are right: the last one told, and those whose answer did not come.
    may_be_gone : bool
        Whether its removal was asked for, and the answer did not come.
    any_content : bool
        Whether a content was on its way whose digest nobody knows, when the run ended.
    """

    told_ns: int
    contents: set[Content]
    may_be_gone: bool = False
    any_content: bool = False

    @property
    def is_uncertain(self) -> bool:
        """Whether the answer to its last change did not come, so that more than one state is right."""
        return self.may_be_gone or self.any_content or len(self.contents) > 1


@dataclass
class Ledger:
    """All things of a run by kind and key, those apart whose removal was told."""

    things: dict[str, dict[str, Thing]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)

    def of(self, kind: str) -> dict[str, Thing]:
        """Things of a kind by key."""
        return self.things.get(kind, {})


def notes(folder: Path, damage: lines.Damage) -> Iterator[dict[str, Any]]:
    """All notes below `RUN/engine`, thread by thread."""
    for path in sorted(folder.glob(NOTES)):
        for note in lines.read(path, damage):
            if note.get("k") != "header":
                yield {**note, "from": path.name}


def read_ledger(folder: Path) -> Ledger:
    """Read what users of a run were told, in the order in which they were."""
    ledger = Ledger()
    told = sorted(notes(folder, ledger.damage), key=_when)
    open_: dict[tuple[str, str], dict[tuple[str, int], dict[str, Any]]] = {}
    for note in told:
        try:
            _take(ledger, open_, note)
        except (KeyError, TypeError, ValueError):
            ledger.damage.bad_lines += 1
    for (kind, key), intents in open_.items():
        thing = ledger.of(kind).get(key)
        if thing is not None:
            _leave_open(thing, intents.values())
    return ledger


def _when(note: dict[str, Any]) -> int:
    at = note.get("t_ns")
    return at if isinstance(at, int) else 0


def _take(ledger: Ledger, open_: dict[Any, dict[Any, dict[str, Any]]], note: dict[str, Any]) -> None:
    """Take one note. Intents are known by thread and beginning."""
    kind, key, what = str(note["of"]), str(note["key"]), note["k"]
    intents = open_.setdefault((kind, key), {})
    if what == "begun":
        intents[note["from"], int(note["t_ns"])] = note
        return
    intent = (note["from"], int(note["begun_ns"]))
    if what == "failed":
        begun = intents.pop(intent, None)
        if begun is not None and note.get("unknown"):
            intents[intent] = begun
        elif note.get("failure") not in _NOT_DONE and begun is not None:
            intents[intent] = {**begun, **{name: note.get(name) for name in ("bytes", "sha256")}, "ended": True}
        return
    intents.pop(intent, None)
    things = ledger.things.setdefault(kind, {})
    if what == "stored":
        things[key] = Thing(int(note["t_ns"]), {(int(note["bytes"]), str(note["sha256"]))})
    elif what == "removed":
        things.pop(key, None)
        ledger.removed[kind] = ledger.removed.get(kind, 0) + 1


def _leave_open(thing: Thing, intents: Iterable[dict[str, Any]]) -> None:
    """Let changes whose answers did not come make more than one state right."""
    for intent in intents:
        if intent["does"] == "removes":
            thing.may_be_gone = True
        elif intent.get("sha256") is not None:
            thing.contents.add((int(intent["bytes"]), str(intent["sha256"])))
        elif not intent.get("ended"):
            thing.any_content = True


def fate(thing: Thing, read: dict[str, Any] | None, absent: Collection[int] = _ABSENT) -> str:
    """Say what became of a thing.

    Parameters
    ----------
    thing : Thing
        What it should be.
    read : dict or None
        Note of the request that read it back; None where it was not read.
    absent : collection of int
        Statuses which say that there is no such thing.
    """
    if read is None:
        return UNREAD
    if read.get("absent") or int(read.get("status") or 0) in absent:
        return GONE if thing.may_be_gone else LOST
    if read.get("failure") is not None:
        return UNREADABLE
    right = (read.get("bytes"), read.get("sha256")) in thing.contents
    return FOUND if right or thing.any_content else DIFFERENT
