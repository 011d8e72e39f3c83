"""Search for the process that listens on an address, in simulated kernel tables."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from towtank.system import listeners
from towtank.system.listeners import SeenServer, is_descendant, is_this_machine, listening_root, servers_behind
from towtank.system.sock_diag import UnixSocket, tcp_sockets, unix_sockets

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(address: str, port: int, inode: int, state: str = "0A", peer: str = "00000000:0000") -> str:
    ends = f"{address}:{port:04X} {peer}"
    return f"   0: {ends} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Simulated process tables. Server 20, with its workers 21 and 22, listens on port 8080 of the loopback address.
    Server 30 listens on port 80 of all addresses.
    """
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
        # No server is found for the following addresses, in this order: a relay to a container, a connection, a port
        # without a listener, and a listener of an invisible process.
        ("127.0.0.1", 80, None),
        ("127.0.0.1", 8081, None),
        ("127.0.0.1", 9, None),
        ("10.0.0.1", 8080, None),
    ],
)
def test_the_root_of_the_processes_with_the_socket_is_found(proc: Path, host: str, port: int, pid: int | None) -> None:
    assert listening_root(host, port, proc) == pid


def add(proc: Path, pid: int, above: int, *sockets: int) -> None:
    """Add a process to the simulated tables. `sockets` are the inodes of its sockets."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text("database\n")
    (folder / "stat").write_text(f"{pid} (database) S {above} 1 1 0")
    for number, inode in enumerate(sockets):
        (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")


def test_sockets_of_their_own_of_workers_of_one_program_are_one_server(proc: Path) -> None:
    """Workers 51 and 52 of process 50 listen on port 8090 with separate sockets, so 50 is the server. The two listeners
    on port 8091 have no common parent, so no server is found for port 8091.
    """
    add(proc, 50, 1)
    for pid, above, inode in ((51, 50, 90), (52, 50, 91), (60, 1, 92), (61, 1, 93)):
        add(proc, pid, above, inode)
    with (proc / "net" / "tcp").open("a") as table:
        table.writelines(
            row("0100007F", port, inode) for port, inode in ((8090, 90), (8090, 91), (8091, 92), (8091, 93))
        )
    assert listening_root("127.0.0.1", 8090, proc) == 50
    # Either listener alone would be a wrong result, because the other listener serves the port as well.
    assert listening_root("127.0.0.1", 8091, proc) is None


def test_all_addresses_of_the_same_family_come_first(proc: Path) -> None:
    for pid, inode in ((50, 90), (51, 91)):
        add(proc, pid, 1, inode)
    with (proc / "net" / "tcp").open("a") as table:
        table.write(row("00000000", 8095, 91))
    with (proc / "net" / "tcp6").open("a") as table:
        table.write(row("0" * 32, 8095, 90))
    assert listening_root("127.0.0.1", 8095, proc) == 51
    assert listening_root("::1", 8095, proc) == 50


@pytest.fixture
def databases(proc: Path) -> Path:
    """Simulated tables in which server 20 is connected to server 40 on port 5432, and server 40 to server 41.

    Server 42 listens as well, but has no connection.
    """
    for pid, above, sockets in ((40, 1, (50, 51)), (41, 1, (52,)), (42, 1, (53,)), (43, 22, (54,))):
        add(proc, pid, above, *sockets)
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
    return proc


def no_unix_sockets() -> list[UnixSocket]:
    return []


def test_servers_behind_a_server_are_found_by_its_connections(databases: Path) -> None:
    assert servers_behind(20, databases, no_unix_sockets) == {40, 41}
    assert servers_behind([40, 42], databases, no_unix_sockets) == {41}
    assert servers_behind({20, 40}, databases, no_unix_sockets) == {41}
    assert servers_behind(42, databases, no_unix_sockets) == set()


def test_a_server_behind_a_unix_socket_is_found(proc: Path) -> None:
    """A worker of server 20 is connected to a worker of server 40 over a Unix socket, so server 40 is found.

    Process 44 is not found, because it is connected by a socket pair, which has no address. Process 42 listens at the
    same path as 40, but on another file.
    """
    add(proc, 40, 1, 60)
    add(proc, 41, 40, 60, 61)
    add(proc, 42, 1, 62)
    add(proc, 43, 22, 70, 71)
    add(proc, 44, 1, 72)
    place, other = (b"/run/php.sock\0", b"\1"), (b"/run/php.sock\0", b"\2")
    sockets = [
        UnixSocket("60", True, place, None),
        UnixSocket("61", False, place, "70"),
        UnixSocket("62", True, other, None),
        UnixSocket("70", False, (), "61"),
        UnixSocket("71", False, (), "72"),
        UnixSocket("72", False, (), "71"),
    ]
    assert servers_behind(20, proc, lambda: sockets) == {40}
    # Server 40 has the other socket of the connection from server 20. But server 20 is a client of 40, not a server
    # behind it.
    assert servers_behind(40, proc, lambda: sockets) == set()


def test_the_first_process_does_not_hide_the_server_that_it_started(databases: Path) -> None:
    add(databases, 1001, 1, 50)
    (databases / "1" / "fd" / "9").symlink_to("socket:[52]")
    assert servers_behind(40, databases, no_unix_sockets) == {41}


def test_a_repeated_search_reads_the_files_of_the_trees_only(databases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    held = listeners._held

    def noting(folder: str) -> dict[str, str]:
        read.append(Path(folder).parent.name)
        return held(folder)

    monkeypatch.setattr(listeners, "_held", noting)
    seen: dict[str, SeenServer] = {}
    assert servers_behind(20, databases, no_unix_sockets, seen) == {40, 41}
    assert "30" in read
    read.clear()
    assert servers_behind(20, databases, no_unix_sockets, seen) == {40, 41}
    assert sorted(read) == ["20", "21", "22", "40", "41", "43"]
    # The database (process 41) is restarted as process 45, with a new socket at the same address.
    (databases / "41" / "fd" / "0").unlink()
    add(databases, 45, 1, 59)
    table = databases / "net" / "tcp"
    table.write_text(table.read_text().replace(row("0100007F", 6379, 52), row("0100007F", 6379, 59)))
    assert servers_behind(20, databases, no_unix_sockets, seen) == {40, 45}


def test_the_kernel_names_the_server_at_the_other_end_of_a_unix_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
        accepted, _ = server.accept()
        with accepted:
            listed = {each.inode: each for each in unix_sockets()}
            of_server, of_client, of_accepted = (
                listed[str(os.fstat(each.fileno()).st_ino)] for each in (server, client, accepted)
            )
    assert of_server.listens and not of_accepted.listens and not of_client.listens
    assert of_client.peer == of_accepted.inode and of_accepted.peer == of_client.inode
    assert of_accepted.place == of_server.place and of_server.place[0].startswith(bytes(tmp_path))
    assert of_client.place == ()


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_reports_tcp_sockets_as_in_its_tables(family: socket.AddressFamily, host: str) -> None:
    if not is_this_machine(host):
        pytest.skip(f"this machine has no address {host}")
    with socket.create_server((host, 0), family=family) as server, socket.socket(family) as client:
        client.connect(server.getsockname()[:2])
        inodes = {str(os.fstat(each.fileno()).st_ino) for each in (server, client)}
        asked = {each for each in tcp_sockets() or () if each.inode in inodes}
        recorded = {each for each in listeners._recorded(Path("/proc")) if each.inode in inodes}
        ports = {server.getsockname()[1], client.getsockname()[1]}
    assert len(asked) == 2
    assert asked == recorded
    assert {each.own[1] for each in asked} == ports


def test_a_process_is_below_itself_and_its_parents(proc: Path) -> None:
    assert is_descendant(21, [20], proc)
    assert is_descendant(20, [20], proc)
    assert not is_descendant(20, [21, 30], proc)


def test_a_listener_of_this_process_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listening_root("127.0.0.1", server.getsockname()[1]) == os.getpid()


def test_addresses_of_this_machine_are_known() -> None:
    assert is_this_machine("127.0.0.1")
    assert not is_this_machine("203.0.113.1")
    assert not is_this_machine("localhost")
