"""Accounts for every construct of a foreign file: it is carried, noted, harmless by nature, or refused.

Each importer declares in a table what becomes of each key of its format, and passes every key that it meets in a file
to a `Ledger`. A key that the table does not list becomes a note. A key that the table lists as carried, but that no
reader asked for, is a fault of the importer: an exception in strict mode (tests), a note otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from towtank.workload.importers.draft import Notes


class Fate(Enum):
    """Fate of a key."""

    CARRIED = "carried"
    NOTED = "noted"
    HARMLESS = "harmless"


@dataclass(frozen=True)
class Key:
    """A key of a format.

    Attributes
    ----------
    fate : Fate
        Its fate.
    why : str
        Its counterpart in the workload, the text of the note, or the reason why nothing is lost.
    default : tuple of str
        Values without effect: those that the tool assumes if the key is absent.
    """

    fate: Fate
    why: str = ""
    default: tuple[str, ...] = ()


Table = Mapping[str, Mapping[str, Key]]


def carried(*names: str, why: str = "") -> dict[str, Key]:
    """Declare keys that the importer transfers to the workload."""
    return {name: Key(Fate.CARRIED, why) for name in names}


def noted(name: str, why: str, *default: str) -> dict[str, Key]:
    """Declare a key that becomes a note, unless its value changes nothing."""
    return {name: Key(Fate.NOTED, why, default)}


def harmless(why: str, *names: str) -> dict[str, Key]:
    """Declare keys that do not change the load."""
    return {name: Key(Fate.HARMLESS, why) for name in names}


class UnaccountedError(RuntimeError):
    """A key that the table lists as carried was read by nothing: a fault of the importer."""


class Ledger:
    """Settles every key of a file.

    Parameters
    ----------
    notes : Notes
        Notes, to which lost keys are added.
    table : Table
        Fate of each key, by the kind of the construct that has it.
    strict : bool
        Whether a carried key that was not read is an exception.
    own : callable
        Whether a key that the table does not list belongs to the program that wrote the file, by the format's rule.
    """

    def __init__(
        self, notes: Notes, table: Table, *, strict: bool = False, own: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._notes = notes
        self._table = table
        self._strict = strict
        self._own = own

    def note(self, place: tuple[int, int], what: str, why: str) -> None:
        """Note a construct, with what is done in its place."""
        self._notes.add(place, what, why)

    def settle(self, kind: str, key: str, value: str, place: tuple[int, int], *, read: bool = True) -> None:
        """Account for one key with its value.

        Raises
        ------
        UnaccountedError
            In strict mode, if the key counts as carried and was not read.
        """
        entry = self._table.get(kind, {}).get(key)
        if entry is None and self._own(key):
            return
        shown = f"{key} = {value[:60]!r}" if value and len(value) <= 60 and "\n" not in value else key
        if entry is None:
            self._notes.add(place, f"{kind}: {shown}", "was not carried: this key is not known to the importer")
        elif entry.fate is Fate.NOTED and value and value not in entry.default:
            self._notes.add(place, f"{kind}: {shown}", entry.why)
        elif entry.fate is Fate.CARRIED and not read and value and value not in entry.default:
            if self._strict:
                raise UnaccountedError(f"{place[0]}:{place[1]}: {kind}: {shown} is listed as carried, but was not read")
            self._notes.add(place, f"{kind}: {shown}", "was not carried")
