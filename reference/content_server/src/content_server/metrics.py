"""Generates the page `/metrics` in the Prometheus text format."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from content_server.repository import Repository
from content_server.workers import WorkerPool

# Shortest pause between two counts of all documents, which require a database query. [s]
COUNT_INTERVAL = 10.0
# Largest share of time for counting documents; a large repository is therefore counted less often. [1]
COUNT_SHARE = 0.001


@dataclass
class RequestCounters:
    """Counts of the requests of a node; only the thread of the event loop changes the counts.

    Attributes
    ----------
    total : dict of (operation, status) to int
        Number of finished requests. [1]
    seconds : dict of operation to (count, seconds)
        Number of requests [1] and the sum of their times up to the last sent byte [s], by operation.
    in_flight : int
        Number of requests in progress. [1]
    """

    total: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[str, tuple[int, float]] = field(default_factory=dict)
    in_flight: int = 0

    def finished(self, operation: str, status: int, elapsed: float) -> None:
        key = (operation, str(status))
        self.total[key] = self.total.get(key, 0) + 1
        count, total = self.seconds.get(operation, (0, 0.0))
        self.seconds[operation] = (count + 1, total + elapsed)


class DocumentCounter:
    """Thread that counts the documents at intervals, so that the metrics page need not wait for the database."""

    def __init__(self, repository: Repository) -> None:
        self.documents = 0
        self._repository = repository
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="document-counter", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            begin = time.perf_counter()
            with self._repository.database.read() as session:
                row = session.row(
                    "documents",
                    "SELECT count(*) FROM object WHERE latest = 1 AND type IN (?, ?)",
                    ("cmis:document", "tt:document"),
                )
            self.documents = row[0] if row else 0
            pause = max(COUNT_INTERVAL, (time.perf_counter() - begin) / COUNT_SHARE)

    def close(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=5.0)


class ServerCollector(Collector):
    """Collector of all metrics of a node for `prometheus_client`."""

    def __init__(
        self,
        repository: Repository,
        workers: WorkerPool,
        requests: RequestCounters,
        documents: DocumentCounter,
    ) -> None:
        self._repository = repository
        self._workers = workers
        self._requests = requests
        self._documents = documents

    def collect(self) -> Iterator[Metric]:
        yield from self._request_metrics()
        yield from self._database_metrics()
        yield from self._cache_metrics()
        yield from self._storage_metrics()
        workers = self._workers
        yield _gauge("worker_threads", "Worker threads.", workers.threads)
        yield _gauge("worker_threads_busy", "Worker threads that execute a job of a request.", workers.busy)
        yield _gauge(
            "queue_length",
            "Jobs of requests that wait for a worker thread.",
            workers.queue_length,
        )
        yield _gauge("documents", "Documents in the repository at the last count.", self._documents.documents)

    def _request_metrics(self) -> Iterator[Metric]:
        requests = self._requests
        total = CounterMetricFamily("content_server_requests", "Finished requests.", labels=["operation", "status"])
        for key, count in list(requests.total.items()):
            total.add_metric(key, count)
        yield total
        seconds = SummaryMetricFamily(
            "content_server_request_seconds",
            "Time from the arrival of requests to the last sent byte.",
            labels=["operation"],
        )
        for operation, (count, elapsed) in list(requests.seconds.items()):
            seconds.add_metric([operation], count, elapsed)
        yield seconds
        yield _gauge("requests_in_flight", "Requests in progress.", requests.in_flight)

    def _database_metrics(self) -> Iterator[Metric]:
        database = self._repository.database
        meter = database.meter
        yield _gauge("database_pool_size", "Connections of the database pool.", database.pool_size)
        yield _gauge("database_pool_in_use", "Connections of the database pool in use.", meter.pool_in_use)
        yield CounterMetricFamily(
            "content_server_database_pool_wait_seconds",
            "Time that threads waited for a database connection.",
            meter.pool_wait_seconds,
        )
        yield CounterMetricFamily(
            "content_server_database_cpu_seconds",
            "CPU time of threads inside database calls.",
            meter.cpu_seconds,
        )
        seconds = CounterMetricFamily(
            "content_server_database_seconds", "Elapsed time of database calls.", labels=["statement"]
        )
        for kind, elapsed in list(meter.seconds.items()):
            seconds.add_metric([kind], elapsed)
        yield seconds

    def _storage_metrics(self) -> Iterator[Metric]:
        storage = self._repository.storage
        asked = CounterMetricFamily(
            "content_server_storage_bytes",
            "Bytes read from and written to content files; cache hits are not included.",
            labels=["direction"],
        )
        for direction, size in list(storage.meter.bytes.items()):
            asked.add_metric([direction], size)
        yield asked
        calls = CounterMetricFamily(
            "content_server_storage_calls", "File system calls for content files.", labels=["call"]
        )
        # The cache of open files opens a file at each miss, so the number of misses is the number of calls of `open`.
        for call, count in {**storage.meter.calls, "open": storage.handles.misses}.items():
            calls.add_metric([call], count)
        yield calls

    def _cache_metrics(self) -> Iterator[Metric]:
        storage = self._repository.storage
        hits = CounterMetricFamily(
            "content_server_cache_hits", "Look-ups that found an entry in the cache.", labels=["cache"]
        )
        misses = CounterMetricFamily(
            "content_server_cache_misses", "Look-ups that found no entry in the cache.", labels=["cache"]
        )
        for name, cache in (("content", storage.cache), ("handles", storage.handles)):
            hits.add_metric([name], cache.hits)
            misses.add_metric([name], cache.misses)
        yield hits
        yield misses
        yield _gauge("cache_bytes", "Bytes in the content cache.", storage.cache.bytes)
        yield _gauge("handles_open", "Open content files.", storage.handles.open_count)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"content_server_{name}", text, value)


class MetricsPage:
    """Generator of the page `/metrics`."""

    def __init__(self, collector: Collector) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(collector)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """Return the metrics page in the Prometheus text format 0.0.4."""
        return generate_latest(self._registry)
