"""Measures elapsed time and CPU time of database calls, and the use of the connection pool."""

from __future__ import annotations

import threading
from time import perf_counter, thread_time


class Meter:
    """Counters of the database calls of a node; the methods are thread-safe.

    Attributes
    ----------
    seconds : dict of str to float
        Total elapsed time of statements by kind of statement. [s]
    cpu_seconds : float
        CPU time of this process's threads in database calls. With SQLite, this includes the CPU time of the database;
        with PostgreSQL, only that of the client library, because the server runs in other processes. [s]
    pool_in_use : int
        Number of connections that are currently borrowed from the pool. [1]
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
        with self._lock:
            self.seconds[kind] = self.seconds.get(kind, 0.0) + elapsed
            self.cpu_seconds += cpu

    def lent(self, waited: float) -> None:
        """Count a connection that was borrowed from the pool, and the time that the thread waited for the connection.
        [s]
        """
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
