"""Which process a process id stands for: ids are used again, start times are not."""

from __future__ import annotations

from pathlib import Path

# Position of `starttime` in /proc/PID/stat, counted from the field after the command's closing bracket (proc(5): field 22).
_START_TIME = 19
_STATE = 0


def identity(pid: int) -> tuple[int, int] | None:
    """Process id and start time [clock ticks since boot]; None when no such process lives."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in "ZX" else (pid, int(fields[_START_TIME]))
