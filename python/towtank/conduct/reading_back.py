"""Reads back, after the load, the items that the system confirmed to have stored, and compares them with the originals.

Services that an event has ended are restarted first. A failed read is repeated, because it does not prove a loss of
data: the server may have just restarted, or a load balancer may not yet have noticed the restart.
"""

from __future__ import annotations

import csv
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from towtank import marking
from towtank.conduct.display import Display
from towtank.conduct.stopping import StopRequest
from towtank.documents import plain
from towtank.engine import EngineProcess
from towtank.errors import EngineError, TowtankError
from towtank.plan import Plan
from towtank.results import (
    ITEM_FATES,
    ITEM_GONE,
    Damage,
    NewLines,
    RunFolder,
    StoredItem,
    StoredLedger,
    StoredNote,
    stored,
    write_json,
)
from towtank.system import Endpoints, System, describe_status, log_tail

SCHEMA = "towtank/stored/1"
# Largest number of attempts to read an item, and pause between attempts. [1], [s]
_ROUNDS = 4
_BETWEEN_ROUNDS_S = 3.0
_LOOK_EVERY_S = 0.25
# Time after the deadline of the read-back at which an engine that still runs is killed. [s]
_MARGIN_S = 60.0
# Largest number of lost or changed items that the result lists. The engine's notes list all of them. [1]
NAMED_AT_MOST = 1000
_NANOSECONDS = 1e9
# Fields of the note about a read that the result lists.
_RESPONSE = {"status", "failure", "bytes", "sha256"}


@dataclass(frozen=True)
class ReadBack:
    """Settings of the read-back, which checks after the load if stored items still exist.

    Attributes
    ----------
    kinds : mapping of str to tuple of int
        For each kind of item, the status codes by which the system reports that an item does not exist.
    plan : callable
        Function that makes the engine's plan from the kind of item, the file of keys, the folder of the record, and
        the endpoints of the system.
    at_most_s : float
        Time limit of the whole read-back. [s]
    sample : int or None
        Number of items of each kind that are read back; None for all. [1]
    seed : int
        Seed of the sample.
    """

    kinds: Mapping[str, tuple[int, ...]]
    plan: Callable[[str, Path, Path, Endpoints], Plan]
    at_most_s: float
    sample: int | None
    seed: int


def read_back(
    asked: ReadBack, run: RunFolder, system: System, endpoints: Endpoints, *, stop: StopRequest, display: Display
) -> None:
    """Read back the stored items, and write the result to `stored.json`, with the reason if the read-back failed."""
    run.event("read_back_begins")
    reader = _Reader(asked, run, endpoints, stop, display)
    ledger = stored.read_ledger(run.engine)
    document = reader.document(ledger, _heal(run, system) or reader.all(ledger))
    write_json(run.stored, document)
    run.event("read_back_ends", **{key: document[key] for key in ("acknowledged", *ITEM_FATES)})
    if document["lost"] or document["different"]:
        display.note(
            f"  of {document['acknowledged']} stored items: {document['lost']} lost, {document['different']} different"
        )


def _heal(run: RunFolder, system: System) -> str | None:
    """Restart the services that an event has ended. Return the reason if a service does not run; otherwise None."""
    if died := system.ended():
        return f"{died[0].tier} {died[0].text}"
    for name in system.taken_down():
        try:
            system.start(name)
        except TowtankError as error:
            return f"{name} could not be restarted: {error}"
        run.event("started_again", service=name)
    return None


@dataclass(frozen=True)
class _NamedItem:
    """Item that is lost, changed or unreadable, with its correct contents and with the response to the last read."""

    key: str
    fate: str
    acknowledged_s: float
    contents: list[dict[str, int | str]]
    read: dict[str, int | str]


@dataclass(frozen=True)
class _KindRead:
    """Numbers of stored items of one kind [1]; `sample` is True if only a sample of them was to be read."""

    acknowledged: int
    removed: int
    uncertain: int
    read: int
    sample: bool
    found: int
    lost: int
    different: int
    unreadable: int
    unread: int
    named: list[_NamedItem]


