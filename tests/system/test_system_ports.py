"""Ports: a taken one is refused by number and with the process that has it."""

import os
import socket

import pytest

from towtank.errors import TargetError
from towtank.system.ports import free_port, free_ports, listener, require_free


def test_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        assert server.getsockname()[1] > 0


def test_taken_port_is_refused_with_its_number_and_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(
            TargetError, match=rf"content: port {port} on 127.0.0.1 is taken by .*\(pid {os.getpid()}\)"
        ):
            require_free("127.0.0.1", port, "content")


def test_port_is_free_again_when_its_server_has_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    require_free("127.0.0.1", port, "content")


def test_nobody_listens_on_a_free_port() -> None:
    assert listener(free_port()) is None


def test_address_of_another_machine_is_refused_by_reason() -> None:
    with pytest.raises(TargetError, match=r"content: cannot listen on 192\.0\.2\.1:8080: Cannot assign"):
        require_free("192.0.2.1", 8080, "content")


def test_a_row_of_free_ports_leaves_out_one_with_a_port_that_is_taken() -> None:
    first = free_ports("127.0.0.1", 5)
    with socket.create_server(("127.0.0.1", first + 2)):
        other = free_ports("127.0.0.1", 5)
    assert other == first + 5
    assert free_ports("127.0.0.1", 1) not in range(20_000, 32_768)


def test_more_ports_in_a_row_than_there_are_is_refused() -> None:
    with pytest.raises(TargetError, match="20000 ports in a row are not free"):
        free_ports("127.0.0.1", 20_000)
