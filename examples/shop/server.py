"""Web shop for the examples: `python examples/shop/server.py 8080`. It accepts any user name, and has a list of
orders.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class Server(ThreadingHTTPServer):
    """HTTP server that serves each connection in a thread."""

    daemon_threads = True
    # Length of the queue of connections that are not yet accepted. With Python's default of 5, the kernel drops
    # connections if more users arrive at once, and the clients try again after a second.
    request_queue_size = 1024


class Shop(BaseHTTPRequestHandler):
    """Answers requests with JSON. The pages `/orders` and `/orders/ID` require the token that `/login` returns."""

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
        """Send a response with a JSON document as its body."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.request_version == "HTTP/1.0" and not self.close_connection:
            # Without this header, an HTTP/1.0 client waits until the connection is closed.
            self.send_header("Connection", "keep-alive")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log, because a line for each request would take more CPU time than the response."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8080), Shop)
    print(f"listening on 127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
