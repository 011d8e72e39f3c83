"""Checks that every key of an imported file is converted, reported in a note, harmless, or refused.

Each importer has a table that states, for each key of its format, whether the key is converted, noted or harmless. The
importer passes every key of a file to a `Ledger`. A key that is missing from the table becomes a note. If the table
lists a key as converted but no code has read the key, the importer has a fault. The fault raises an exception in strict
mode (tests) and otherwise becomes a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from towtank.workload.importers.draft import ImportNotes
from towtank.workload.importers.nodes import place_of
from towtank.yamlfile import Node


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
    inner : str
        Construct in the table that the value of the key contains; an empty text if its keys are not checked.
    named : bool
        True if the value maps names to constructs; False if it is a construct or a list of constructs.
    """

    fate: Fate
    why: str = ""
    default: tuple[str, ...] = ()
    inner: str = ""
    named: bool = False


Table = Mapping[str, Mapping[str, Key]]
_ENTRY = re.compile(r"([^=>]+)(?:=([^>]*))?(>{0,2})(\w*)")


def key_table(text: str) -> dict[str, dict[str, Key]]:
    """Parse the table of a format, which states how the importer handles each key.

    A line without indentation names constructs of the format, separated by commas. Each row below it has four blanks of
    indentation and consists of a treatment, keys, and after a colon the result or the reason. Lines with a deeper
    indentation continue the line before them. Later rows of a construct complete or replace earlier ones.

    A key may be followed by values that need no note, `key=first|second`, and by the construct that it contains:
    `key>construct` for a construct or a list of constructs, `key>>construct` for a mapping of names to constructs. A
    key that begins with a dot has the prefix of the key before it.

    Examples
    --------
    >>> found = key_table("page, frame\\n    noted Page.size=0 .style: is not sent")["frame"]
    >>> found["Page.size"].default, found["Page.style"].why
    (('0',), 'is not sent')
    """
    made: dict[str, dict[str, Key]] = {}
    kinds: list[str] = []
    for line in filter(None, re.sub(r"\n {5,}", " ", text).split("\n")):
        if not line.startswith(" "):
            kinds = line.split(", ")
            for kind in kinds:
                made.setdefault(kind, {})
            continue
        row, _, why = line.strip().partition(": ")
        fate, *names = row.split()
        prefix = ""
        for name in names:
            entry = _ENTRY.fullmatch(f"{prefix}{name}" if name.startswith(".") else name)
            assert entry is not None  # tables are constants of the importers, and tests read all of them
            key, default, arrows, inner = entry.groups()
            prefix = key.rpartition(".")[0]
            values = () if default is None else tuple(default.split("|"))
            for kind in kinds:
                made[kind][key] = Key(Fate(fate), why, values, inner, arrows == ">>")
    return made


class UnaccountedError(RuntimeError):
    """Fault of an importer: its table lists a key as converted, but no code has read the key."""


class Ledger:
    """Checks that every key of an imported file is handled as the table of the file's format states.

    With `strict`, a key that is listed as converted but was not read raises an exception. `own` returns True if a key
    that is missing from the table is an extension by the program that wrote the file; such a key is ignored.
    """

    def __init__(
        self, notes: ImportNotes, table: Table, *, strict: bool = False, own: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.notes = notes
        self._table = table
        self._strict = strict
        self._own = own

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
            self.notes.add(place, f"{kind}: {shown}", "was not imported: the importer does not know this key")
        elif entry.fate is Fate.NOTED and value and value not in entry.default:
            self.notes.add(place, f"{kind}: {shown}", entry.why)
        elif entry.fate is Fate.CARRIED and not read and value and value not in entry.default:
            if self._strict:
                raise UnaccountedError(f"{place[0]}:{place[1]}: {kind}: {shown} is listed as carried, but was not read")
            self.notes.add(place, f"{kind}: {shown}", "was not imported: this is a fault of the importer")

    def settle_tree(self, node: Node, kind: str, resolve: Callable[[Node], Node | None] = lambda node: node) -> None:
        """Check all keys in a tree of JSON or YAML nodes, whose root is of a kind in the table. A node to which several
        references lead is checked once.
        """
        waiting, seen = [(node, kind)], set()
        while waiting:
            found, kind = waiting.pop()
            target = resolve(found)
            if target is None or id(target) in seen or not isinstance(target.value, dict):
                continue
            seen.add(id(target))
            for name, child in target.value.items():
                self.settle(kind, name, _shown(child), target.keys.get(name, place_of(child)))
                key = self._table.get(kind, {}).get(name)
                if key is None or not key.inner:
                    continue
                inside = child.value
                if isinstance(inside, dict):
                    waiting += [(each, key.inner) for each in (inside.values() if key.named else (child,))]
                elif isinstance(inside, list):
                    waiting += [(each, key.inner) for each in inside]


def _shown(node: Node) -> str:
    """Return a value as text for notes; an empty text if the node has no value."""
    if isinstance(node.value, dict | list):
        return "..." if node.value else ""
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    return "" if node.value is None else str(node.value)
