"""A file system mounted on several hosts: as soon as a host has closed a file, all other hosts read its complete
content.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cmis_client import CmisClient
from host_support import until

from towtank.system.build import build_system
from towtank.system.hosts import cleaning
from towtank.system.hosts.host import Answer, Host
from towtank.system.model import load_system
from towtank.system.services.mount import MountService
from towtank.system.system import System

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: shared
hosts:
  web-1: &web {{provider: namespaces}}
  web-2: *web
  web-3: *web
  brick-1: &brick {{provider: namespaces, disks: {{data: {{size: 96 MiB}}}}}}
  brick-2: *brick
services:
  store-1: {{kind: glusterfs_server, host: brick-1, disk: data}}
  store-2: {{kind: glusterfs_server, host: brick-2, disk: data}}
  area:
    kind: glusterfs_mount
    host: web-1
    hosts: [web-1, web-2, web-3]
    servers: [store-1, store-2]
    settings: {{{settings}}}
  {other}
start_timeout: 60 s
"""
OTHER = "other: {kind: null_server, host: web-1}"
NODES = """content:
    kind: content_server
    host: web-1
    hosts: [web-1, web-2]
    storage: area
    settings: {nodes: 2, handle_cache: 16, content_cache: 0 B}
    population: {scale: 0.00002}"""
SETTINGS = {"plain": "", "copies": "copies: 2, direct: true", "uncached": "cache: 0 B, write_behind: 0 B"}
PORT = 7007
# Time limit of a command on a host, on a busy machine. [s]
LIMIT_S = 60.0

# Script that reads each named file as soon as the writer has closed it.
#
# Then the script looks up the next file, which does not exist yet. If the host cached the absence of this file, the
# next read would fail.
READER = """
import hashlib, os, socket, sys
wrong = []
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
    connection, _ = listener.accept()
with connection, connection.makefile("rw") as lines:
    for line in lines:
        path, digest, following = line.split()
        try:
            with open(path, "rb") as stream:
                found = hashlib.sha256(stream.read()).hexdigest()
        except OSError as error:
            found = str(error)
        if found != digest:
            wrong.append([path, found])
        assert not os.path.exists(following)
        print("read", file=lines, flush=True)
print(wrong)
"""
# Script that writes files. Every second file is written under a temporary name and then renamed, as servers do. Some
# files are larger than one buffered write.
WRITER = """
import hashlib, os, socket, sys, time
address, port, root, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
deadline = time.monotonic() + 30
while True:
    try:
        connection = socket.create_connection((address, port), 60)
        break
    except ConnectionRefusedError:
        if time.monotonic() > deadline:
            raise
        time.sleep(0.05)
os.makedirs(f"{root}/temporary", exist_ok=True)
names = [f"{root}/{number % 7}/file-{number}" for number in range(count + 1)]
with connection, connection.makefile("rw") as lines:
    for number in range(count):
        data = os.urandom(2_000_003 if number % 10 == 9 else 1 + 7919 * number % 150_000)
        path = names[number]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        first = path if number % 2 else f"{root}/temporary/{number}"
        with open(first, "wb") as stream:
            stream.write(data)
        os.rename(first, path)
        print(path, hashlib.sha256(data).hexdigest(), names[number + 1], file=lines, flush=True)
        assert lines.readline() == "read\\n"
        os.unlink(path)
print("written")
"""
WRITE = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
READ = "import sys; print(open(sys.argv[1]).read())"


class Shared:
    """A running system whose hosts mount the same file system."""

    def __init__(self, system: System) -> None:
        self.system = system
        (mount,) = [service for service in system._services if service.name == "area"]
        assert isinstance(mount, MountService)
        self.mount = mount

    def host(self, number: int) -> Host:
        return self.system._hosts.of(f"web-{number}")

    def path(self, name: str) -> Path:
        return self.mount.point_on(self.host(1)) / name

    def try_python(self, number: int, script: str, *arguments: object) -> Answer:
        """Runs a Python script on a host. The script may fail."""
        host = self.host(number)
        return host.execute([host.python(), "-c", script, *map(str, arguments)], LIMIT_S)

    def python(self, number: int, script: str, *arguments: object) -> str:
        """Runs a Python script on a host, asserts that it succeeds, and returns its output."""
        answer = self.try_python(number, script, *arguments)
        assert answer.status == 0, answer.output
        return answer.output.strip()


def made(folder: Path, settings: str, other: str = OTHER) -> System:
    """Return the system before its start; skip the test, with the reasons, if the machine cannot run the system."""
    path = folder / "system.yaml"
    path.write_text(SYSTEM.format(settings=settings, other=other))
    system = build_system(load_system(path), folder, folder / "logs")
    lines = [*system._hosts.lacks(), *(text for service in system._services if (text := service.missing()))]
    if lines:
        pytest.skip("; ".join(lines))
    return system


@pytest.fixture(scope="module", params=SETTINGS)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOWTANK_STATE", str(folder / "state"))
        with made(folder, SETTINGS[request.param]) as system:
            system.up()
            running = Shared(system)
            prefix = running.host(1)._site.prefix  # type: ignore[attr-defined]
            yield running
        assert cleaning.leftovers(prefix) == []
        assert "fuse.glusterfs" not in Path("/proc/self/mounts").read_text()


