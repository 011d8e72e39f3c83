"""Growth of the logs of a run while the load goes on: how long each log was, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

LOOKS_AT_MOST = 256
"""Looks kept of each log; beyond it every other one is left out, and looks are taken half as often."""
_EVERY_S = 1.0


class LogGrowth:
    """Records the lengths of all logs in a folder, at most once a second.

    Parameters
    ----------
    logs : Path
        Folder of the logs, `NAME.log`.
    clock : callable, optional
        Monotonic time. [ns]
    """

    def __init__(self, logs: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._logs, self._clock = logs, clock
        self._every_ns = round(1e9 * _EVERY_S)
        self._next_ns = clock() + self._every_ns
        self.at_start = self.sizes()
        self._last = dict(self.at_start)
        self._looks: dict[str, list[tuple[int, int]]] = {}

    def sizes(self) -> dict[str, int]:
        """Length of each log now. [bytes]"""
        found = {}
        for path in sorted(self._logs.glob("*.log")):
            try:
                found[path.stem] = path.stat().st_size
            except OSError:
                continue
        return found

    def look(self) -> None:
        """Note the logs that have grown, where the last look was long enough ago."""
        if self._clock() >= self._next_ns:
            self._note()

    def at_end(self) -> dict[str, int]:
        """Look for the last time; length of each log. [bytes]"""
        self._note()
        return dict(self._last)

    def document(self) -> dict[str, list[tuple[int, int]]]:
        """Looks at each log that has grown: monotonic time [ns] and length [bytes]."""
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
