"""Records how the logs of a run grow during the load."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

LOOKS_AT_MOST = 256
"""Largest number of recorded lengths per log. When a log exceeds it, every second recorded length of each log is
dropped, and the interval between later records is doubled. [1]
"""
_EVERY_S = 1.0


class LogGrowth:
    """Records the lengths of all logs `NAME.log` in a folder, at most once per second. The clock returns the monotonic
    time. [ns]
    """

    def __init__(self, logs: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._logs, self._clock = logs, clock
        self._every_ns = round(1e9 * _EVERY_S)
        self._next_ns = clock() + self._every_ns
        self.at_start = self.sizes()
        self._last = dict(self.at_start)
        self._looks: dict[str, list[tuple[int, int]]] = {}

    def sizes(self) -> dict[str, int]:
        """Return the current length of each log. [byte]"""
        found = {}
        for path in sorted(self._logs.glob("*.log")):
            try:
                found[path.stem] = path.stat().st_size
            except OSError:
                continue
        return found

    def look(self) -> None:
        """Record the lengths of all logs that have grown if the interval since the last record has passed. [byte]"""
        if self._clock() >= self._next_ns:
            self._note()

    def at_end(self) -> dict[str, int]:
        """Record the lengths of all logs a last time, and return these lengths. [byte]"""
        self._note()
        return dict(self._last)

    def document(self) -> dict[str, list[tuple[int, int]]]:
        """Return pairs of monotonic time [ns] and length [byte] for each log that has grown."""
        return self._looks

    def _note(self) -> None:
        now, sizes = self._clock(), self.sizes()
        for name, size in sizes.items():
            if size != self._last.get(name, 0):
                self._looks.setdefault(name, []).append((now, size))
        self._last = sizes
        if any(len(looks) > LOOKS_AT_MOST for looks in self._looks.values()):
            self._every_ns *= 2
            self._looks = {name: looks[1::2] for name, looks in self._looks.items()}
        self._next_ns = now + self._every_ns
