"""The process that listens on an address, from recorded kernel tables."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from towtank.system.listeners import is_below, is_here, listening_root, servers_behind

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(address: str, port: int, inode: int, state: str = "0A", peer: str = "00000000:0000") -> str:
    ends = f"{address}:{port:04X} {peer}"
    return f"   0: {ends} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Server 20 with its workers 21 and 22 on port 8080, and server 30 on port 80 of all addresses."""
    (tmp_path / "net").mkdir()
    loopback, anywhere = "0100007F", "00000000"
    rows = [row(loopback, 8080, 7), row(anywhere, 80, 8), row(anywhere, 8080, 9), row(loopback, 8081, 7, "01")]
    (tmp_path / "net" / "tcp").write_text(HEAD + "".join(rows))
    (tmp_path / "net" / "tcp6").write_text(HEAD + row("00000000000000000000000001000000", 8443, 10))
    for pid, above, name, sockets in (
        (1, 0, "init", ()),
        (20, 1, "server", (7,)),
        (21, 20, "server", (7,)),
        (22, 20, "server", (7, 10)),
        (30, 1, "docker-proxy", (8,)),
    ):
        folder = tmp_path / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "stat").write_text(f"{pid} ({name}) S {above} 1 1 0")
        for number, inode in enumerate(sockets):
            (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    return tmp_path


@pytest.mark.parametrize(
    ("host", "port", "pid"),
    [
        ("127.0.0.1", 8080, 20),
        ("::1", 8443, 22),
        # A relay to a container, a connection, a port without a listener, and one with an invisible process.
        ("127.0.0.1", 80, None),
        ("127.0.0.1", 8081, None),
        ("127.0.0.1", 9, None),
        ("10.0.0.1", 8080, None),
    ],
)
def test_the_root_of_the_processes_with_the_socket_is_found(proc: Path, host: str, port: int, pid: int | None) -> None:
    assert listening_root(host, port, proc) == pid


def test_servers_behind_a_server_are_found_by_its_connections(proc: Path) -> None:
    """A worker of 20 has a connection to 40 on port 5432, which has one to 41; 42 listens too, but has no
    connection."""
    for pid, above, sockets in ((40, 1, (50, 51)), (41, 1, (52,)), (42, 1, (53,)), (43, 22, (54,))):
        folder = proc / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text("database\n")
        (folder / "stat").write_text(f"{pid} (database) S {above} 1 1 0")
        for number, inode in enumerate(sockets):
            (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    here = "0100007F"
    rows = [
        row(here, 5432, 50),
        row(here, 6379, 52),
        row(here, 9999, 53),
        row(here, 40000, 54, "01", f"{here}:{5432:04X}"),
        row(here, 40001, 51, "01", f"{here}:{6379:04X}"),
    ]
    with (proc / "net" / "tcp").open("a") as table:
        table.writelines(rows)
    assert servers_behind(20, proc) == {40, 41}
    assert servers_behind(42, proc) == set()


def test_a_process_is_below_itself_and_its_parents(proc: Path) -> None:
    assert is_below(21, [20], proc)
    assert is_below(20, [20], proc)
    assert not is_below(20, [21, 30], proc)


def test_a_listener_of_this_process_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listening_root("127.0.0.1", server.getsockname()[1]) == os.getpid()


def test_addresses_of_this_machine_are_known() -> None:
    assert is_here("127.0.0.1")
    assert not is_here("203.0.113.1")
    assert not is_here("localhost")
