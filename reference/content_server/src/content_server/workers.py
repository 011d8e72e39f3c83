"""Runs jobs on a fixed number of worker threads with a common queue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")
Job = tuple[Callable[..., Any], tuple[Any, ...], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class WorkerPool:
    """Pool of threads that call blocking functions for the event loop.

    Parameters
    ----------
    threads : int
        Number of worker threads, at least 1. [1]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.busy = 0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._workers = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True) for number in range(threads)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def queue_length(self) -> int:
        """Number of jobs that wait for a thread, without jobs in progress. [1]"""
        return self._jobs.qsize()

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function on a worker thread; return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._jobs.put((function, arguments, future, loop))
        return await future

    def close(self) -> None:
        """End the worker threads after all queued jobs; wait at most 5 s for each thread."""
        for _ in self._workers:
            self._jobs.put(None)
        for worker in self._workers:
            worker.join(timeout=5.0)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, arguments, future, loop = job
            with self._lock:
                self.busy += 1
            try:
                outcome: tuple[Any, BaseException | None] = (function(*arguments), None)
            except BaseException as error:
                outcome = (None, error)
            finally:
                with self._lock:
                    self.busy -= 1
            # If the event loop is closed, nothing waits for the result.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, *outcome)
            del job, function, arguments, future, outcome


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # The request was cancelled, because the client disconnected.
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
