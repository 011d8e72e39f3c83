"""Lists the items that the system confirmed as stored (the ledger), and compares them with the items that are read
back.

A note is a line of `stored-WW.ndjson`, see `docs/reference/run-folder.md`. The engine writes a note about its intent
before it sends a request that changes an item. If the response is missing, the item may have the old or the requested
state, and both are correct. If two changes of one item overlap, their order in the server is unknown, and both results
are correct.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.results import lines

STORED_NOTES = "stored-*.ndjson"
Content = tuple[int, str]
"""Type of the content of a stored item: size [bytes] and SHA-256 digest."""
# Kinds of failure after which the item is certainly unchanged: no connection was made, the request was not sent, or the
# server refused the request.
_NOT_DONE = ("connect", "internal", "status_4xx", "refused")
_ABSENT = (404, 410)
_Key = tuple[str, str]  # Kind and key that identify a stored item.
ITEM_FOUND, ITEM_LOST, ITEM_DIFFERENT, ITEM_UNREADABLE, ITEM_UNREAD, ITEM_GONE = (
    "found",
    "lost",
    "different",
    "unreadable",
    "unread",
    "gone",
)
ITEM_FATES = (ITEM_FOUND, ITEM_LOST, ITEM_DIFFERENT, ITEM_UNREADABLE, ITEM_UNREAD)
"""Possible results of reading back an item that should exist. The result `gone` is not among them: it is correct,
because the removal of the item was requested.
"""


@dataclass
class StoredItem:
    """Item whose storage the system acknowledged.

    Attributes
    ----------
    acknowledged_ns : int
        Time of the acknowledgement, counted from the start of the run. [ns]
    contents : set
        All correct contents: the content of the last acknowledged change, of acknowledged changes that overlap with it,
        and of changes without a response.
    may_be_gone : bool
        True if a removal was requested, but had no response or overlapped with another change.
    any_content : bool
        True if content with an unknown digest was being written when the run ended. Any content is then correct.
    """

    acknowledged_ns: int
    contents: set[Content]
    may_be_gone: bool = False
    any_content: bool = False

    @property
    def is_uncertain(self) -> bool:
        """True if several states of the item are correct, because its last change is unknown."""
        return self.may_be_gone or self.any_content or len(self.contents) > 1


@dataclass(frozen=True)
class _Change:
    """Acknowledged change of an item: times of request and acknowledgement [ns], and the new content. The content is
    None for a removal.
    """

    begun_ns: int
    acknowledged_ns: int
    content: Content | None


@dataclass
class StoredLedger:
    """Stored items of a run by kind and key, and the number of acknowledged removals by kind."""

    things: dict[str, dict[str, StoredItem]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)

    def of(self, kind: str) -> dict[str, StoredItem]:
        """Return the stored items of one kind, by key."""
        return self.things.get(kind, {})


def notes(folder: Path, damage: lines.Damage) -> Iterator[dict[str, Any]]:
    """Yield all notes about stored items in the folder `RUN/engine`, one load thread after the other."""
    for path in sorted(folder.glob(STORED_NOTES)):
        for note in lines.read(path, damage):
            if note.get("k") != "header":
                yield {**note, "from": path.name}


def read_ledger(folder: Path) -> StoredLedger:
    """Read the acknowledgements of a run in order of time, and return the resulting ledger of stored items."""
    ledger = StoredLedger()
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


def _take(ledger: StoredLedger, open_: dict[_Key, Any], last: dict[_Key, list[_Change]], note: dict[str, Any]) -> None:
    """Update the ledger by one note of the engine. A note about the end of a request refers to the note about its
    intent by thread and start time.
    """
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
    # A change that was acknowledged before this request was sent cannot be the last change, so it is removed.
    last[kind, key] = [*(note for note in last.get((kind, key), []) if note.acknowledged_ns > begun_ns), change]
    if what == "removed":
        ledger.removed[kind] = ledger.removed.get(kind, 0) + 1


def _thing(changes: list[_Change]) -> StoredItem | None:
    """Return the item if any of the given changes may be its last change; None if all of them are removals."""
    stored = [change for change in changes if change.content is not None]
    if not stored:
        return None
    contents = {change.content for change in stored if change.content is not None}
    return StoredItem(
        max(change.acknowledged_ns for change in stored), contents, may_be_gone=len(stored) < len(changes)
    )


def _leave_open(thing: StoredItem, intents: Iterable[dict[str, Any]]) -> None:
    """Add the states that may result from changes without a response to a stored item."""
    for intent in intents:
        if intent["does"] == "removes":
            thing.may_be_gone = True
        elif intent.get("sha256") is not None:
            thing.contents.add((int(intent["bytes"]), str(intent["sha256"])))
        elif not intent.get("ended"):
            thing.any_content = True


def fate(thing: StoredItem, read: dict[str, Any] | None, absent: Collection[int] = _ABSENT) -> str:
    """Return the result of reading back a stored item: an element of `ITEM_FATES`, or `gone`.

    Parameters
    ----------
    thing : Thing
        Stored item, with its correct states.
    read : dict or None
        Note about the request that read the item back; None if the item was not read.
    absent : collection of int
        Status codes with which a server reports that an item does not exist.
    """
    if read is None:
        return ITEM_UNREAD
    if read.get("absent") or int(read.get("status") or 0) in absent:
        return ITEM_GONE if thing.may_be_gone else ITEM_LOST
    if read.get("failure") is not None:
        return ITEM_UNREADABLE
    right = (read.get("bytes"), read.get("sha256")) in thing.contents
    return ITEM_FOUND if right or thing.any_content else ITEM_DIFFERENT
