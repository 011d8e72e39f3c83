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

from towtank.results import lines
from towtank.results.stream_forms import Content, StoredNote

STORED_NOTES = "stored-*.ndjson"
# Kinds of failure after which the item is certainly unchanged: no connection was made, the request was not sent, or the
# server refused the request.
_NOT_DONE = ("connect", "internal", "status_4xx", "refused")
_ABSENT = (404, 410)
_Key = tuple[str, str]  # Kind and key that identify a stored item.
_Begin = tuple[str, int]  # File of the load thread, and start of the request. [ns]
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


@dataclass(frozen=True)
class _Intent:
    """Change of an item without an acknowledgement: `does` is `replaces` or `removes`. The new content is None if it is
    not known.
    """

    does: str | None
    content: Content | None
    has_ended: bool = False


@dataclass
class StoredLedger:
    """Stored items of a run by kind and key, and the number of acknowledged removals by kind."""

    things: dict[str, dict[str, StoredItem]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)

    def of(self, kind: str) -> dict[str, StoredItem]:
        """Return the stored items of one kind, by key."""
        return self.things.get(kind, {})


def notes(folder: Path, damage: lines.Damage) -> Iterator[tuple[str, StoredNote]]:
    """Yield all notes about stored items in the folder `RUN/engine`, each with the name of its file, one load thread
    after the other. Malformed notes are skipped, and counted in `damage`.
    """
    for path in sorted(folder.glob(STORED_NOTES)):
        for document in lines.read(path, damage):
            if document.get("k") == "header":
                continue
            try:
                yield path.name, StoredNote.model_validate(document)
            except ValueError:
                damage.bad_lines += 1


def read_ledger(folder: Path) -> StoredLedger:
    """Read the acknowledgements of a run in order of time, and return the resulting ledger of stored items."""
    ledger = StoredLedger()
    open_: dict[_Key, dict[_Begin, _Intent]] = {}
    last: dict[_Key, list[_Change]] = {}
    for file, note in sorted(notes(folder, ledger.damage), key=lambda each: each[1].t_ns):
        if not _take(ledger, open_.setdefault((note.of, note.key), {}), last, file, note):
            ledger.damage.bad_lines += 1
    for (kind, key), changes in last.items():
        if (thing := _thing(changes)) is not None:
            ledger.things.setdefault(kind, {})[key] = thing
            _leave_open(thing, open_.get((kind, key), {}).values())
    return ledger


def _take(
    ledger: StoredLedger, intents: dict[_Begin, _Intent], last: dict[_Key, list[_Change]], file: str, note: StoredNote
) -> bool:
    """Update the ledger by one note of the engine, and return True if the note is complete. A note about the end of a
    request refers to the note about its intent by thread and start time.
    """
    if note.k == "begun":
        intents[file, note.t_ns] = _Intent(note.does, note.content)
        return True
    begun_ns, item = note.begun_ns, (note.of, note.key)
    if begun_ns is None:
        return False
    begun = intents.pop((file, begun_ns), None)
    if note.k == "failed":
        if begun is not None and note.unknown:
            intents[file, begun_ns] = begun
        elif begun is not None and note.failure not in _NOT_DONE:
            intents[file, begun_ns] = _Intent(begun.does, note.content, has_ended=True)
        return True
    if note.k not in ("stored", "removed"):
        return True
    if note.k == "stored" and note.content is None:
        return False
    change = _Change(begun_ns, note.t_ns, note.content if note.k == "stored" else None)
    # A change that was acknowledged before this request was sent cannot be the last change, so it is removed.
    last[item] = [*(each for each in last.get(item, []) if each.acknowledged_ns > begun_ns), change]
    if note.k == "removed":
        ledger.removed[note.of] = ledger.removed.get(note.of, 0) + 1
    return True


def _thing(changes: list[_Change]) -> StoredItem | None:
    """Return the item if any of the given changes may be its last change; None if all of them are removals."""
    stored = [change for change in changes if change.content is not None]
    if not stored:
        return None
    contents = {change.content for change in stored if change.content is not None}
    return StoredItem(
        max(change.acknowledged_ns for change in stored), contents, may_be_gone=len(stored) < len(changes)
    )


def _leave_open(thing: StoredItem, intents: Iterable[_Intent]) -> None:
    """Add the states that may result from changes without a response to a stored item."""
    for intent in intents:
        if intent.does == "removes":
            thing.may_be_gone = True
        elif intent.content is not None:
            thing.contents.add(intent.content)
        elif not intent.has_ended:
            thing.any_content = True


def fate(thing: StoredItem, read: StoredNote | None, absent: Collection[int] = _ABSENT) -> str:
    """Return the result of reading back a stored item: an element of `ITEM_FATES`, or `gone`. `read` is the note about
    the request that read the item back; None if the item was not read. With the status codes `absent`, a server
    reports that an item does not exist.
    """
    if read is None:
        return ITEM_UNREAD
    if read.absent or (read.status or 0) in absent:
        return ITEM_GONE if thing.may_be_gone else ITEM_LOST
    if read.failure is not None:
        return ITEM_UNREADABLE
    return ITEM_FOUND if read.content in thing.contents or thing.any_content else ITEM_DIFFERENT
