"""Identifies processes by process id and start time, because the kernel reuses process ids.

Containers may share a temporary folder without sharing their processes. The file that identifies the owner of a folder
therefore also contains the namespace of process ids. A process cannot check whether a process of another namespace
still runs.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

# Positions of process state and start time in /proc/PID/stat, counted after the closing bracket of the command (fields
# 3 and 22 of proc(5)).
_START_TIME = 19
_STATE = 0


def identity(pid: int) -> tuple[int, int] | None:
    """Return id and start time [clock ticks since boot] of a process; None if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in "ZX" else (pid, int(fields[_START_TIME]))


def is_stopped(pid: int) -> bool:
    """Return True if a signal has stopped a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_STATE] == "T"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Return the ids of the children of a process; any thread of the process may have started them."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


# Pattern of the text that identifies a process: process id, start time and namespace. Older versions of Towtank wrote
# no namespace.
_NOTE = re.compile(rb"(\d{1,10}) (\d{1,20})(?: (\d{1,20}))?")
# Largest length of the text that identifies a process. [byte]
_NOTE_AT_MOST = 64
_NAMESPACE = Path("/proc/self/ns/pid")

Owner = tuple[int, int, int]
"""Type of a process identity: id, start time [clock ticks since boot], and namespace of process ids."""


def own_identity() -> Owner:
    """Return the identity of this process, which a folder stores as its owner."""
    return (*(identity(os.getpid()) or (os.getpid(), 0)), _namespace())


def _namespace() -> int:
    """Return the number of the namespace of process ids that this process is in."""
    return _NAMESPACE.stat().st_ino


def has_ended(owner: Owner) -> bool:
    """Return True if the owner of a folder has ended; False if this cannot be checked."""
    return owner[2] == _namespace() and identity(owner[0]) != owner[:2]


def is_own_folder(path: Path) -> bool:
    """Return True if a path is a folder of this user, and not a link; Towtank reads no files of other users."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def note_identity() -> str:
    """Return the identity of this process as text, in the form that `noted_identity` reads."""
    return " ".join(map(str, own_identity()))


def noted_identity(path: Path) -> Owner | None:
    """Return the process identity that a file of this user contains; None without such a file.

    The function follows no link, and waits for no pipe or device.
    """
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
                return None
            note = _NOTE.fullmatch(os.read(file, _NOTE_AT_MOST).strip())
        finally:
            os.close(file)
        return None if note is None else (int(note[1]), int(note[2]), int(note[3] or _namespace()))
    return None
