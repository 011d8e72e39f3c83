"""Reads `equivalent.yaml`, the list of faults that change no result and are therefore not planted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from planting.places import Place, places

FILE = Path(__file__).with_name("equivalent.yaml")


@dataclass(frozen=True)
class Equivalent:
    """Fault that changes no result; it is identified by its function and the text of its expression, not by its line.

    Attributes
    ----------
    path, scope, was, planted : str
        Fields of a `Place`. If `planted` is empty, the entry covers every fault of the expression. If `was` is empty
        as well, the entry covers every fault of the function.
    reason : str
        Reason why the fault has no effect.
    """

    path: str
    scope: str
    was: str
    planted: str
    reason: str

    def is_of(self, place: Place) -> bool:
        """Return True if this entry covers the given fault."""
        same = (self.path, self.scope) == (place.path, place.scope) and self.was in ("", place.was)
        return same and self.planted in ("", place.planted)


def read(file: Path = FILE) -> tuple[list[Equivalent], dict[str, str]]:
    """Read the list of faults without an effect.

    Return the entries for Python, and a mapping for Rust from the fault's name in cargo-mutants to the reason.
    """
    listed = YAML(typ="safe").load(file.read_text("utf-8"))
    python = [
        Equivalent(entry["file"], entry.get("in", ""), entry.get("was", ""), entry.get("planted", ""), entry["reason"])
        for entry in listed["python"]
    ]
    return python, {entry["fault"]: entry["reason"] for entry in listed["rust"]}


def stale(equivalents: list[Equivalent], package: Path) -> list[Equivalent]:
    """Return the entries that match no expression of the package."""
    return [
        entry
        for entry in equivalents
        if not (package / entry.path).exists()
        or not any(entry.is_of(place) for place in places(package / entry.path, package))
    ]
