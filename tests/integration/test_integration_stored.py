"""Documents that users stored are read back after a run: lost and changed documents are detected."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench

from towtank.results.stored import read_ledger

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: forgetful
services:
  shelf: {{kind: existing, address: "http://127.0.0.1:{port}"}}
"""
STUDY = """
schema: towtank/study/1
name: forgetful
question: Is everything there?
system: system.yaml
workload: workload.yaml
factors: {{users: [4]}}
load: {{kind: closed, stages: {{steady: 6 s}}}}
read_back: {read_back}
objectives: [stored.lost <= 0]
claims:
  - says: Nothing is lost.
    measure: {{value: {{of: stored.lost, at: {{users: 4}}}}}}
    holds: "<= 0"
"""
WORKLOAD = """
schema: towtank/workload/1
name: shelve
transactions:
  put:
    - set: {kept: "${uuid}"}
    - put: /${kept}
      multipart: {title: "x", content: {generated: {size: 100 KiB, form: text}, filename: "${kept}.txt"}}
      check: {status: 201}
      stores: {documents: "${kept}"}
    - branch: 30 %
      then:
        - put: /${kept}
          body: another content ${uuid}
          check: {status: 201}
          replaces: {documents: "${kept}"}
    - branch: 20 %
      then:
        - delete: /${kept}
          check: {status: 200}
          removes: {documents: "${kept}"}
  look:
    - get: /${stored.key}
      reads: documents
groups:
  users: {loop: {think: 20 ms, mix: {put: 100}}}
stored:
  documents: {read_back: look}
"""


@dataclass
class Shelf:
    """Documents on a test server, and the names of documents that the server lost or changed after it had confirmed
    them.
    """

    held: dict[str, bytes] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    removed: int = 0

    def take(self, key: str, content: bytes) -> None:
        """Store a document. Discard an eighth of all documents, and truncate another eighth."""
        self.lost.discard(key)
        self.changed.discard(key)
        self.held[key] = content
        if key[0] in "01":
            self.lost.add(key)
            del self.held[key]
        elif key[0] in "23":
            self.changed.add(key)
            self.held[key] = content[:-1]

    def remove(self, key: str) -> None:
        """Remove a document at the request of a user."""
        self.removed += 1
        self.held.pop(key, None)
        self.lost.discard(key)
        self.changed.discard(key)


@pytest.fixture
def shelf() -> Iterator[tuple[Shelf, int]]:
    """Run a server that confirms every document as stored; yield its documents and its port."""
    shelf = Shelf()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if "boundary=" in self.headers.get("Content-Type", ""):
                body = body.rpartition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0]
            shelf.take(self.path[1:], body)
            self.answer(201)

        def do_DELETE(self) -> None:
            shelf.remove(self.path[1:])
            self.answer(200)

        def do_GET(self) -> None:
            content = shelf.held.get(self.path[1:])
            self.answer(404 if content is None else 200, content or b"")

        def answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield shelf, server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def run(bench: Bench, port: int, read_back: str = "{users: 3}") -> dict[str, Any]:
    (bench.folder / "system.yaml").write_text(SYSTEM.format(port=port))
    (bench.folder / "study.yaml").write_text(STUDY.format(read_back=read_back))
    (bench.folder / "workload.yaml").write_text(WORKLOAD)
    ended = bench.run_study()
    assert bench.statuses() == {"r001": "complete"}, ended.stdout + ended.stderr
    return json.loads((bench.results / "runs" / "r001" / "stored.json").read_text())


def test_every_loss_and_every_change_is_found_and_nothing_else(bench: Bench, shelf: tuple[Shelf, int]) -> None:
    kept, port = shelf
    result = run(bench, port)
    assert result["uncertain"] == 0, "the server must have answered every request"
    assert result["acknowledged"] == len(kept.held) + len(kept.lost) > 30
    assert result["removed"] == kept.removed > 0
    assert result["unread"] == result["unreadable"] == 0
    named = {
        fate: {entry["key"] for entry in result["kinds"]["documents"]["named"] if entry["fate"] == fate}
        for fate in FATES
    }
    assert named == {"lost": kept.lost, "different": kept.changed}
    assert (result["lost"], result["different"]) == (len(kept.lost), len(kept.changed))
    assert result["found"] == result["acknowledged"] - result["lost"] - result["different"]
    study = json.loads((bench.results / "study-summary.json").read_text())
    assert study["objectives"][0]["met"] is False
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert "stored_lost" in {reason["kind"] for reason in summary["verdict"]["reasons"]}
    # Other programs may make the run invalid. An invalid run decides no claim.
    decided = "not_testable" if summary["verdict"]["level"] == "invalid" else "refuted"
    assert study["claims"][decided] == 1
    # The recorded sizes equal the sizes that the server received.
    things = read_ledger(bench.results / "runs" / "r001" / "engine").of("documents")
    sizes = {size for thing in things.values() for size, _ in thing.contents}
    assert 100 * 1024 in sizes
    assert len(sizes) == 2


