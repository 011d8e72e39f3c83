"""A small shop to try the examples on: `python examples/shop/server.py 8080`. It logs anybody in and has two pages."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class Server(ThreadingHTTPServer):
    """Serves each connection in its own thread."""

    daemon_threads = True
    # Length of the queue of connections. Python's default is 5; if more users arrive at once, the kernel drops their
    # connections, and they try again after a second.
    request_queue_size = 1024


class Shop(BaseHTTPRequestHandler):
    """Answers with JSON. All pages but the front page and the log-in require the token that the log-in returns."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path == "/":
            self.answer(200, {"shop": "open"})
        elif not self.headers.get("Authorization", "").startswith("Bearer token-of-"):
            self.answer(401, {"error": "log in first"})
        elif self.path == "/orders":
            self.answer(200, {"orders": [{"id": 1}, {"id": 2}]})
        elif self.path in ("/orders/1", "/orders/2"):
            self.answer(200, {"id": int(self.path[-1]), "state": "sent"})
        else:
            self.answer(404, {"error": "no such page"})

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        if self.path == "/login" and form.get("user"):
            self.answer(200, {"token": f"token-of-{form['user'][0]}"})
        else:
            self.answer(400, {"error": "who are you?"})

    def answer(self, status: int, document: object) -> None:
        """Send a status and a document."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.request_version == "HTTP/1.0" and not self.close_connection:
            # a client of HTTP/1.0 otherwise waits until the connection is closed
            self.send_header("Connection", "keep-alive")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log: a line for each request would cost more than the answer."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8080), Shop)
    print(f"listening on 127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
