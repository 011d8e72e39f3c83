"""A port that is already in use is refused with a message that names the port and the process that uses it."""

import os
import socket
from pathlib import Path

import pytest

from towtank.errors import TargetError
from towtank.system.ports import HeldPorts, free_ports, listener, require_free

pytestmark = pytest.mark.waits


def test_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_ports("127.0.0.1", 1))) as server:
        assert server.getsockname()[1] > 0


def test_taken_port_is_refused_with_its_number_and_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(
            TargetError, match=rf"content: port {port} on 127.0.0.1 is already in use by .*\(pid {os.getpid()}\)"
        ):
            require_free("127.0.0.1", port, "content")


def test_port_is_free_again_when_its_server_has_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    require_free("127.0.0.1", port, "content")


def test_nobody_listens_on_a_free_port() -> None:
    assert listener(free_ports("127.0.0.1", 1)) is None


def test_address_of_another_machine_is_refused_by_reason() -> None:
    with pytest.raises(TargetError, match=r"content: cannot listen on 192\.0\.2\.1:8080: Cannot assign"):
        require_free("192.0.2.1", 8080, "content")


def test_a_row_of_free_ports_leaves_out_one_with_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towtank.system.ports.secrets.randbelow", lambda rows: min(100, rows - 1))
    # No other program on the machine uses this address.
    first = free_ports("127.3.1.7", 5)
    with socket.create_server(("127.3.1.7", first + 2)):
        other = free_ports("127.3.1.7", 5)
    assert (first, other) == (20_100, 20_103)


def test_the_rows_at_the_end_are_followed_by_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towtank.system.ports.secrets.randbelow", lambda rows: rows - 1)
    with socket.create_server(("127.3.1.8", 32_767)):
        assert free_ports("127.3.1.8", 5) == 20_000


def test_a_held_port_is_given_to_nobody_else_and_its_server_can_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towtank.system.ports.secrets.randbelow", lambda rows: min(500, rows - 1))
    held = HeldPorts("127.3.1.9", 3)
    assert (held.first, free_ports("127.3.1.9", 1)) == (20_500, 20_503)
    require_free("127.3.1.9", held.first, "content")
    # This socket has the option SO_REUSEADDR, as the sockets of most servers do.
    with socket.create_server(("127.3.1.9", held.first)):
        assert free_ports("127.3.1.9", 3) == 20_503
    held.release()
    assert free_ports("127.3.1.9", 3) == 20_500


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_many_ports_do_not_cost_as_many_open_files() -> None:
    before = open_files()
    held = HeldPorts("127.3.1.10", 1024)
    assert open_files() <= before + 64
    held.release()
    assert open_files() == before


def test_more_ports_in_a_row_than_there_are_is_refused() -> None:
    with pytest.raises(TargetError, match="no 20000 consecutive ports are free"):
        free_ports("127.0.0.1", 20_000)
