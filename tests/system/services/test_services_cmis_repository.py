"""A real CMIS document repository with two nodes: creation of documents, clustering, observation, kill, and removal."""

from __future__ import annotations

import csv
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cmis_client import CmisClient

from towtank.observe.scraper import series_name
from towtank.system.build import build_system, make_service
from towtank.system.model import load_system
from towtank.system.services.cmis_population import SEARCHES_FOLDER
from towtank.system.system import Endpoints, System

SYSTEM = """
schema: towtank/system/1
name: repository
hosts: {here: {provider: local}}
services:
  store: {kind: postgresql, host: here}
  content:
    kind: cmis_repository
    host: here
    settings:
      nodes: 2
      threads: 24
      sync_delay: 100 ms
      jvm: {heap: 192 MiB, nursery: 64 MiB, collector: parallel, gc_threads: 1}
    population: {scale: 0.00001, seed: 3}
start_timeout: 2 min
"""
# Time limit for the start of two JVMs and the creation of the documents, on a busy machine. [s]
WITHIN_S = 60.0

pytestmark = [
    pytest.mark.waits,
    pytest.mark.postgresql,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("repository"),
]


class Running:
    """A running repository, its addresses, and its folder."""

    def __init__(self, system: System, endpoints: Endpoints, folder: Path) -> None:
        self.system, self.endpoints, self.folder = system, endpoints, folder
        self.nodes = [CmisClient(address) for address in endpoints.addresses["content"]]
        (self.service,) = [service for service in system._services if service.name == "content"]

    def rows(self, name: str) -> list[dict[str, str]]:
        with self.endpoints.exports["content"][f"{name}_csv"].open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOWTANK_STATE", str(folder / "state"))
        patch.setenv("TOWTANK_RUN", str(folder))
        (folder / "system.yaml").write_text(SYSTEM)
        file = load_system(folder / "system.yaml")
        for name, part in file.services.items():
            if missing := make_service(name, part, folder).missing():
                pytest.skip(missing)
        with build_system(file, folder, folder / "logs") as system:
            yield Running(system, system.up(), folder)
    assert processes_of(folder) == []


def processes_of(mark: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"TOWTANK_RUN={mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def until(true: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WITHIN_S
    while not (value := true()):
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.05)
    return value


@pytest.mark.smoke
def test_every_listed_document_is_there_under_its_identifier(running: Running) -> None:
    for number, row in enumerate(running.rows("documents")):
        found = running.nodes[number % 2].of(row["id"])
        assert (found["cmis:name"], found["cmis:versionSeriesId"]) == (row["name"], row["id"])
        assert (found["cmis:contentStreamLength"], found["cmis:contentStreamMimeType"]) == (
            int(row["bytes"]),
            row["mime_type"],
        )
    for row in running.rows("folders"):
        assert running.nodes[0].of(row["id"])["cmis:path"] == row["path"]


def test_searches_and_words_are_found_on_every_node(running: Running) -> None:
    texts = [row for row in running.rows("documents") if row["mime_type"] == "text/plain"]
    content = running.nodes[0].content(texts[0]["id"])
    assert len(content) == int(texts[0]["bytes"])
    word = next(word for word in content.decode().split() if word.isalpha() and len(word) > 5)
    for node in running.nodes:
        in_folder = node.query(f"SELECT cmis:objectId FROM cmis:document WHERE IN_FOLDER('{SEARCHES_FOLDER}')")
        assert {member["cmis:objectId"] for member in in_folder} == {row["id"] for row in running.rows("searches")}
        found = node.query(f"SELECT cmis:objectId FROM cmis:document WHERE CONTAINS('{word}')")
        assert texts[0]["id"] in {hit["cmis:objectId"] for hit in found}


def test_what_one_node_stores_the_other_gives_and_the_content_lies_once_in_the_folder(running: Running) -> None:
    first, second = running.nodes
    contents = running.service._contents_on(running.service.host)
    before = {path for path in contents.rglob("*") if path.is_file()}
    text = b"harbour " * 1000
    made = first.create(first.at("/inbox/000")["cmis:objectId"], "new.txt", text)
    identifier = made["cmis:objectId"]
    until(lambda: second.send("/root", {"objectId": identifier, "cmisselector": "object"})[0] == 200)
    assert second.content(identifier) == text
    (stored,) = {path for path in contents.rglob("*") if path.is_file()} - before
    assert stored.read_bytes() == text


@pytest.mark.smoke
def test_settings_reach_the_running_jvm_and_the_sheet_names_the_files(running: Running) -> None:
    used = running.endpoints.settings["content"]
    for node in ("content", "content-2"):
        reported = used["jvm_told"][node]
        assert reported["max_capacity"] == "192M"
        assert reported["parallel_workers"] == "1"
    assert used["files"]["org.apache.jackrabbit:jackrabbit-webapp"].startswith("2.20.17, SHA-256 7ac58928")
    assert len(used["files"]) == 4
    process = running.system.processes()["content"].pid
    (java,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    command = Path(f"/proc/{java}/cmdline").read_bytes().decode().split("\0")
    assert {"-Xmx201326592", "-Xmn67108864", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=1"} < set(command)


def test_requests_and_collections_are_counted(running: Running) -> None:
    scrapers = {scraper.service: scraper for scraper in running.endpoints.scrapers}
    assert {"content", "content-jvm", "content-2", "content-2-jvm", "store"} <= set(scrapers)
    before = scrapers["content"].scrape()
    for _ in range(5):
        running.nodes[0].at("/inbox")
    for name in ("jetty_requests_total", series_name("jetty_answers_total", status="2xx")):
        # The server counts a request only after it has sent the response.
        until(lambda name=name: scrapers["content"].scrape()[name] >= before[name] + 5)
    values = scrapers["content-2-jvm"].scrape()
    assert values["jvm_heap_limit_bytes"] == 192 * 2**20
    assert values[series_name("jvm_gc_pauses_total", kind="young")] >= 1
    assert values["jvm_allocated_bytes_total"] > 0
    for scraper in scrapers.values():
        scraper.close()


def test_a_node_that_is_killed_is_reported_and_the_other_goes_on(running: Running) -> None:
    process = running.system.processes()["content-2"].pid
    (java,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    os.kill(int(java), signal.SIGKILL)
    ended = until(running.system.ended)
    assert [(end.tier, end.text) for end in ended] == [("content-2", "ended by signal 9")]
    row = running.rows("documents")[0]
    assert running.nodes[0].of(row["id"])["cmis:name"] == row["name"]
