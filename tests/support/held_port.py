"""Reserves a port for a server that starts later."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Reserve a port of the loopback interface, and yield the port number.

    The port refuses connections until a server listens on it with the option SO_REUSEADDR, which most servers set.
    Until then, no other program on the machine gets the port.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
