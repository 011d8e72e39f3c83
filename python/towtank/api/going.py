"""Registers running measurements, so that a session can end all of them."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Protocol

from towtank.errors import Stopped


class Work(Protocol):
    """Measurement that runs in a separate thread."""

    def stop(self) -> None:
        """End the measurement early."""

    def join(self) -> None:
        """Wait until the measurement has ended."""


class Going:
    """Running measurements of a session; several threads may use this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[Work] = []
        self.closed = False

    def refuse_closed(self) -> None:
        """Raise `Stopped` if the session is closed."""
        if self.closed:
            raise Stopped("the session is closed")

    def begins(self, work: Work) -> None:
        """Register a measurement that is about to begin; raise `Stopped` if the session is closed."""
        with self._lock:
            self.refuse_closed()
            self._works.append(work)

    def ended(self, work: Work) -> None:
        """Remove a measurement that has ended."""
        with self._lock:
            if work in self._works:
                self._works.remove(work)

    def close(self) -> None:
        """End all measurements, wait until they have ended, and refuse new measurements."""
        with self._lock:
            self.closed = True
            works = tuple(self._works)
        for work in works:
            work.stop()
        for work in works:
            work.join()


GOING: ContextVar[Going | None] = ContextVar("GOING", default=None)
"""Running measurements of the session in which the current code runs; None outside of sessions."""
