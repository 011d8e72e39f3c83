"""Memory that the sockets of a host use for data that was received but not yet read."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from host_support import until

from towtank.system.hosts.observing import HostScraper
from towtank.system.hosts.sockets import socket_memory
from towtank.system.hosts.virtual import VirtualHost

pytestmark = pytest.mark.waits

KIB = 1024


@pytest.fixture
def host(virtual: Callable[..., VirtualHost]) -> VirtualHost:
    made = virtual()
    try:
        made.within(socket_memory)
    except OSError as error:
        pytest.skip(f"the kernel reports no sockets: {error}")
    return made


def test_what_nobody_reads_is_held(host: VirtualHost) -> None:
    assert host.within(socket_memory) == 0

    def connect() -> tuple[socket.socket, socket.socket, socket.socket]:
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        return server, client, server.accept()[0]

    server, client, taken = host.within(connect)
    with server, client, taken:
        client.sendall(bytes(32 * KIB))
        # The socket has 32 KiB of unread data. The measured memory is larger, because the kernel rounds packets up to
        # whole pages and reserves memory in advance.
        until(lambda: 32 * KIB <= host.within(socket_memory) < 400 * KIB)
        (scraper,) = host.watching().scrapers
        assert isinstance(scraper, HostScraper)
        assert scraper.scrape()["host_socket_memory_bytes"] >= 32 * KIB
    until(lambda: host.within(socket_memory) == 0)


def test_unix_sockets_count(host: VirtualHost) -> None:
    one, other = host.within(socket.socketpair)
    with one, other:
        one.sendall(bytes(32 * KIB))
        assert 32 * KIB <= host.within(socket_memory) < 400 * KIB
        other.recv(32 * KIB)


def test_sockets_of_this_machine_are_not_those_of_a_host(host: VirtualHost, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "s"))
            client.sendall(bytes(32 * KIB))
            assert socket_memory() >= 32 * KIB
            assert host.within(socket_memory) == 0
