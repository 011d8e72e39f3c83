"""Counts of busy connections: by the titles of PostgreSQL's processes, and by the traffic of TCP sockets."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from towtank.system import connection_scraper
from towtank.system.connection_scraper import ConnectionScraper, _Exchanges, _Segments
from towtank.system.sock_diag import ClientSocket

TITLES = (
    "postgres: checkpointer ",
    "postgres: shop postgres [local] idle",
    "postgres: shop postgres 127.0.0.1(40312) SELECT",
    "postgres: main: shop postgres [local] UPDATE waiting",
    "postgres: shop postgres [local] idle in transaction",
    "postgres: autovacuum launcher ",
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


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_a_connection_is_busy_from_the_request_to_the_response(server, monkeypatch):
    # In this test, client and server are parts of this process, whose own connections are otherwise left out.
    monkeypatch.setattr(connection_scraper, "_own_sockets", lambda proc: set())
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


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({}, False),
        ({"sent_ms": 4}, True),
        ({"sent_ms": 8}, None),
        ({"unacknowledged": 9}, True),
        ({"unread": 9}, True),
        # An acknowledgement without data after 40 ms, and one that answers a probe after a minute.
        ({"sent_ms": 60, "received_ms": 60, "acknowledged_ms": 20}, True),
        ({"sent_ms": 9_000, "received_ms": 9_000, "acknowledged_ms": 20}, None),
        # A connection on which only the client sends.
        ({"sent_ms": 4, "received_ms": 60_000}, False),
    ],
)
def test_the_order_of_data_shows_whether_a_client_waits(changes, waits):
    assert replace(QUIET, **changes).waits is waits


def test_segments_are_counted_unless_connections_are_replaced():
    def clients(**sent):
        return [replace(QUIET, inode=inode, segments_sent=number) for inode, number in sent.items()]

    counted = _Segments()
    # Segments before the first reading do not count; a connection that is opened later counts from its beginning.
    readings = (clients(a=50, b=7), clients(a=53, b=7), clients(a=54, b=7, c=2), clients(a=60, c=2))
    assert [counted.sent(reading) for reading in readings] == [0, 3, 6, 12]
    assert [counted.sent(clients(a=61, d=1)), counted.sent(clients(a=70, d=2))] == [None, None]


def test_numbers_of_segments_decide_only_for_single_segments():
    def states(exchanges, *counts):
        return [exchanges.waits(replace(QUIET, segments_sent=out, segments_received=back)) for out, back in counts]

    assert states(_Exchanges(0), (5, 5), (6, 5), (6, 6), (9, 8)) == [False, True, False, True]
    # Requests of two segments, and responses of two segments.
    assert not any(states(_Exchanges(0), *((2 * n, n) for n in range(3, 40)))[3:])
    assert not any(states(_Exchanges(0), *((n, 2 * n) for n in range(3, 40))))
    # First seen while it waits.
    assert states(_Exchanges(1), (6, 5), (6, 6), (7, 6)) == [False, False, True]
