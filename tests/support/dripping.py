"""Server that sends given bytes at once, then single bytes at intervals, without end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from waiting import PATIENCE_S

_EVERY_S = 0.02


@contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """Serve one client on the loopback interface; yield the server's address."""
    released = threading.Event()

    def serve(listener: socket.socket) -> None:
        with suppress(OSError), listener.accept()[0] as client:  # An OSError is raised when the client disconnects.
            client.sendall(first)
            while not released.wait(_EVERY_S):
                client.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        released.set()
        thread.join(PATIENCE_S)
