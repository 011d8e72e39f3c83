"""Finds the processes of a run by their role, so that a test can kill or stop them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from towtank.system.hosts.cleaning import JANITOR

PARTS = ("conductor", "engine", "probe", "guard", "service", "janitor")
_OF_ENGINE = {"load": "engine", "probe": "probe", "guard": "guard", "null-server": "service"}


def part_of(arguments: list[str]) -> str | None:
    """Return the role of a Towtank process, according to its command line; None for helpers and other programs.

    Examples
    --------
    >>> part_of(["/usr/bin/towtank-engine", "guard", "--", "/usr/bin/towtank-engine", "null-server"])
    'guard'
    """
    if JANITOR in arguments:
        return "janitor"
    if len(arguments) > 1 and arguments[0].endswith("towtank-engine"):
        return _OF_ENGINE.get(arguments[1])
    return None


def descendants(pid: int) -> Iterator[int]:
    """Yield the descendants of a process, including processes that its threads started."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                yield child
                yield from descendants(child)


def processes_of_part(conductor: int, part: str) -> list[int]:
    """Return the ids of a run's processes with the given role, in the order of their start."""
    if part == "conductor":
        return [conductor]
    found = []
    for pid in descendants(conductor):
        with suppress(OSError):
            arguments = os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
            if part_of(arguments) == part:
                found.append(pid)
    return found
