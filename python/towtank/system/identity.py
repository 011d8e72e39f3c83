"""Which process a process id stands for: ids are used again, start times are not."""

from __future__ import annotations

import os
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


# Two numbers and a space; more is no note of ours. [byte]
_NOTE_AT_MOST = 64


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder of this user, not a link: what others put into a temporary folder is not looked at."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def noted_identity(path: Path) -> tuple[int, int] | None:
    """Identity of a process as it stands in a file of this user; None where there is no such file.

    A pipe, a device or a link that somebody put there is neither waited for nor followed.
    """
    with suppress(OSError, ValueError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
                return None
            pid, start = map(int, os.read(file, _NOTE_AT_MOST).split())
        finally:
            os.close(file)
        return pid, start
    return None
