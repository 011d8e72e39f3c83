"""HTTP server that stores its requests and returns prepared responses, for tests of metrics that are sent."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Request = tuple[str, dict[str, str], bytes]


class Receiver:
    """HTTP server that stores its requests and returns prepared responses. Without a prepared response it reports
    success.

    Attributes
    ----------
    answers : list of (int, dict, bytes)
        Status, headers and body of the next responses.
    before : callable
        Called before each response; may block.
    requests : list of (str, dict, bytes)
        Path, headers and body of each request.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.before: Callable[[], object] = lambda: None
        self.requests: list[Request] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                receiver.before()
                status, headers, answer = receiver.answers.pop(0) if receiver.answers else (200, {}, b"{}")
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Suppress the log of requests."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign] # clients may disconnect
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@contextmanager
def listening() -> Iterator[Receiver]:
    found = Receiver()
    thread = Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        thread.join()
        found.server.socket.close()


@contextmanager
def nobody() -> Iterator[str]:
    """Yield a URL that refuses connections. The port is reserved, so that no other process can listen on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