FATES = ("lost", "different")


def test_a_sample_is_read_and_scaled_to_all(bench: Bench, shelf: tuple[Shelf, int]) -> None:
    kept, port = shelf
    result = run(bench, port, "{sample: 20}")
    assert (result["acknowledged"], result["read"]) == (len(kept.held) + len(kept.lost), 20)
    assert result["kinds"]["documents"]["sample"]
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    lost = summary["stored"]["lost"]
    assert lost["low"] <= lost["value"] <= lost["high"]


FILES_SYSTEM = """
schema: towtank/system/1
name: shelf
hosts: {here: {provider: local}}
services:
  shelf: {kind: folder, host: here}
"""
FILES = """
schema: towtank/workload/1
name: shelve
transactions:
  put:
    - set: {kept: "${uuid}"}
    - {file: {put: "${kept}", size: 20 KiB}, stores: {files: "${kept}"}}
    - branch: 30 %
      then: [{file: {put: "${kept}", size: 3000 B}, replaces: {files: "${kept}"}}]
    - branch: 20 %
      then: [{file: {delete: "${kept}"}, removes: {files: "${kept}"}}]
  look:
    - {file: {read: "${stored.key}"}, reads: files}
groups:
  users: {loop: {think: 20 ms, mix: {put: 100}}}
stored:
  files: {read_back: look}
"""


def damage(plan: Path, over: threading.Event, harmed: dict[str, set[str]]) -> None:
    """During the load, remove and change some stored files that are at least 0.5 s old. Users do not access these files
    again.
    """
    while not over.wait(0.05):
        if not plan.is_file():
            continue
        (target,) = json.loads(plan.read_text())["targets"]
        for path in Path(target["driver"]["root"]).glob("[01]*"):
            fate = "lost" if path.name.startswith("0") else "different"
            # If a user has removed the file in the meantime, it is not damaged.
            with contextlib.suppress(FileNotFoundError):
                if len(harmed[fate]) == 3 or path.stat().st_mtime > time.time() - 0.5:
                    continue
                if fate == "lost":
                    path.unlink()
                else:
                    content = path.read_bytes()
                    with path.open("r+b") as opened:
                        opened.write(b"other" + content[5:])
                harmed[fate].add(path.name)


def test_files_that_are_lost_or_changed_are_found_out(bench: Bench) -> None:
    (bench.folder / "system.yaml").write_text(FILES_SYSTEM)
    (bench.folder / "study.yaml").write_text(STUDY.format(read_back="{users: 3}").replace("shelf", "files"))
    (bench.folder / "workload.yaml").write_text(FILES)
    over, harmed = threading.Event(), {"lost": set[str](), "different": set[str]()}
    run_folder = bench.results / "runs" / "r001"
    thread = threading.Thread(target=damage, args=(run_folder / "plan.json", over, harmed))
    thread.start()
    try:
        ended = bench.run_study()
    finally:
        over.set()
        thread.join()
    assert bench.statuses() == {"r001": "complete"}, ended.stdout + ended.stderr
    result = json.loads((run_folder / "stored.json").read_text())
    named = {
        fate: {entry["key"] for entry in result["kinds"]["files"]["named"] if entry["fate"] == fate} for fate in FATES
    }
    assert named["lost"]
    assert named["different"]
    assert all(named[fate] <= harmed[fate] for fate in FATES), (named, harmed)
    assert result["unread"] == result["unreadable"] == 0
    assert result["removed"] > 0
    assert result["found"] == result["acknowledged"] - result["lost"] - result["different"] > 10
    things = read_ledger(run_folder / "engine").of("files")
    assert {size for thing in things.values() for size, _ in thing.contents} == {20 * 1024, 3000}
