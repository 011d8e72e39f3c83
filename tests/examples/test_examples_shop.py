from __future__ import annotations

import importlib.util
import socket
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

pytestmark = pytest.mark.waits

SERVER = Path(__file__).parents[2] / "examples" / "shop" / "server.py"
USERS = 64


def load() -> ModuleType:
    """Import the server program of the example as a module."""
    spec = importlib.util.spec_from_file_location("shop", SERVER)
    assert spec is not None
    assert spec.loader is not None
    shop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shop)
    return shop


def test_users_who_arrive_at_once_are_all_taken_in() -> None:
    shop = load()
    with shop.Server(("127.0.0.1", 0), shop.Shop) as server, ExitStack() as stack:
        # The test server never accepts connections. More connections than the kernel's queue holds would be retried and
        # finally time out.
        users = [stack.enter_context(socket.socket()) for _ in range(USERS)]
        for user in users:
            user.settimeout(20)
            user.connect(server.server_address)


def test_a_client_of_http_1_0_that_keeps_its_connection_gets_keep_alive() -> None:
    shop = load()
    request = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    with shop.Server(("127.0.0.1", 0), shop.Shop) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            with socket.create_connection(server.server_address, 20) as user, user.makefile("rb") as answers:
                for _ in range(2):
                    user.sendall(request)
                    head = [answers.readline().strip().lower() for _ in range(6)]
                    assert b"connection: keep-alive" in head
                    assert answers.readline() == b"\r\n"
                    assert answers.read(16) == b'{"shop": "open"}'
        finally:
            server.shutdown()
            thread.join()
