"""Shows progress on standard error: a bar on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

# Interval between two lines of progress. [s]
LINE_INTERVAL = 10.0


class Progress:
    """Progress display that counts finished items.

    Parameters
    ----------
    name : str
        Name of the counted items.
    total : int
        Total number of the counted items. [1]
    quiet : bool
        If true, show nothing.
    """

    def __init__(self, name: str, total: int, quiet: bool = False) -> None:
        self._name, self._total, self._done = name, total, 0
        self._lines = not quiet and not sys.stderr.isatty()
        self._next = time.monotonic() + LINE_INTERVAL
        self._bar: Bar | None = None
        if not quiet and not self._lines:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(name, total=total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Increase the count of finished items."""
        self._done += count
        if self._bar is not None:
            self._bar.advance(self._task, count)
        elif self._lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_INTERVAL
            print(f"{self._name}: {self._done} of {self._total}", file=sys.stderr, flush=True)
