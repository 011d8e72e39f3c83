"""Several nodes of the content server share one repository; one node is killed while it works."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_nodes import Client, Node, fault

pytestmark = pytest.mark.waits


@pytest.fixture
def pair(start: Any, backend: list[str]) -> Iterator[tuple[Client, Client]]:
    nodes = [start("--sync", "off", "--node", name, *backend, users=name == "one") for name in ("one", "two")]
    with Client(nodes[0].url, "ann") as first, Client(nodes[1].url, "bob") as second:
        yield first, second


def test_nodes_see_each_others_changes_at_once(pair: tuple[Client, Client]) -> None:
    first, second = pair
    folder = first.folder("shared")
    id = first.create("shared.txt", b"one", "/shared")["cmis:versionSeriesId"]
    assert second.select("content", objectId=id).content == b"one"
    assert second.get("/browser").headers["x-content-server-node"] == "two"
    second.act("setContent", objectId=id, content=b"two")
    assert first.select("content", objectId=id).content == b"two"
    first.act("checkOut", objectId=id)
    assert fault(second.act("checkOut", objectId=id)) == (409, "updateConflict")
    first.act("checkIn", objectId=f"{id};pwc", content=b"three")
    assert second.select("content", objectId=id).content == b"three"
    second.act("delete", objectId=id)
    assert fault(first.select("content", objectId=id)) == (404, "objectNotFound")
    assert second.act("delete", objectId=folder).status_code == 200
    late = first.act(
        "createDocument", objectId=folder, properties={"cmis:objectTypeId": "tt:document", "cmis:name": "x"}
    )
    assert fault(late) == (404, "objectNotFound")


def test_of_many_at_once_one_wins(pair: tuple[Client, Client]) -> None:
    id = pair[0].create("race.txt")["cmis:versionSeriesId"]

    def check_out(number: int) -> int:
        return pair[number % 2].act("checkOut", objectId=id).status_code

    def create(number: int) -> int:
        properties = {"cmis:objectTypeId": "tt:document", "cmis:name": "same name"}
        return pair[number % 2].act("createDocument", content=b"x", properties=properties).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(check_out, range(16))) == [201] + [409] * 15
        assert sorted(pool.map(create, range(16))) == [201] + [409] * 15


def test_no_update_is_lost(pair: tuple[Client, Client]) -> None:
    id = pair[0].create("token.txt")["cmis:versionSeriesId"]
    token = pair[0].select("object", objectId=id).json()["succinctProperties"]["cmis:changeToken"]

    def update(number: int) -> int:
        properties = {"tt:status": str(number)}
        return pair[number % 2].act("update", objectId=id, changeToken=token, properties=properties).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(update, range(12))) == [200] + [409] * 11


def _upload(url: str, worker: int, created: list[tuple[str, bytes]], stop: threading.Event) -> None:
    """Create documents until the server ends; record the documents whose creation it confirmed."""
    number = 0
    with Client(url) as client:
        while not stop.is_set():
            number += 1
            content = bytes([worker]) * (1 + number * 20_000 % 900_000)
            try:
                answer = client.act(
                    "createDocument",
                    content=content,
                    properties={"cmis:objectTypeId": "tt:document", "cmis:name": f"{worker}-{number}.txt"},
                )
            except httpx.HTTPError:
                return
            if answer.status_code == 201:
                created.append((answer.json()["succinctProperties"]["cmis:objectId"], content))


@pytest.mark.parametrize("sync", ["on", "off"])
def test_killed_server_leaves_no_half_document(start: Any, tmp_path: Path, sync: str) -> None:
    node: Node = start("--sync", sync)
    created: list[tuple[str, bytes]] = []
    stop = threading.Event()
    workers = [threading.Thread(target=_upload, args=(node.url, n, created, stop)) for n in range(1, 5)]
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 60
    while len(created) < 40 and time.monotonic() < deadline:
        time.sleep(0.01)
    node.process.send_signal(signal.SIGKILL)
    node.process.wait()
    stop.set()
    for worker in workers:
        worker.join()
    assert len(created) >= 40
    (tmp_path / "data" / "area" / "temporary" / "left").write_bytes(b"half a document")
    again: Node = start("--sync", sync)
    with Client(again.url) as ann:
        for id, content in created:
            assert ann.select("content", objectId=id).content == content
        listed = ann.select("children", maxItems=10_000).json()["objects"]
        for member in listed:
            values = member["object"]["succinctProperties"]
            content = ann.select("content", objectId=values["cmis:objectId"]).content
            assert len(content) == values["cmis:contentStreamLength"]
            assert len(set(content)) == 1
        assert len(listed) >= len(created)


def test_sweep_removes_only_what_nobody_knows(start: Any, tmp_path: Path) -> None:
    node: Node = start()
    with Client(node.url) as ann:
        id = ann.create("kept.txt", b"kept")["cmis:objectId"]
        node.stop()
    area = tmp_path / "data" / "area"
    orphan = area / "ab" / "cd" / ("abcd" + "0" * 8 + "4" + "0" * 19)
    orphan.parent.mkdir(parents=True, exist_ok=True)
    left = area / "temporary" / "left"
    young = area / "temporary" / "young"
    for path in (orphan, left, young):
        path.write_bytes(b"x")
    old = time.time() - 7200
    for path in area.rglob("*"):
        if path.is_file() and path != young:
            os.utime(path, (old, old))
    off: Node = start("--sweep", "off")
    assert orphan.exists()
    off.stop()
    on: Node = start()
    assert not orphan.exists()
    assert not left.exists()
    assert young.exists()
    with Client(on.url) as ann:
        assert ann.select("content", objectId=id).content == b"kept"


def test_content_that_is_lost_is_a_storage_fault(start: Any, tmp_path: Path) -> None:
    node: Node = start("--content-cache-bytes", "0", "--handle-cache", "0")
    with Client(node.url) as ann:
        created = ann.create("lost.txt", b"to be lost")
        content_id = created["cmis:contentStreamId"]
        path = tmp_path / "data" / "area" / content_id[:2] / content_id[2:4] / content_id
        path.write_bytes(b"short")
        assert fault(ann.select("content", objectId=created["cmis:objectId"])) == (500, "storage")
        path.unlink()
        assert fault(ann.select("content", objectId=created["cmis:objectId"])) == (500, "storage")


def test_full_disk_is_a_storage_fault(start: Any, tmp_path: Path) -> None:
    node: Node = start()
    limit = 1 << 20
    resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    with Client(node.url) as ann:
        properties = {"cmis:objectTypeId": "tt:document", "cmis:name": "large"}
        # With the first size, the upload fails while it is received. With the second, it fails when it is written to
        # the storage area.
        for size in (3 * limit, limit + 1):
            answer = ann.act("createDocument", content=b"x" * size, properties=properties)
            assert fault(answer) == (500, "storage")
        assert ann.create("small.txt", b"fits")["cmis:name"] == "small.txt"
        assert fault(ann.select("object", "/large")) == (404, "objectNotFound")
    assert list((tmp_path / "data" / "area" / "temporary").iterdir()) == []