class _Reader:
    """Reads back the stored items of one kind after the other, and repeats failed reads."""

    def __init__(
        self, asked: ReadBack, run: RunFolder, endpoints: Endpoints, stop: StopRequest, display: Display
    ) -> None:
        self.asked, self.run, self.endpoints = asked, run, endpoints
        self.stop, self.display = stop, display
        self.fates: dict[str, dict[str, str]] = {}
        self.reads: dict[str, dict[str, StoredNote]] = {}
        self.sampled: dict[str, int] = {}
        self.deadline = time.monotonic() + asked.at_most_s

    def all(self, ledger: StoredLedger) -> str | None:
        """Read back the stored items of all kinds. Return the reason if some items were not read; otherwise None."""
        for kind in self.asked.kinds:
            things = self._chosen(kind, ledger.of(kind))
            if not things or self.stop.requested:
                continue
            self.display.note(f"  reading back {len(things)} {kind}")
            try:
                self._kind(kind, things)
            except (TowtankError, OSError) as error:
                return str(error)
        if self.stop.requested:
            return "the user stopped the run"
        return (
            None if time.monotonic() < self.deadline else f"the read-back took longer than {self.asked.at_most_s:g} s"
        )

    def _chosen(self, kind: str, things: dict[str, StoredItem]) -> dict[str, StoredItem]:
        """Return all items of a kind, or a random sample if the settings limit the number of items."""
        if self.asked.sample is None or len(things) <= self.asked.sample:
            chosen = things
        else:
            keys = random.Random(f"{self.asked.seed}/{kind}").sample(sorted(things), self.asked.sample)
            chosen = {key: things[key] for key in keys}
        self.sampled[kind] = len(chosen)
        return chosen

    def _kind(self, kind: str, things: dict[str, StoredItem]) -> None:
        fates, reads = self.fates.setdefault(kind, {}), self.reads.setdefault(kind, {})
        absent = self.asked.kinds[kind]
        left = list(things)
        for number in range(1, _ROUNDS + 1):
            reads.update(self._round(kind, number, left))
            fates.update({key: stored.fate(things[key], reads.get(key), absent) for key in left})
            # A missing item may reappear while a server recovers, so it is read again, unless its removal was
            # requested.
            left = [key for key in left if fates[key] not in (stored.ITEM_FOUND, stored.ITEM_DIFFERENT, ITEM_GONE)]
            if not left or self.stop.requested or time.monotonic() + _BETWEEN_ROUNDS_S > self.deadline:
                return
            time.sleep(_BETWEEN_ROUNDS_S)

    def _round(self, kind: str, number: int, keys: list[str]) -> dict[str, StoredNote]:
        """Read the given items once; return the engine's note about each item by its key."""
        folder = self.run.read_back / f"{kind}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "keys.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerows([["key"], *([key] for key in keys)])
        engine = folder / "engine"
        plan = self.asked.plan(kind, folder / "keys.csv", engine.absolute(), self.endpoints)
        write_json(folder / "plan.json", plan.document(), private=True)
        status = self._drive(self._engine(folder), engine, set(keys))
        if status not in (0, None):
            words = "".join(f"\n  {line}" for line in log_tail(folder / "engine.log", 5))
            raise EngineError(f"the engine that reads back ended {describe_status(status)}{words}")
        return {note.key: note for _, note in stored.notes(engine, Damage()) if note.k == "read"}

    def _engine(self, folder: Path) -> EngineProcess:
        """Start the engine on the generator's host, because the system may be unreachable from other hosts."""
        entry = self.endpoints.generator.entry()
        environment = {**marking.environment(), **entry.environment}
        return EngineProcess(folder / "plan.json", folder / "engine.log", enter=entry.command, environment=environment)

    def _drive(self, process: EngineProcess, folder: Path, keys: set[str]) -> int | None:
        """Wait until the engine has tried to read all keys, or stop it at the deadline; return its exit status.

        Return None if the engine has no exit status.
        """
        late = self.deadline + _MARGIN_S
        notes, left = NewLines(folder, stored.STORED_NOTES), set(keys)
        asked = False
        try:
            while process.status() is None:
                process.frames(_LOOK_EVERY_S)
                left -= {str(note.get("key")) for _, note in notes.new() if note.get("k") == "read"}
                if not asked and (self.stop.requested or time.monotonic() > self.deadline or not left):
                    asked = True
                    process.stop()
                if time.monotonic() > late:
                    process.kill()
            return process.status()
        finally:
            process.close()

    def document(self, ledger: StoredLedger, reason: str | None) -> dict[str, object]:
        """Return the result of the read-back as JSON for `stored.json`."""
        kinds = {kind: self._kind_read(kind, ledger) for kind in self.asked.kinds}
        keys = ("acknowledged", "removed", "uncertain", "read", *ITEM_FATES)
        return {
            "schema": SCHEMA,
            "run": self.run.run_id,
            "reason": reason,
            **{key: sum(getattr(kind, key) for kind in kinds.values()) for key in keys},
            "kinds": plain(kinds),
            "bad_lines": ledger.damage.bad_lines,
        }

    def _kind_read(self, kind: str, ledger: StoredLedger) -> _KindRead:
        things = ledger.of(kind)
        fates = self.fates.get(kind, {})
        counts = Counter(stored.ITEM_FOUND if fate == ITEM_GONE else fate for fate in fates.values())
        chosen = self.sampled.get(kind, len(things))
        counts[stored.ITEM_UNREAD] += chosen - len(fates)
        return _KindRead(
            acknowledged=len(things),
            removed=ledger.removed.get(kind, 0),
            uncertain=sum(thing.is_uncertain for thing in things.values()),
            read=chosen - counts[stored.ITEM_UNREAD],
            sample=chosen < len(things),
            **{name: counts[name] for name in ITEM_FATES},
            named=self._named(kind, things, fates),
        )

    def _named(self, kind: str, things: dict[str, StoredItem], fates: dict[str, str]) -> list[_NamedItem]:
        """Describe lost, changed and unreadable items, in the order in which the system confirmed their storage."""
        bad = [
            key
            for key, fate in fates.items()
            if fate in (stored.ITEM_LOST, stored.ITEM_DIFFERENT, stored.ITEM_UNREADABLE)
        ]
        bad.sort(key=lambda key: things[key].acknowledged_ns)
        reads = self.reads.get(kind, {})
        return [
            _NamedItem(
                key,
                fates[key],
                things[key].acknowledged_ns / _NANOSECONDS,
                [{"bytes": size, "sha256": digest} for size, digest in sorted(things[key].contents)],
                reads[key].model_dump(include=_RESPONSE, exclude_none=True) if key in reads else {},
            )
            for key in bad[:NAMED_AT_MOST]
        ]
