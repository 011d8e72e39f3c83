"""Checks that every key of an imported file is converted, reported in a note, harmless, or refused.

Each importer has a table that states, for each key of its format, whether the key is converted, noted or harmless. The
importer passes every key of a file to a `Ledger`. A key that is missing from the table becomes a note. If the table
lists a key as converted but no code has read the key, the importer has a fault. The fault raises an exception in strict
mode (tests) and otherwise becomes a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from towtank.workload.importers.draft import ImportNotes


class Fate(Enum):
    """Handling of a key by an importer: converted into the workload, reported in a note, or ignored as harmless."""

    CARRIED = "carried"
    NOTED = "noted"
    HARMLESS = "harmless"


@dataclass(frozen=True)
class Key:
    """Handling of a key of a format by its importer.

    Attributes
    ----------
    fate : Fate
        Converted, noted or harmless.
    why : str
        For a converted key, its counterpart in the workload; for a noted key, the text of the note; for a harmless key,
        the reason why nothing is lost.
    default : tuple of str
        Values that need no note, because the other tool assumes them if the key is absent.
    """

    fate: Fate
    why: str = ""
    default: tuple[str, ...] = ()


Table = Mapping[str, Mapping[str, Key]]


def carried(*names: str, why: str = "") -> dict[str, Key]:
    """Declare keys that the importer converts into the workload."""
    return {name: Key(Fate.CARRIED, why) for name in names}


def noted(name: str, why: str, *default: str) -> dict[str, Key]:
    """Declare a key that the importer reports in a note, unless its value is a default value."""
    return {name: Key(Fate.NOTED, why, default)}


def harmless(why: str, *names: str) -> dict[str, Key]:
    """Declare keys that do not change the load, together with the reason."""
    return {name: Key(Fate.HARMLESS, why) for name in names}


class UnaccountedError(RuntimeError):
    """Fault of an importer: its table lists a key as converted, but no code has read the key."""


class Ledger:
    """Checks that every key of an imported file is handled as the table of the file's format states.

    Parameters
    ----------
    notes : ImportNotes
        Receives a note for each key whose value is lost.
    table : Table
        For each kind of construct, the handling of its keys.
    strict : bool
        If True, a key that is listed as converted but was not read raises an exception.
    own : callable
        Returns True if a key that is missing from the table is an extension by the program that wrote the file; such a
        key is ignored.
    """

    def __init__(
        self, notes: ImportNotes, table: Table, *, strict: bool = False, own: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._notes = notes
        self._table = table
        self._strict = strict
        self._own = own

    def note(self, place: tuple[int, int], what: str, why: str) -> None:
        """Add a note on a construct of the imported file. `why` names its replacement, or the reason why it is
        missing.
        """
        self._notes.add(place, what, why)

    def settle(self, kind: str, key: str, value: str, place: tuple[int, int], *, read: bool = True) -> None:
        """Check how a key of the file is handled; add a note if its value is lost.

        Raises
        ------
        UnaccountedError
            In strict mode, if the key is listed as converted but was not read.
        """
        entry = self._table.get(kind, {}).get(key)
        if entry is None and self._own(key):
            return
        shown = f"{key} = {value[:60]!r}" if value and len(value) <= 60 and "\n" not in value else key
        if entry is None:
            self._notes.add(place, f"{kind}: {shown}", "was not imported: the importer does not know this key")
        elif entry.fate is Fate.NOTED and value and value not in entry.default:
            self._notes.add(place, f"{kind}: {shown}", entry.why)
        elif entry.fate is Fate.CARRIED and not read and value and value not in entry.default:
            if self._strict:
                raise UnaccountedError(f"{place[0]}:{place[1]}: {kind}: {shown} is listed as carried, but was not read")
            self._notes.add(place, f"{kind}: {shown}", "was not imported: this is a fault of the importer")
