"""Handles the user's requests to stop: the first one ends the work in order, the second one exits immediately.

The results of completed work are kept in both cases.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from towtank.errors import ExitStatus, Stopped

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = "\x1b[?25h"


class StopRequest:
    """Request of the user to stop, made by the method `ask`, by Ctrl-C, by SIGTERM, or by closing the terminal.

    Signals are handled only during the `with` block, which restores the previous signal handlers at its end.
    `on_second` is called at the second request, before the process exits, and must be fast and not raise; `leaving` is
    called last, and removes discarded records. For the messages to the user, `waits_for` describes the work that
    remains after the first request, and `kept` is the folder with the records; None if they are discarded.
    """

    def __init__(self) -> None:
        self.count = 0
        self.on_second: Callable[[], None] | None = None
        self.waits_for = "results are being finished"
        self.kept: str | None = None
        self.leaving: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        return self.count > 0

    def ask(self) -> None:
        """Request a stop. A second call also ends the wait for pending responses."""
        self.count += 1
        if self.count > 1 and self.on_second is not None:
            self.on_second()

    def check(self) -> None:
        """Raise `Stopped` if the user has requested a stop."""
        if self.requested:
            raise Stopped("stopped by the user")

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.count += 1
        if self.count == 1:
            _say(f"stopping: {self.waits_for}; a second Ctrl-C or signal exits immediately")
            return
        # The process can exit without clean-up, because its guards, the engine and the probe end when their standard
        # input is closed.
        if self.on_second is not None:
            self.on_second()
        if self.leaving is not None:
            self.leaving()
        kept = f"the record is kept in {self.kept}" if self.kept else "nothing is kept"
        _say(f"exited immediately; {kept}")
        os._exit(ExitStatus.STOPPED)


def _say(text: str) -> None:
    """Print a text without buffers and locks, as a signal handler must."""
    cursor = _SHOW_CURSOR if sys.stderr.isatty() else ""
    with suppress(OSError):
        os.write(2, f"{cursor}\n{text}\n".encode())
