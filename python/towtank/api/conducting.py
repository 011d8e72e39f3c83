"""Conducts a run in a separate thread, so that the calling thread keeps its CPU affinity.

The conducting thread pins itself to the CPUs of the load generator. The callback for progress runs in the calling
thread. The first interrupt (Ctrl-C) ends the run early and saves the recorded data; the second one does not wait for
pending responses; the third one returns at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from towtank.api.going import GOING
from towtank.api.progress import Callback, Progress, Reporting, Shown
from towtank.conduct import Display, StopRequest
from towtank.errors import Stopped

T = TypeVar("T")
Work = Callable[[Display, StopRequest], T]
_ASKS_BEFORE_LEAVING = 2


class Conducting:
    """Work that runs in a separate thread.

    Parameters
    ----------
    work : callable
        Function that does the work; its arguments are a display for progress, and an object that signals when to stop.
    report : callable
        Called in the calling thread with each progress step.
    """

    def __init__(self, work: Work[T], report: Callback) -> None:
        self._report: Callback | None = report
        self._steps: queue.SimpleQueue[Progress | None] = queue.SimpleQueue()
        self._stop = StopRequest()
        self._may_begin: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._begun = False
        self._stopped_by_other = False
        self._made: Any = None
        self._failed: BaseException | None = None
        self._of_callback: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(work,), name="towtank-conducting", daemon=True)

    def _work(self, work: Work[Any]) -> None:
        try:
            self._may_begin.get()
            self._stop.check()
            self._made = work(Reporting(self._steps.put), self._stop)
        except BaseException as error:  # `outcome` raises this error again in the thread of the caller.
            self._failed = error
        finally:
            self._steps.put(None)

    def stop(self) -> None:
        """End the work early, from another thread; `outcome` then raises `Stopped`."""
        self._stopped_by_other = True
        self._stop.ask()

    def join(self) -> None:
        """Wait until the work has ended."""
        if self._thread.is_alive():
            self._thread.join()

    def outcome(self) -> Any:
        """Wait until the work has ended, and return its result.

        Raises
        ------
        KeyboardInterrupt
            If the caller was interrupted; the work has ended, unless the caller was interrupted three times.
        Stopped
            If another thread ended the work.
        BaseException
            The exception of the work, of the callback, or of a signal handler of the caller. An exception of a signal
            handler ends the work like an interrupt.
        """
        try:
            raised = self._waited()
        finally:
            if self._thread.is_alive():
                self._stop.ask()
        for failed in (raised, self._of_callback, self._failed):
            if failed is not None:
                raise failed
        if self._stopped_by_other:
            raise Stopped("stopped, because the session was closed")
        return self._made

    def _waited(self) -> BaseException | None:
        """Start the work and wait until it ends; return the first exception that an interrupt raised in this thread."""
        raised: BaseException | None = None
        while True:
            try:
                if not self._begun:
                    self._begin()
                self._follow()
                self._thread.join()
                return raised
            except BaseException as error:  # for example KeyboardInterrupt, or an exception of a signal handler
                raised = raised or error
                if not self._begun or self._stop.count >= _ASKS_BEFORE_LEAVING:
                    raise
                self._stop.ask()

    def _begin(self) -> None:
        """Start the thread. If this is interrupted, the work does not begin."""
        try:
            self._thread.start()
            self._begun = True
        finally:
            # After an interrupt, the thread may exist. It waits for this token, and then sees the stop request.
            if not self._begun:
                self._stop.ask()
            self._may_begin.put(None)

    def _follow(self) -> None:
        """Pass progress steps to the callback until the work ends.

        If the callback raises an exception, stop the work and pass no further steps.
        """
        while (step := self._steps.get()) is not None:
            try:
                if self._report is not None:
                    self._report(step)
            except BaseException as error:
                self._report = None
                if not isinstance(error, Exception):
                    raise  # `_waited` handles interrupts
                self._of_callback = error  # `outcome` raises this error when the work has ended.
                self._stop.ask()


def conducted(work: Work[T], progress: Callback | bool | None) -> T:
    """Do work in a separate thread, and return its result.

    Parameters
    ----------
    work : callable
        Function that does the work; its arguments are a display for progress, and an object that signals when to stop.
    progress : callable or bool, optional
        Called with each progress step; True shows the steps on the terminal or in the notebook.
    """
    # Threads that a library starts during its import inherit the CPU affinity of the importing thread. So the import
    # takes place here, before the conducting thread pins itself to the CPUs of the load generator.
    import towtank.analysis  # noqa: F401, PLC0415

    shown = Shown() if progress is True else None
    report: Callback = shown if shown is not None else progress if callable(progress) else _silent
    conducting, going = Conducting(work, report), GOING.get()
    done = False
    try:
        if going is not None:
            going.begins(conducting)
        made: T = conducting.outcome()
        done = True
        return made
    finally:
        if going is not None:
            going.ended(conducting)
        if shown is not None:
            shown.close(done=done)


def _silent(step: Progress) -> None:
    """Ignore a progress step."""
