"""Which process a process id stands for: ids are used again, start times are not."""

from __future__ import annotations

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
