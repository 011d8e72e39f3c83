"""Costs of the database: elapsed time by kind of statement, and CPU time of the threads inside database
calls.
"""

from __future__ import annotations

import threading
from time import perf_counter, thread_time


class Meter:
    """Counters of the database costs of one node; all threads may use them.

    Attributes
    ----------
    seconds : dict of str to float
        Elapsed time inside the database by kind of statement. [s]
    cpu_seconds : float
        CPU time of this process's threads inside database calls. With SQLite this includes the work of the database;
        with PostgreSQL it is the work of the driver only, because the server runs in other processes. [s]
    pool_in_use : int
        Number of connections that are borrowed from the pool. [1]
    pool_wait_seconds : float
        Total time for which threads have waited for a connection. [s]
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds: dict[str, float] = {}
        self.cpu_seconds = 0.0
        self.pool_in_use = 0
        self.pool_wait_seconds = 0.0

    def add(self, kind: str, elapsed: float, cpu: float) -> None:
        """Add the elapsed time and the CPU time of one statement."""
        with self._lock:
            self.seconds[kind] = self.seconds.get(kind, 0.0) + elapsed
            self.cpu_seconds += cpu

    def lent(self, waited: float) -> None:
        """Count a connection that was borrowed from the pool, and the time for which the thread waited for it."""
        with self._lock:
            self.pool_in_use += 1
            self.pool_wait_seconds += waited

    def returned(self) -> None:
        """Count a connection that was returned to the pool."""
        with self._lock:
            self.pool_in_use -= 1


class Timed:
    """Context manager that adds the elapsed time and the CPU time of its body to the totals of a kind of statement."""

    __slots__ = ("_begin", "_cpu", "_kind", "_meter")

    def __init__(self, meter: Meter, kind: str) -> None:
        self._meter = meter
        self._kind = kind

    def __enter__(self) -> None:
        self._begin = perf_counter()
        self._cpu = thread_time()

    def __exit__(self, *_: object) -> None:
        self._meter.add(self._kind, perf_counter() - self._begin, thread_time() - self._cpu)
