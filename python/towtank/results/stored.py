"""Ledger of what the system confirmed as stored, from the engine's notes, and its comparison with the read-back.

A note is a line of `stored-WW.ndjson`, see `docs/reference/run-folder.md`. The engine notes an intent before a request
leaves: without an answer, the thing may be as before or as requested, and both states are right. Likewise, if two
changes of one thing overlap, it is not known which of them the server made last, and both results are right.
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
_Key = tuple[str, str]  # kind and key of a thing
FOUND, LOST, DIFFERENT, UNREADABLE, UNREAD, GONE = "found", "lost", "different", "unreadable", "unread", "gone"
FATES = (FOUND, LOST, DIFFERENT, UNREADABLE, UNREAD)
"""Possible results for one thing; `gone` is right if its removal was requested."""


@dataclass
class Thing:
    """One thing that the system confirmed as stored.

    Attributes
    ----------
    acknowledged_ns : int
        Time of the confirmation, in run time. [ns]
    contents : set
        Contents that are right: the last one confirmed, those confirmed by changes that overlap with it, and those
        whose answer did not come.
    may_be_gone : bool
        Whether its removal was requested, and the answer did not come or came while another change was under way.
    any_content : bool
        Whether a content with an unknown digest was on its way when the run ended.
    """

    acknowledged_ns: int
    contents: set[Content]
    may_be_gone: bool = False
    any_content: bool = False

    @property
    def is_uncertain(self) -> bool:
        """True if more than one state is right, because it is not known which change was the last."""
        return self.may_be_gone or self.any_content or len(self.contents) > 1


@dataclass(frozen=True)
class _Change:
    """A confirmed change: times of request and answer [ns], and the content; None for a removal."""

    begun_ns: int
    acknowledged_ns: int
    content: Content | None


@dataclass
class Ledger:
    """All things of a run by kind and key, and counts of those whose removal was confirmed."""

    things: dict[str, dict[str, Thing]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)

    def of(self, kind: str) -> dict[str, Thing]:
        """Return the things of a kind by key."""
        return self.things.get(kind, {})


def notes(folder: Path, damage: lines.Damage) -> Iterator[dict[str, Any]]:
    """Yield all notes below `RUN/engine`, thread by thread."""
    for path in sorted(folder.glob(NOTES)):
        for note in lines.read(path, damage):
            if note.get("k") != "header":
                yield {**note, "from": path.name}


def read_ledger(folder: Path) -> Ledger:
    """Read the confirmations to the users of a run, in their order."""
    ledger = Ledger()
    ordered = sorted(notes(folder, ledger.damage), key=_when)
    open_: dict[_Key, dict[tuple[str, int], dict[str, Any]]] = {}
    last: dict[_Key, list[_Change]] = {}
    for note in ordered:
        try:
            _take(ledger, open_, last, note)
        except (KeyError, TypeError, ValueError):
            ledger.damage.bad_lines += 1
    for (kind, key), changes in last.items():
        if (thing := _thing(changes)) is not None:
            ledger.things.setdefault(kind, {})[key] = thing
            _leave_open(thing, open_.get((kind, key), {}).values())
    return ledger


def _when(note: dict[str, Any]) -> int:
    at = note.get("t_ns")
    return at if isinstance(at, int) else 0


def _take(ledger: Ledger, open_: dict[_Key, Any], last: dict[_Key, list[_Change]], note: dict[str, Any]) -> None:
    """Process one note. Thread and start time identify an intent."""
    kind, key, what = str(note["of"]), str(note["key"]), note["k"]
    intents = open_.setdefault((kind, key), {})
    if what == "begun":
        intents[note["from"], int(note["t_ns"])] = note
        return
    begun_ns = int(note["begun_ns"])
    intent = (note["from"], begun_ns)
    if what == "failed":
        begun = intents.pop(intent, None)
        if begun is not None and note.get("unknown"):
            intents[intent] = begun
        elif note.get("failure") not in _NOT_DONE and begun is not None:
            intents[intent] = {**begun, **{name: note.get(name) for name in ("bytes", "sha256")}, "ended": True}
        return
    intents.pop(intent, None)
    if what not in ("stored", "removed"):
        return
    content = (int(note["bytes"]), str(note["sha256"])) if what == "stored" else None
    change = _Change(begun_ns, int(note["t_ns"]), content)
    # A change that was confirmed before this one was sent is over; the others may have been made after it.
    last[kind, key] = [*(note for note in last.get((kind, key), []) if note.acknowledged_ns > begun_ns), change]
    if what == "removed":
        ledger.removed[kind] = ledger.removed.get(kind, 0) + 1


def _thing(changes: list[_Change]) -> Thing | None:
    """Return the state that changes leave if any of them may be the last; None if the thing is gone."""
    stored = [change for change in changes if change.content is not None]
    if not stored:
        return None
    contents = {change.content for change in stored if change.content is not None}
    return Thing(max(change.acknowledged_ns for change in stored), contents, may_be_gone=len(stored) < len(changes))


def _leave_open(thing: Thing, intents: Iterable[dict[str, Any]]) -> None:
    """Add the states that changes without an answer may have left."""
    for intent in intents:
        if intent["does"] == "removes":
            thing.may_be_gone = True
        elif intent.get("sha256") is not None:
            thing.contents.add((int(intent["bytes"]), str(intent["sha256"])))
        elif not intent.get("ended"):
            thing.any_content = True


def fate(thing: Thing, read: dict[str, Any] | None, absent: Collection[int] = _ABSENT) -> str:
    """Return the result of reading a thing back.

    Parameters
    ----------
    thing : Thing
        Its right states.
    read : dict or None
        Note of the request that read it back; None if it was not read.
    absent : collection of int
        Statuses by which a server reports that a thing does not exist.
    """
    if read is None:
        return UNREAD
    if read.get("absent") or int(read.get("status") or 0) in absent:
        return GONE if thing.may_be_gone else LOST
    if read.get("failure") is not None:
        return UNREADABLE
    right = (read.get("bytes"), read.get("sha256")) in thing.contents
    return FOUND if right or thing.any_content else DIFFERENT
