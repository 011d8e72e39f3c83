"""The metrics page of the content server, which is served even while all workers are busy."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import pytest
from content_nodes import Client, Node
from waiting import PATIENCE_S

pytestmark = pytest.mark.waits

NAMES = {
    "content_server_requests_total", "content_server_request_seconds_sum", "content_server_request_seconds_count",
    "content_server_requests_in_flight", "content_server_worker_threads", "content_server_worker_threads_busy",
    "content_server_queue_length", "content_server_database_pool_size", "content_server_database_pool_in_use",
    "content_server_database_pool_wait_seconds_total", "content_server_database_cpu_seconds_total",
    "content_server_database_seconds_total", "content_server_cache_hits_total", "content_server_cache_misses_total",
    "content_server_storage_bytes_total", "content_server_storage_calls_total",
    "content_server_cache_bytes", "content_server_handles_open", "content_server_documents", "process_cpu_seconds_total",  # noqa: E501
    "process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds",
}  # fmt: skip


def test_names_are_all_there(ann: Client) -> None:
    ann.get("/browser")
    page = ann.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert {name.partition("{")[0] for name in ann.metrics()} >= NAMES
    # a monitoring program can read the metrics page without an account
    assert httpx.get(f"{ann.base_url}/metrics").status_code == 200


def test_counts_follow_the_requests(start: Any) -> None:
    node: Node = start("--threads", "3", "--database-pool", "2", "--content-cache-bytes", "1MiB", "--handle-cache", "2")
    with Client(node.url) as ann:
        ids = [ann.create(f"{n}.txt", b"x" * 1000)["cmis:objectId"] for n in range(4)]
        for id in [*ids, *ids]:
            ann.select("content", objectId=id)
        ann.select("object", objectId="nosuch")
        figures = ann.metrics()
    assert figures['content_server_requests_total{operation="createDocument",status="201"}'] == 4
    assert figures['content_server_requests_total{operation="getContentStream",status="200"}'] == 8
    assert figures['content_server_requests_total{operation="getObject",status="404"}'] == 1
    assert figures['content_server_request_seconds_count{operation="createDocument"}'] == 4
    assert figures['content_server_request_seconds_sum{operation="createDocument"}'] > 0
    assert figures['content_server_cache_misses_total{cache="content"}'] == 4
    assert figures['content_server_cache_hits_total{cache="content"}'] == 4
    assert figures['content_server_cache_misses_total{cache="handles"}'] == 4
    assert figures["content_server_cache_bytes"] == 4000
    # Each of the four contents is written once and read once from storage; later reads come from the cache.
    assert figures['content_server_storage_bytes_total{direction="write"}'] == 4000
    assert figures['content_server_storage_bytes_total{direction="read"}'] == 4000
    assert figures['content_server_storage_calls_total{call="read"}'] == 4
    assert figures['content_server_storage_calls_total{call="sync"}'] == 4
    assert figures['content_server_storage_calls_total{call="open"}'] == 4
    assert figures["content_server_handles_open"] == 2
    assert (figures["content_server_worker_threads"], figures["content_server_database_pool_size"]) == (3, 2)
    assert figures["content_server_database_pool_in_use"] == 0
    assert figures["content_server_requests_in_flight"] == 0
    assert 0 < figures["content_server_database_cpu_seconds_total"] <= figures["process_cpu_seconds_total"]
    assert figures['content_server_database_seconds_total{statement="insert"}'] > 0


def test_page_answers_while_all_workers_are_busy(start: Any) -> None:
    node: Node = start("--threads", "1")
    with Client(node.url) as ann:
        text = ("word " * 200_000).encode()
        id = ann.create("slow.txt", text)["cmis:objectId"]

    enough = threading.Event()

    def convert() -> None:
        with Client(node.url) as user:
            while not enough.is_set():
                assert user.select("content", objectId=id, streamId="pdf").status_code == 200

    threads = [threading.Thread(target=convert) for _ in range(6)]
    for thread in threads:
        thread.start()
    seen = []
    deadline = time.monotonic() + PATIENCE_S
    with Client(node.url, None) as monitor:
        while any(thread.is_alive() for thread in threads):
            figures = monitor.metrics()
            seen.append((figures["content_server_worker_threads_busy"], figures["content_server_queue_length"]))
            if seen[-1] >= (1, 3) or time.monotonic() > deadline:
                enough.set()
        figures = monitor.metrics()
    for thread in threads:
        thread.join()
    assert max(busy for busy, _ in seen) == 1
    assert max(waiting for _, waiting in seen) >= 3
    assert (figures["content_server_worker_threads_busy"], figures["content_server_queue_length"]) == (0, 0)


def test_documents_are_counted(start: Any, tmp_path: Any) -> None:
    first: Node = start()
    with Client(first.url) as ann:
        for n in range(3):
            ann.create(f"{n}.txt")
    first.stop()
    second: Node = start()
    with Client(second.url) as ann:
        figures = ann.metrics()
        while 'content_server_database_seconds_total{statement="documents"}' not in figures:
            figures = ann.metrics()
        assert ann.metrics()["content_server_documents"] == 3