@pytest.mark.parametrize(("writer", "reader"), [(1, 2), (3, 1)])
def test_what_one_host_has_closed_another_reads_at_once(shared: Shared, writer: int, reader: int) -> None:
    address = shared.host(reader).address
    root = shared.path(f"from-{writer}")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(shared.python, reader, READER, address, PORT)
        assert shared.python(writer, WRITER, address, PORT, root, 60) == "written"
        assert reading.result() == "[]"


def test_a_client_without_the_secret_of_the_run_is_refused(shared: Shared, tmp_path: Path) -> None:
    host, servers = shared.host(1), shared.mount._servers
    right = (shared.mount.folder / "mount.vol").read_text()
    wrong = right
    for server in servers:
        wrong = wrong.replace(server.secret, "towtank")  # type: ignore[attr-defined]
    without = "\n".join(line for line in right.splitlines() if "username" not in line and "password" not in line)
    for text in (wrong, without):
        assert text != right
        host.write("/tmp/strange.vol", text)
        host.make_folder("/tmp/strange")
        command = ["timeout", "-s", "KILL", "30", "glusterfs", "-N", "-f", "/tmp/strange.vol", "-l", "/dev/stdout"]
        said = host.execute([*command, "/tmp/strange"], LIMIT_S)
        assert "SETVOLUME on remote-host failed" in said.output
        assert host.execute(["sh", "-c", "grep -c strange /proc/self/mounts"]).output.strip() == "0"


def test_what_was_changed_in_place_is_seen_when_it_is_asked_again(shared: Shared) -> None:
    path = shared.path("changed")
    shared.python(1, WRITE, path, "before")
    assert shared.python(2, READ, path) == "before"
    shared.python(1, WRITE, path, "after it was changed")
    # The settings of the mount allow host 2 to read cached data for a while.
    until(lambda: shared.python(2, READ, path) == "after it was changed")


def test_each_mount_reports_what_its_own_host_does(shared: Shared) -> None:
    scrapers = {scraper.service: scraper for scraper in shared.mount.scrapers()}
    assert list(scrapers) == ["area", "area-2", "area-3"]
    before = {name: scraper.scrape() for name, scraper in scrapers.items()}
    shared.python(2, WRITE, shared.path("reported"), "x" * 70_000)
    written = {
        name: scraper.scrape()["glusterfs_written_bytes_total"] - before[name]["glusterfs_written_bytes_total"]
        for name, scraper in scrapers.items()
    }
    for scraper in scrapers.values():
        scraper.close()
    assert written == {"area": 0, "area-2": 70_000, "area-3": 0}


def test_processes_and_settings_name_their_hosts(shared: Shared) -> None:
    reported = shared.system._endpoints()
    hosts = {name: tier.host for name, tier in reported.tiers.items() if tier.kind == "glusterfs_mount"}
    assert hosts == {"area": "web-1", "area-2": "web-2", "area-3": "web-3"}
    settings = json.loads(json.dumps(reported.settings["area"]))
    assert settings["mounted_at"] == {f"web-{number}": "/tmp/mounts/area" for number in (1, 2, 3)}


def test_the_mount_of_one_host_is_killed_and_started_again(shared: Shared) -> None:
    path = shared.path("kept")
    shared.python(1, WRITE, path, "stored")
    shared.system.signal("area-2", "kill")
    assert shared.system.taken_down() == ["area-2"]
    assert shared.try_python(2, READ, path).status != 0
    assert shared.python(1, READ, path) == "stored", "other hosts must not be affected"
    assert list(shared.system.start("area-2")) == ["area-2"]
    assert shared.python(2, READ, path) == "stored"
    assert shared.system.ended() == []


@pytest.mark.timeout(300)
def test_what_one_node_stored_the_other_gives(tmp_path: Path) -> None:
    pytest.importorskip("content_server")
    with made(tmp_path, "", NODES) as system:
        endpoints = system.up()
        with endpoints.exports["content"]["accounts_csv"].open(encoding="utf-8", newline="") as file:
            account = next(csv.DictReader(file))
        nodes = [
            CmisClient(address, account["user"], account["password"]) for address in endpoints.addresses["content"]
        ]
        folder = nodes[0].at("/inbox/000")["cmis:objectId"]
        for number in range(10):
            text = f"document {number} ".encode() * (1 + 1000 * number)
            stored = nodes[number % 2].create(folder, f"new-{number}.txt", text)["cmis:objectId"]
            assert nodes[1 - number % 2].content(stored) == text
        hosts = {name: tier.host for name, tier in endpoints.tiers.items() if tier.kind == "content_server"}
        assert hosts == {"content": "web-1", "content-2": "web-2"}
        assert system.ended() == []
        # The mount of the second node is killed and started again. Then the node can read a document that it had read
        # before the kill.
        system.signal("area-2", "kill")
        system.start("area-2")
        assert until(lambda: held(nodes[1], stored)) == text


def held(node: CmisClient, stored: str) -> Any:
    """Return the content of a document as sent by a node; None if the node responds with an error."""
    status, body = node.send("/root", {"objectId": stored, "cmisselector": "content"})
    return body if status == 200 else None
