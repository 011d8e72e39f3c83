"""Faults that an event of a study causes on a service or host: kill, stop, start, a cut network, a full disk."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, until, virtual_host

from towtank.errors import TargetError
from towtank.system.build import build_system
from towtank.system.hosts.filling import fill_disk, release_disk
from towtank.system.hosts.host import Host
from towtank.system.hosts.local import LocalHost
from towtank.system.hosts.virtual import VirtualHost
from towtank.system.model import load_system
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.services.postgresql import program
from towtank.system.system import System

pytestmark = pytest.mark.waits

# Shell script that writes as long as it runs. Its child process, in a separate session, also writes.
TREE = 'setsid sh -c "while :; do echo child; sleep 0.02; done" & while :; do echo parent; sleep 0.02; done'
SYSTEM = """
schema: towtank/system/1
name: breakable
hosts:
  web: {provider: namespaces}
services:
  content: {kind: null_server, host: web, settings: {port: 8080}}
"""


def grows(path: Path) -> bool:
    """Return True if a file grows within 0.3 s. The script `TREE` writes more often than that."""
    before = path.stat().st_size
    time.sleep(0.3)
    return path.stat().st_size > before


def test_a_tree_is_held_let_go_on_and_killed_at_once(host: Host, tmp_path: Path) -> None:
    log = tmp_path / "tree.log"
    process = host.process(ProcessSpec("tree", ["sh", "-c", TREE], grace_s=1.0), log)
    process.start()
    try:
        until(lambda: {b"child", b"parent"} <= set(log.read_bytes().split()))
        process.signal("hold")
        until(lambda: not grows(log))
        assert process.status() is None
        process.signal("go on")
        until(lambda: grows(log))
        process.signal("kill")
        assert process.wait(limit_s=20.0) == 128 + 9
        until(lambda: not grows(log))  # SSH may deliver lines after the kill that were written before the kill.
        with pytest.raises(TargetError, match=r"cannot receive `kill`|is not known"):
            process.signal("kill")
    finally:
        process.stop()


@pytest.fixture(params=["local", "namespaces"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    if request.param == "namespaces":
        requires(virtual_host())
    path = tmp_path / "system.yaml"
    path.write_text(
        SYSTEM
        if request.param == "namespaces"
        else SYSTEM.replace("namespaces", "local").replace("port: 8080", "port: 0")
    )
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as made:
        yield made


def test_a_killed_service_is_no_news_and_starts_again_where_it_was(system: System) -> None:
    (address,) = system.up().addresses["content"]
    system.signal("content", "kill")
    assert refuses_connection(address) is not None
    assert system.ended() == []
    started = system.start("content")
    assert list(started) == ["content"]
    assert refuses_connection(address) is None
    with pytest.raises(TargetError, match="content runs already"):
        system.start("content")
    system.stop("content")
    assert (refuses_connection(address) is None, system.ended()) == (False, [])
    system.start("content")
    assert system.processes_of("content") == ["content"]
    with pytest.raises(TargetError, match="no process other was started"):
        system.signal("other", "kill")


def test_a_service_that_dies_of_itself_after_a_restart_is_news(system: System) -> None:
    system.up()
    system.signal("content", "kill")
    pid = system.start("content")["content"]
    (child,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    os.kill(child, 9)
    (ended,) = until(system.ended)
    assert (ended.tier, ended.text) == ("content", "ended by signal 9")


def test_a_database_comes_back_with_what_it_held(tmp_path: Path) -> None:
    if program("postgres") is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    path = tmp_path / "system.yaml"
    path.write_text(
        "schema: towtank/system/1\nname: db\nhosts: {here: {provider: local}}\n"
        "services: {database: {kind: postgresql, host: here}}\n"
    )

    def ask(statement: str) -> str:
        answer = LocalHost().execute([str(program("psql")), "-qXtA", dsn, "-c", statement])
        assert answer.status == 0, answer.output
        return answer.output.strip()

    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        (dsn,) = system.up().addresses["database"]
        ask("CREATE TABLE kept AS SELECT generate_series(1, 100) AS number")
        system.signal("database", "kill")
        system.start("database")
        assert ask("SELECT count(*) FROM kept") == "100"


def test_a_disk_is_not_filled_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / ".towtank-filled").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TargetError, match="belongs to another user"):
        fill_disk(tmp_path / "disk", None, None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_cable_is_pulled_and_put_back(virtual: Callable[..., VirtualHost]) -> None:
    host = virtual()
    port = host.free_ports()
    code = f"import http.server as h; h.test(h.SimpleHTTPRequestHandler, port={port}, bind='{host.address}')"
    server = host.process(ProcessSpec("server", [sys.executable, "-c", code]), host.outside("/tmp/server.log"))
    server.start()
    try:
        address = f"{host.address}:{port}"
        until(lambda: refuses_connection(address) is None)
        host.cut()
        assert refuses_connection(address) is not None
        host.mend()
        until(lambda: refuses_connection(address) is None)
        host.mend()
        assert refuses_connection(address) is None
    finally:
        server.stop()


@pytest.mark.parametrize("kind", ["ext4", "ext2"])
def test_a_disk_is_full_until_it_is_released(kind: str, virtual: Callable[..., VirtualHost]) -> None:
    host = virtual(disks={"data": {"size": "16 MiB", "file_system": kind}})
    point = host.outside(host.disk("data"))
    before = os.statvfs(point)
    left = host.fill("data", leave_bytes=0, leave_files=None)
    assert left["free_bytes"] < 0.1 * before.f_bfree * before.f_frsize
    with pytest.raises(OSError, match="No space left"):
        (point / "more").write_bytes(bytes(2**21))
    (point / "more").unlink()
    host.release("data")
    (point / "more").write_bytes(bytes(2**21))
    host.release("data")


def test_files_run_out_while_space_is_left(virtual: Callable[..., VirtualHost]) -> None:
    host = virtual(disks={"data": {"size": "16 MiB", "inodes": 256}})
    point = host.outside(host.disk("data"))
    left = host.fill("data", leave_bytes=None, leave_files=2)
    assert left["free_files"] == 2
    assert left["free_bytes"] > 2**20
    for name in ("a", "b"):
        (point / name).touch()
    with pytest.raises(OSError, match="No space left"):
        (point / "c").touch()
    host.release("data")
    (point / "c").write_bytes(b"there is room again")


def test_a_file_system_that_counts_no_files_cannot_run_out_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncounted(_: Any) -> Any:
        return os.statvfs_result((4096, 4096, 100, 50, 50, 0, 0, 0, 0, 255))

    monkeypatch.setattr(os, "statvfs", uncounted)
    with pytest.raises(TargetError, match="does not count its files"):
        fill_disk(tmp_path, None, 0)
    release_disk(tmp_path)
    assert list(tmp_path.iterdir()) == []
