"""Measurements that go on, so that a session can end them."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Protocol

from towtank.errors import Stopped


class Work(Protocol):
    """Measurement that goes on in a thread of its own."""

    def stop(self) -> None:
        """End the measurement early."""

    def join(self) -> None:
        """Wait until the measurement has ended."""


class Going:
    """Measurements that go on, in any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[Work] = []
        self.closed = False

    def refuse_closed(self) -> None:
        """Raise `Stopped` if no further measurement may begin."""
        if self.closed:
            raise Stopped("the session is closed")

    def begins(self, work: Work) -> None:
        """Add a measurement that is about to begin; raise `Stopped` if none may begin any more."""
        with self._lock:
            self.refuse_closed()
            self._works.append(work)

    def ended(self, work: Work) -> None:
        """Remove a measurement that has ended."""
        with self._lock:
            if work in self._works:
                self._works.remove(work)

    def close(self) -> None:
        """End all measurements, wait until they have ended, and let no further one begin."""
        with self._lock:
            self.closed = True
            works = tuple(self._works)
        for work in works:
            work.stop()
        for work in works:
            work.join()


GOING: ContextVar[Going | None] = ContextVar("GOING", default=None)
"""Measurements of the session for which the calling thread works; None outside of sessions."""
