"""A small site that checks what clients send back: every form has a new token, and every session new identifiers."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

USER, PASSWORD = "ana", "open sesame 7"
BIG_BYTES = 5_000_000
HOME = """<!doctype html><title>Home</title><link rel="stylesheet" href="/style.css"><script src="/script.js" defer>
</script><h1>Welcome</h1><button id="first">First item</button><p id="answer"></p>"""
SCRIPT = """
let items = [];
fetch("/api/items").then((answer) => answer.json()).then((found) => { items = found.items; document.title = "Ready"; });
document.querySelector("#first").addEventListener("click", () => {
  const body = JSON.stringify({ item: items[0].id });
  fetch("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body })
    .then((answer) => answer.json()).then((order) => { document.querySelector("#answer").textContent = order.state; });
});
"""
LOGIN = """<!doctype html><title>Log in</title><form method="post" action="/login">
<input type="hidden" name="csrf" value="{token}"><input name="user"><input name="password" type="password">
<select name="language"><option value="en">English</option><option value="de">Deutsch</option></select>
<button id="go">Log in</button></form>"""


class Site(ThreadingHTTPServer):
    """Server of the recorded site. It stores its sessions, all requests, and the requests that it refused."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokens: dict[str, str] = {}
        self.signed_in: set[str] = set()
        self.items: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.refused: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._route("GET")

    def do_HEAD(self) -> None:
        self._route("HEAD")

    def do_POST(self) -> None:
        self._route("POST")

    def _route(self, method: str) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append(f"{method} {self.path}")
        self.server.headers.append(dict(self.headers.items()))
        self.sid = SimpleCookie(self.headers.get("Cookie", "")).get("sid")
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self._chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(length)
        action = getattr(
            self, f"{method.lower()}_{path.strip('/').replace('/', '_').replace('.', '_') or 'index'}", None
        )
        if action is None:
            self._answer(404, b"nothing here")
        else:
            action()

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, body: bytes, media: str = "text/html", **headers: str) -> None:
        if "gzip" in self.headers.get("Accept-Encoding", "") and body:
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, why: str) -> None:
        self.server.refused.append(f"{self.command} {self.path}: {why}")
        self._answer(403, why.encode())

    @property
    def session(self) -> str:
        return self.sid.value if self.sid is not None else ""

    def get_index(self) -> None:
        self._answer(
            200, b'<!doctype html><title>Shop</title><img src="/logo.png"><a id="login" href="/login">Log in</a>'
        )

    def head_index(self) -> None:
        self.get_index()

    def get_logo_png(self) -> None:
        self._answer(
            200,
            base64.b64decode(
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
            ),
            "image/png",
        )

    def get_style_css(self) -> None:
        self._answer(200, b"h1 { color: navy }", "text/css")

    def get_script_js(self) -> None:
        self._answer(200, SCRIPT.encode(), "text/javascript")

    def get_login(self) -> None:
        session = self.session or secrets.token_hex(8)
        self.server.tokens[session] = secrets.token_hex(12)
        page = LOGIN.format(token=self.server.tokens[session])
        self._answer(200, page.encode(), Set_Cookie=f"sid={session}; Path=/; HttpOnly")

    def post_login(self) -> None:
        fields = {name: values[0] for name, values in parse_qs(self.body.decode()).items()}
        expected = self.server.tokens.pop(self.session, None)
        if expected is None or fields.get("csrf") != expected:
            self._refuse("the token is wrong")
        elif (fields.get("user"), fields.get("password")) != (USER, PASSWORD):
            self._refuse("the password is wrong")
        else:
            self.server.signed_in.add(self.session)
            self._answer(303, b"", Location="/home")

    def get_home(self) -> None:
        if self.session in self.server.signed_in:
            self._answer(200, HOME.encode())
        else:
            self._refuse("nobody is logged in")

    def get_api_items(self) -> None:
        items = [f"item-{secrets.token_hex(6)}" for _ in range(3)]
        self.server.items[self.session] = items
        body = json.dumps({"items": [{"id": item} for item in items]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(body), 20):
            piece = body[at : at + 20]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def post_api_orders(self) -> None:
        if json.loads(self.body).get("item") in self.server.items.get(self.session, []):
            self._answer(201, b'{"state": "ordered"}', "application/json")
        else:
            self._refuse("the item is not of this session")

    def get_big(self) -> None:
        self._answer(200, b"x" * BIG_BYTES, "text/plain")

    def post_echo(self) -> None:
        self._answer(200, str(len(self.body)).encode(), "text/plain")

    def get_dies(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def get_socket(self) -> None:
        key = self.headers.get("Sec-WebSocket-Key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.write(self.rfile.read(5))
        self.close_connection = True


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[Site]:
    """Serve the site in threads of this process; over TLS if a file with certificate and key is given."""
    site = Site()
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        site.socket = context.wrap_socket(site.socket, server_side=True, do_handshake_on_connect=False)
        site.scheme = "https"
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        site.server_close()
        thread.join()
