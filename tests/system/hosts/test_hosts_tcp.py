"""TCP counters of a host count queue overflows and retransmissions in the host's own network only."""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_support import requires, until, virtual_hosts

from towtank.system.hosts.host import HostSettings
from towtank.system.hosts.observing import HostScraper
from towtank.system.hosts.tcp import paired, tcp_counters
from towtank.system.hosts.virtual import VirtualHost

pytestmark = pytest.mark.waits

OVERFLOWS, DROPS = "host_tcp_listen_overflows_total", "host_tcp_listen_drops_total"
AGAIN, NEEDLESS = "host_tcp_retransmits_total", "host_tcp_needless_retransmits_total"
TIMEOUTS, RECOVERIES = "host_tcp_timeouts_total", "host_tcp_probe_recoveries_total"
ESTABLISHED = 1
Counters = Callable[[], dict[str, float]]


@pytest.fixture
def hosts(room: HostSettings) -> Iterator[list[VirtualHost]]:
    """Three hosts that are connected by a bridge. The third host has no traffic."""
    made = virtual_hosts("bridge", 3)
    requires(made[0])
    try:
        for each in made:
            each.prepare(room)
        yield made
    finally:
        for each in reversed(made):
            each.tear_down()


def _waits(counts: dict[str, float]) -> float:
    return counts[TIMEOUTS] + counts[RECOVERIES]


def counters(host: VirtualHost) -> Counters:
    """Return a function that reads the TCP counters of a host."""
    (scraper,) = host.watching().scrapers
    assert isinstance(scraper, HostScraper)
    return lambda: {key: value for key, value in scraper.scrape().items() if key.startswith("host_tcp_")}


def test_a_queue_that_overflows_is_counted_where_it_is(hosts: list[VirtualHost]) -> None:
    server, client, _ = hosts
    there, here, elsewhere = (counters(host) for host in hosts)
    assert set(there()) == {OVERFLOWS, DROPS, AGAIN, NEEDLESS, TIMEOUTS, RECOVERIES}
    assert not any([*there().values(), *here().values(), *elsewhere().values()])
    port = server.free_ports()

    def listen() -> socket.socket:
        # With a backlog of 1, Linux accepts two connections: it refuses a connection only if the queue is longer than
        # the backlog.
        return socket.create_server((server.address, port), backlog=1)

    def connect() -> socket.socket:
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex((server.address, port))
        return made

    with contextlib.ExitStack() as stack:
        stack.enter_context(server.within(listen))
        for _ in range(2):
            taken = stack.enter_context(client.within(connect))
            until(lambda one=taken: one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[0] == ESTABLISHED)
        # On a slow machine, packets may have been retransmitted before the queue was full. Their numbers are
        # subtracted.
        sent_again, answered_again = here()[AGAIN], there()[AGAIN]
        with client.within(connect):
            until(lambda: there()[OVERFLOWS] >= 1)
            # The server's queue is full, so the server drops the SYN packet. The client retransmits the packet after
            # one second at the earliest.
            until(lambda: here()[AGAIN] > sent_again)
        # The kernel counts an overflow for every dropped SYN packet, including retransmitted SYN packets.
        until(lambda: there()[OVERFLOWS] == 1 + here()[AGAIN] - sent_again)
        assert there()[DROPS] == there()[OVERFLOWS]
        assert there()[AGAIN] == answered_again
    assert (here()[OVERFLOWS], here()[DROPS]) == (0, 0)
    assert set(elsewhere().values()) == {0.0}


def test_segments_that_get_lost_are_counted_where_they_are_sent_again(hosts: list[VirtualHost]) -> None:
    server, client, _ = hosts
    there, here, elsewhere = (counters(host) for host in hosts)
    port = server.free_ports()
    with server.within(lambda: socket.create_server((server.address, port))) as listening:
        sending = client.within(lambda: socket.create_connection((server.address, port)))
        receiving = listening.accept()[0]
        with sending, receiving:
            before, answered, waited = here()[AGAIN], there()[AGAIN], _waits(here())
            server.cut()
            sending.sendall(b"lost")
            until(lambda: here()[AGAIN] >= before + 2)
            server.mend()
            receiving.settimeout(60)
            assert receiving.recv(10) == b"lost"
            # The first retransmission is a tail loss probe; later retransmissions follow timeouts.
            assert _waits(here()) > waited
            assert there()[AGAIN] == answered
    assert set(elsewhere().values()) == {0.0}


def test_counts_of_this_machine_are_not_those_of_a_host(hosts: list[VirtualHost]) -> None:
    before = counters(hosts[0])()
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listening:
        clients = [socket.socket() for _ in range(4)]
        at_first = tcp_counters(os.getpid())[OVERFLOWS]
        for entry in clients:
            entry.setblocking(False)
            entry.connect_ex(listening.getsockname())
        until(lambda: tcp_counters(os.getpid())[OVERFLOWS] > at_first)
        for client in clients:
            client.close()
    assert counters(hosts[0])() == before


# Counters in the text format of the kernel; most columns are omitted.
SNMP = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 42\n"


def test_rows_are_names_above_values() -> None:
    assert paired(SNMP, "Tcp:") == {"RtoAlgorithm": 1, "MaxConn": -1, "RetransSegs": 42}
    assert paired(SNMP, "Udp:") == {}
    assert paired("Tcp: RetransSegs\n", "Tcp:") == {}


def test_old_kernels_count_answers_where_new_ones_count_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "snmp").write_text(SNMP)
    (tmp_path / "netstat").write_text("TcpExt: ListenOverflows TCPDSACKRecv\nTcpExt: 3 5\n")
    monkeypatch.setattr("towtank.system.hosts.tcp.Path", lambda _: tmp_path)
    assert tcp_counters(1) == {AGAIN: 42.0, NEEDLESS: 5.0, OVERFLOWS: 3.0}
