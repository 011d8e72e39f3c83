"""Identifies processes by process id and start time, because the kernel reuses process ids.

Containers may share a temporary folder although each has its own process ids. The identity of a process in a file
therefore also contains its namespace of process ids. Towtank cannot check if a process in another namespace still runs.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

# Indexes of the start time and the process state in /proc/PID/stat, counted after the bracket that ends the command
# (fields 22 and 3 of proc(5)).
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
    """Return True if a process is stopped by a signal."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_STATE] == "T"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Return the ids of the children of a process, from all its threads."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


# Text with the identity of a process: process id, start time and namespace. Older versions of Towtank wrote no
# namespace.
_NOTE = re.compile(rb"(\d{1,10}) (\d{1,20})(?: (\d{1,20}))?")
# Largest length of the text with the identity of a process. [byte]
_NOTE_AT_MOST = 64
_NAMESPACE = Path("/proc/self/ns/pid")

Owner = tuple[int, int, int]
"""Identity of a process: process id, start time [clock ticks since boot], and namespace of process ids."""


def own_identity() -> Owner:
    """Return the identity of this process."""
    return (*(identity(os.getpid()) or (os.getpid(), 0)), _namespace())


def _namespace() -> int:
    """Return the number of this process's namespace of process ids."""
    return _NAMESPACE.stat().st_ino


def has_ended(owner: Owner) -> bool:
    """Return True if a process has ended; False if it runs, or runs in another namespace, where this is unknown."""
    return owner[2] == _namespace() and identity(owner[0]) != owner[:2]


def is_own_folder(path: Path) -> bool:
    """Return True if a path is a folder of the current user, and not a symbolic link."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def note_identity() -> str:
    """Return the identity of this process as text for `noted_identity`."""
    return " ".join(map(str, own_identity()))


def noted_identity(path: Path) -> Owner | None:
    """Read the identity of a process from a file; None if the file is not a valid file of the current user.

    The function neither follows a symbolic link nor waits for a pipe or device.
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
