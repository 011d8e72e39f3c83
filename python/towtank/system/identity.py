"""Which process a process id stands for: ids are used again, start times are not.

Containers may share a temporary folder and not their processes. So notes of who owns a folder there name the namespace
of the ids, too: nobody here can see whether a process of another namespace lives.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

# Places of state and start time in /proc/PID/stat after the command's closing bracket (fields 3 and 22 of proc(5)).
_START_TIME = 19
_STATE = 0


def identity(pid: int) -> tuple[int, int] | None:
    """Process id and start time [clock ticks since boot]; None when no such process lives."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in "ZX" else (pid, int(fields[_START_TIME]))


# Id, start time and namespace; notes of before had no third number.
_NOTE = re.compile(rb"(\d{1,10}) (\d{1,20})(?: (\d{1,20}))?")
# More is no note of ours. [byte]
_NOTE_AT_MOST = 64
_NAMESPACE = Path("/proc/self/ns/pid")

Owner = tuple[int, int, int]
"""Process id, start time [clock ticks since boot] and the number of the namespace of process ids."""


def own_identity() -> Owner:
    """This process, for notes."""
    return (*(identity(os.getpid()) or (os.getpid(), 0)), _namespace())


def _namespace() -> int:
    """Number of the namespace that process ids of this process are from."""
    return _NAMESPACE.stat().st_ino


def has_ended(owner: Owner) -> bool:
    """Whether a process that was noted is gone; one that cannot be looked for is not."""
    return owner[2] == _namespace() and identity(owner[0]) != owner[:2]


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder of this user, not a link: what others put into a temporary folder is not looked at."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def note_identity() -> str:
    """This process as `noted_identity` reads it."""
    return " ".join(map(str, own_identity()))


def noted_identity(path: Path) -> Owner | None:
    """Identity of a process as it stands in a file of this user; None where there is no such file.

    A pipe, a device or a link that somebody put there is neither waited for nor followed.
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
