"""Limits that the kernel sets a process of a service: open files, and processes of its user."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Read = Callable[[str], str | None]
"""Reads a small file of the machine that the process is on; None if it cannot be read."""

_NAMES = {"open_files": "Max open files", "processes": "Max processes"}


def limits_below(guard: int, read: Read) -> dict[str, int | None]:
    """Return the soft limits in force of the command that a guard runs.

    Parameters
    ----------
    guard : int
        Process id of the guard, on its machine.
    read : callable
        Reads files of that machine.

    Returns
    -------
    dict
        `open_files` of each process and `processes` (with threads, of the user of the process). None stands for no
        limit; what cannot be read is left out.
    """
    children = (read(f"/proc/{guard}/task/{guard}/children") or "").split()
    return parse_limits(read(f"/proc/{children[0]}/limits") or "") if children else {}


def parse_limits(text: str) -> dict[str, int | None]:
    """Read the soft limits from the text of `/proc/PID/limits`.

    Examples
    --------
    >>> parse_limits("Max open files            1024                 524288               files     ")
    {'open_files': 1024}
    """
    found: dict[str, int | None] = {}
    for key, name in _NAMES.items():
        match = re.search(rf"^{name}\s+(\d+|unlimited)\s", text, re.MULTILINE)
        if match is not None:
            found[key] = int(match[1]) if match[1] != "unlimited" else None
    return found


def read_here(path: str) -> str | None:
    """Read a small file of this machine; None if it cannot be read."""
    with suppress(OSError):
        return Path(path).read_text("utf-8", "replace")
    return None
