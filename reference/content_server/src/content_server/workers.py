"""Fixed number of worker threads with a common queue. The metrics show the number of threads and the queue length."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")
Job = tuple[Callable[..., Any], tuple[Any, ...], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class WorkerPool:
    """Pool of worker threads that do blocking work for the event loop.

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
        """Number of jobs that wait for a worker, without jobs in progress. [1]"""
        return self._jobs.qsize()

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function on a worker thread and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._jobs.put((function, arguments, future, loop))
        return await future

    def close(self) -> None:
        """End every worker thread after all queued jobs are done."""
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
            # A closed event loop cannot receive results.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, *outcome)
            del job, function, arguments, future, outcome


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # The client has disconnected, so nobody waits for the result.
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
