"""`towtank drive` over TLS, Unix sockets, connection pools and new connections, against small servers."""

import json
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench

pytestmark = pytest.mark.waits

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes certificates with openssl: apt-get install openssl"
)


class Page(BaseHTTPRequestHandler):
    """Handler that answers every request with the same page and keeps the connection open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the output of a log line for each request."""


class UnixPage(Page):
    """Handler for a Unix socket, which has no TCP options and no client address."""

    disable_nagle_algorithm = False


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class QuietServer(ThreadingHTTPServer):
    """Server that prints no message if a client disconnects or rejects the certificate."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Suppress the message about a failed connection."""


@contextmanager
def running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Run a server with a self-signed certificate for `shop.test`; yield its port and the certificate file."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=shop.test", "-addext", "subjectAltName=DNS:shop.test"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    extensions = ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(["openssl", "req", "-x509", *kind, *subject, *extensions, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = QuietServer(("127.0.0.1", 0), Page)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with running(server):
        yield server.server_port, certificate


def drive(bench: Bench, *arguments: str) -> tuple[int, dict[str, Any], str]:
    window = ["--users", "4", "--think", "20ms", "--duration", "1s"]
    ended = bench.towtank("drive", *arguments, *window, "--json", "--quiet")
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


@needs_openssl
@pytest.mark.parametrize("connections", ["per-user", "2", "new"])
def test_https_with_every_model(bench: Bench, secure: tuple[int, Path], connections: str) -> None:
    port, certificate = secure
    options = ["--connect-to", f"127.0.0.1:{port}", "--cacert", str(certificate), "--connections", connections]
    code, document, errors = drive(bench, "https://shop.test/", "--threads", "1", *options)
    assert (code in {0, 4}, errors) == (True, "")
    assert document["requests"] > 0
    assert document["errors"] == 0
    assert document["connect_failures"] == {}
    shaken = document["handshakes"]
    if connections == "new":
        assert shaken["full"] == 4
        assert shaken["resumed"] >= document["requests"] - 4
    else:
        assert shaken == {"full": 4 if connections == "per-user" else 2, "resumed": 0}


@needs_openssl
def test_a_certificate_that_is_not_trusted_is_reported(bench: Bench, secure: tuple[int, Path]) -> None:
    port, _ = secure
    url = f"https://127.0.0.1:{port}/"
    _, document, _ = drive(bench, url, "--cacert", str(secure[1]))
    assert document["errors_by_kind"]["connect"] == document["errors"] == document["requests"] > 0
    (reason,) = document["connect_failures"]
    assert reason.startswith("TLS: the certificate of the server ")
    _, document, _ = drive(bench, url, "--insecure")
    assert document["errors"] == 0


def test_unix_socket(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with running(UnixServer(str(path), UnixPage)):
        _, document, errors = drive(bench, "http://app/", "--connect-to", f"unix:{path}")
    assert errors == ""
    assert document["requests"] > 0
    assert document["errors"] == 0


def test_a_source_that_is_not_of_this_host(bench: Bench) -> None:
    server = QuietServer(("127.0.0.1", 0), Page)
    with running(server):
        _, document, _ = drive(bench, f"http://127.0.0.1:{server.server_port}/", "--source", "127.0.0.5")
        assert document["errors"] == 0
        code, _, errors = drive(bench, f"http://127.0.0.1:{server.server_port}/", "--source", "192.0.2.1")
    assert code != 0
    assert "connections cannot use the source address 192.0.2.1" in errors
    assert "Traceback" not in errors
