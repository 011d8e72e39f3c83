"""Counts of busy client connections, by the process titles of PostgreSQL and by the traffic of TCP sockets."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from towtank.system import connection_scraper, own_connections
from towtank.system.connection_scraper import ConnectionScraper, _Exchanges, _Segments
from towtank.system.own_connections import OwnConnections
from towtank.system.sock_diag import ClientSocket, TcpSocket, UnixSocket, accept_queues, clients_of

TITLES = (
    "postgres: checkpointer ",
    "postgres: shop postgres [local] idle",
    "postgres: shop postgres 127.0.0.1(40312) SELECT",
    "postgres: main: shop postgres [local] UPDATE waiting",
    "postgres: shop postgres [local] idle in transaction",
    "postgres: autovacuum launcher ",
    # Replication connections: physical, logical (with a database name), and of a server with a cluster name.
    "postgres: walsender copy 127.0.0.1(40400) streaming 0/3000148",
    "postgres: walsender copy shop 127.0.0.1(40401) START_REPLICATION",
    "postgres: main: walsender copy [local] streaming 0/3000148",
)
QUIET = ClientSocket("7", 0, 0, sent_ms=40, received_ms=8, acknowledged_ms=8, segments_received=5, segments_sent=5)


def process(proc: Path, pid: int, parent: int, title: str, children: tuple[int, ...] = ()) -> None:
    (proc / f"{pid}/fd").mkdir(parents=True)
    (proc / f"{pid}/comm").write_text("postgres\n")
    (proc / f"{pid}/cmdline").write_bytes(title.encode() + b"\0")
    (proc / f"{pid}/stat").write_text(f"{pid} (postgres) S {parent} 0 0\n")
    (proc / f"{pid}/task/{pid}").mkdir(parents=True)
    (proc / f"{pid}/task/{pid}/children").write_text(" ".join(map(str, children)))


def test_titles_of_postgresql_show_the_state_of_each_connection(tmp_path):
    pids = tuple(range(11, 11 + len(TITLES)))
    process(tmp_path, 10, 1, "/usr/lib/postgresql/15/bin/postgres -D /data", pids)
    for pid, title in zip(pids, TITLES, strict=True):
        process(tmp_path, pid, 10, title)
    found = ConnectionScraper(lambda: {"database": 10}, set(), tmp_path).scrape()
    assert found == {
        'server_connections{to="database"}': 4.0,
        'server_connections_busy{to="database"}': 3.0,
        'server_connections_waiting_for_lock{to="database"}': 1.0,
    }


class _OwnOf(OwnConnections):
    """Simulated connections of this process: a TCP connection from port 40312, and a Unix socket connected to the
    socket with inode 92.
    """

    def __init__(self, proc):
        own, peer = (b"\x7f\0\0\1", 40312), (b"\x7f\0\0\1", 5432)
        tcp = [TcpSocket("81", False, own, peer), TcpSocket("82", False, (own[0], 40313), peer)]
        super().__init__(
            proc, lambda: tcp, lambda: [UnixSocket("91", False, (), "92"), UnixSocket("93", False, (), "94")]
        )


@pytest.mark.parametrize("own", ["127.0.0.1(40312)", "[local]"])
def test_the_own_connection_to_postgresql_is_not_part_of_a_pool(own, tmp_path, monkeypatch):
    monkeypatch.setattr(connection_scraper, "OwnConnections", _OwnOf)
    pool = tuple(range(11, 15))
    process(tmp_path, 10, 1, "/usr/lib/postgresql/15/bin/postgres -D /data", (*pool, 15))
    for pid in pool:
        client = "[local]" if own == "[local]" else f"127.0.0.1({40312 + pid})"
        process(tmp_path, pid, 10, f"postgres: shop postgres {client} SELECT")
        (tmp_path / f"{pid}/fd/9").symlink_to("socket:[94]")
    process(tmp_path, 15, 10, f"postgres: towtank postgres {own} idle")
    (tmp_path / "15/fd/9").symlink_to("socket:[92]")
    (tmp_path / "self/fd").mkdir(parents=True)
    for number, inode in enumerate(("81", "91")):
        (tmp_path / f"self/fd/{number}").symlink_to(f"socket:[{inode}]")
    scraper = ConnectionScraper(lambda: {"database": 10}, set(), tmp_path)
    for _ in range(2):
        found = scraper.scrape()
        assert found['server_connections{to="database"}'] == found['server_connections_busy{to="database"}'] == 4.0


def test_a_replica_or_an_own_connection_alone_is_no_client(tmp_path, monkeypatch):
    # The replica's sockets look like those of a client, but the process title identifies the replica.
    client = replace(QUIET, sent_ms=1, received_ms=500)
    monkeypatch.setattr(connection_scraper, "clients_of", lambda ports: {5432: [client]} if ports else {})
    monkeypatch.setattr(connection_scraper, "listening_in", lambda root, proc: ({5432}, [10, 11]))
    process(tmp_path, 10, 1, "/usr/lib/postgresql/15/bin/postgres -D /data", (11,))
    process(tmp_path, 11, 10, "postgres: walsender copy 127.0.0.1(40400) streaming 0/3000148")
    scraper = ConnectionScraper(lambda: {"database": 10}, set(), tmp_path)
    assert scraper.scrape() == {}
    # No process title contains a state, so the state is derived from the traffic of the sockets.
    (tmp_path / "11/cmdline").write_bytes(b"postgres: shop postgres 127.0.0.1(40400)\0")
    assert scraper.scrape()['server_connections_busy{to="database"}'] == 1.0


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_a_connection_is_busy_from_the_request_to_the_response(server, monkeypatch):
    # In this test, client and server belong to this process, whose own connections the scraper otherwise ignores.
    monkeypatch.setattr(own_connections.OwnConnections, "inodes", lambda self: set())
    scraper = ConnectionScraper(lambda: {"server": os.getpid()}, set())
    with socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            assert scraper.scrape() == {
                'server_connections{to="server"}': 1.0,
                'server_connections_busy{to="server"}': 0.0,
                'server_segments_sent_total{to="server"}': 0.0,
            }
            for _ in range(3):
                client.sendall(b"question")
                accepted.recv(100)
                assert scraper.scrape()['server_connections_busy{to="server"}'] == 1.0
                accepted.sendall(b"answer")
                client.recv(100)
                assert scraper.scrape()['server_connections_busy{to="server"}'] == 0.0
            assert scraper.scrape()['server_segments_sent_total{to="server"}'] == 3.0


def test_connections_of_this_process_and_to_targets_are_no_connections_of_the_system(server):
    port = server.getsockname()[1]
    with socket.create_connection(server.getsockname()):
        assert ConnectionScraper(lambda: {"server": os.getpid()}, set()).scrape() == {}
        found = ConnectionScraper(lambda: {"server": os.getpid()}, {port}).scrape()
    assert found['accept_queue{of="server"}'] == 1.0
    assert found['accept_queue_limit{of="server"}'] >= 1.0
    assert found['accept_queue_in_use{of="server"}'] == 1.0


def test_one_request_to_the_kernel_has_the_sockets_of_all_ports_and_address_families():
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    listeners += [socket.create_server(("::1", 0), family=socket.AF_INET6)] if socket.has_dualstack_ipv6() else []
    clients = [socket.create_connection(listener.getsockname()[:2]) for listener in (*listeners, listeners[0])]
    try:
        ports = [listener.getsockname()[1] for listener in listeners]
        found = clients_of(ports)
        assert {port: len(found[port]) for port in found} == {ports[0]: 2, **dict.fromkeys(ports[1:], 1)}
        assert sorted(waiting for waiting, _ in accept_queues(ports)) == [1] * (len(ports) - 1) + [2]
        assert list(clients_of([1, ports[1]])) == [ports[1]]
        assert clients_of([]) == {}
        assert accept_queues([]) == []
        # A request to the kernel has room for 4,095 ports, so 4,096 ports and more need a second request. The counts
        # must be the same as with one request.
        many = {*range(1, 4097), *ports}
        counts = {port: len(clients) for port, clients in clients_of(many).items()}
        assert {port: counts[port] for port in found} == {port: len(clients) for port, clients in found.items()}
        assert len(accept_queues(many)) >= len(ports)
    finally:
        for each in (*clients, *listeners):
            each.close()


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({}, False),
        ({"sent_ms": 4}, True),
        ({"sent_ms": 8}, None),
        ({"unacknowledged": 9}, True),
        ({"unread": 9}, True),
        # First case: an acknowledgement without data 40 ms after the last data. Second case: the acknowledgement of a
        # probe after a pause of 9 s.
        ({"sent_ms": 60, "received_ms": 60, "acknowledged_ms": 20}, True),
        ({"sent_ms": 9_000, "received_ms": 9_000, "acknowledged_ms": 20}, None),
        # First case: a response that takes longer than 10 s. Second case: a request after a long pause.
        ({"sent_ms": 30_000, "received_ms": 30_100, "acknowledged_ms": 29_960}, True),
        ({"sent_ms": 4, "received_ms": 60_000}, True),
    ],
)
def test_the_order_of_data_shows_whether_a_client_waits(changes, waits):
    assert replace(QUIET, **changes).waits is waits


def test_segments_are_counted_unless_connections_are_replaced():
    def clients(**sent):
        return [replace(QUIET, inode=inode, segments_sent=number) for inode, number in sent.items()]

    counted = _Segments()
    # Segments before the first reading do not count. A connection that is opened after the first reading counts all its
    # segments.
    readings = (clients(a=50, b=7), clients(a=53, b=7), clients(a=54, b=7, c=2), clients(a=60, c=2))
    assert [counted.sent(reading) for reading in readings] == [0, 3, 6, 12]
    assert [counted.sent(clients(a=61, d=1)), counted.sent(clients(a=70, d=2))] == [None, None]


def test_numbers_of_segments_decide_only_for_single_segments():
    def states(exchanges, *counts):
        both = replace(QUIET, sent_ms=8)
        return [exchanges.waits(replace(both, segments_sent=out, segments_received=back)) for out, back in counts]

    assert states(_Exchanges(0), (5, 5), (6, 5), (6, 6), (9, 8)) == [False, True, False, True]
    # Requests of two segments with responses of one segment, and vice versa.
    assert not any(states(_Exchanges(0), *((2 * n, n) for n in range(3, 40)))[3:])
    assert not any(states(_Exchanges(0), *((n, 2 * n) for n in range(3, 40))))
    # The server is already busy at the first reading.
    assert states(_Exchanges(1), (6, 5), (6, 6), (7, 6)) == [False, False, True]


def test_a_client_that_only_sends_does_not_wait_for_a_response():
    def state(exchanges, sent, received_ms, received=5):
        return exchanges.waits(
            replace(QUIET, sent_ms=4, received_ms=received_ms, segments_sent=sent, segments_received=received)
        )

    # The connection sends data in several intervals, and has received nothing for more than 10 s.
    only_sends = _Exchanges.since(QUIET)
    assert [state(only_sends, 5 + n, 9_000 + 1_000 * n) for n in range(4)] == [True, True, False, False]
    assert state(only_sends, 10, 500, received=6)
    # After a pause of one minute, the connection sends a single request, whose response takes 40 s.
    slow = _Exchanges.since(QUIET)
    assert all(state(slow, 6, 60_000 + 1_000 * n) for n in range(40))


def test_a_server_without_ports_is_looked_at_again_after_pauses_that_grow(monkeypatch):
    looks = []

    def look(root, proc):
        looks.append(reading)
        return ({7} if reading >= 16 else set()), [root]

    monkeypatch.setattr(connection_scraper, "listening_in", look)
    monkeypatch.setattr(connection_scraper, "clients_of", lambda ports: {port: [QUIET] for port in ports})
    scraper = ConnectionScraper(lambda: {"late": os.getpid()}, set())
    found = {}
    for reading in range(40):
        found[reading] = scraper.scrape()
    assert looks == [0, 1, 3, 7, 15, 31]
    assert found[30] == {}
    assert found[31]['server_connections{to="late"}'] == 1.0


def test_connections_that_ended_are_forgotten(monkeypatch):
    sockets = [[QUIET, replace(QUIET, inode="8")], [QUIET], [QUIET, replace(QUIET, inode="8", segments_sent=6)]]
    monkeypatch.setattr(connection_scraper, "listening_in", lambda root, proc: ({7}, [root]))
    monkeypatch.setattr(connection_scraper, "clients_of", lambda ports: {7: sockets.pop(0)})
    scraper = ConnectionScraper(lambda: {"cache": os.getpid()}, set())
    scraper.scrape()
    scraper.scrape()
    assert list(scraper._exchanges) == ["7"]
    # The inode now belongs to another connection, which is read for the first time.
    scraper.scrape()
    assert scraper._exchanges["8"].idle == 1
