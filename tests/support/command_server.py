"""Small HTTP server for tests of services of kind `command`. It returns its own settings and counts its requests."""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType

COUNTS = {"requests": 0}


class Handler(BaseHTTPRequestHandler):
    """Returns the request count at `/metrics`, status 503 at `/late`, and the process arguments at all other paths."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        COUNTS["requests"] += 1
        body = json.dumps({"arguments": sys.argv[3:], "folder": str(Path.cwd()), "user": os.getuid()})
        if self.path == "/metrics":
            body = f"# TYPE tried_requests_total counter\ntried_requests_total {COUNTS['requests']}\n"
        elif self.path.startswith("/file?"):
            body = Path(self.path.partition("?")[2]).read_text("utf-8")
        elif self.path.startswith("/variable?"):
            body = os.environ.get(self.path.partition("?")[2], "(none)")
        self.send_response(503 if self.path == "/late" else 200)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the log of requests."""


def leave(number: int, frame: FrameType | None) -> None:
    print(f"signal {number}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, leave)
    server = ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler)
    print("it listens", flush=True)
    server.serve_forever()
