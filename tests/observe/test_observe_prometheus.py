"""A recorded metrics page of a content server, in the Prometheus format, and faults of servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from dripping import dripping

from towtank.observe import PrometheusScraper, ScrapeError
from towtank.observe import page as module
from towtank.observe.prometheus import parse

pytestmark = pytest.mark.waits

PAGE = """\
# HELP content_server_requests_total Requests answered.
# TYPE content_server_requests_total counter
content_server_requests_total{operation="query",status="200"} 123.0
content_server_requests_total{operation="get} \\"x\\\\",status="404"} 1e3
# TYPE content_server_requests_created gauge
content_server_requests_created{operation="query"} 1.76e+09
content_server_seconds_bucket{le="+Inf"} 7 1700000000000
content_server_queue 0
content_server_ratio NaN
content_server_limit +Inf
  content_server_pool {pool = "a b"} -2.5

"""
VALUES = {
    'content_server_requests_total{operation="query",status="200"}': 123.0,
    'content_server_requests_total{operation="get} \\"x\\\\",status="404"}': 1000.0,
    'content_server_seconds_bucket{le="+Inf"}': 7.0,
    "content_server_queue": 0.0,
    'content_server_pool{pool = "a b"}': -2.5,
}

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """Run a server that answers requests with the given function; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Suppress the log of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}/metrics"
        finally:
            httpd.shutdown()
            thread.join()


def page(text: str, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text.encode())))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


def test_a_recorded_page() -> None:
    assert parse(PAGE) == VALUES
    assert parse("") == {}


@pytest.mark.parametrize("line", ["<html>", "name", "name{a=b", 'name{a="b"}', "name x", "1name 2", "name 1 2 3"])
def test_rubbish_is_reported_with_its_line(line: str) -> None:
    with pytest.raises(ScrapeError, match="line 2"):
        parse(f"good 1\n{line}\n")


@pytest.mark.parametrize("line", ["a" * 100_000 + "\t" * 100_000 + "x", "a{" + "b" * 100_000, 'a{b="' + '\\"' * 50_000])
def test_long_rubbish_is_refused_at_once(line: str) -> None:
    with pytest.raises(ScrapeError, match="line 2"):
        parse(f"good 1\n{line} {line}\n")


def test_pages_come_over_one_connection() -> None:
    ports = set()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        ports.add(handler.client_address[1])
        page(PAGE)(handler)

    with server(answer) as url:
        scraper = PrometheusScraper("content", "content_server", url)
        assert [scraper.scrape() for _ in range(3)] == [VALUES] * 3
        scraper.close()
        scraper.close()
    assert len(ports) == 1


def test_a_kept_connection_that_the_server_closed_is_opened_again() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        page(PAGE)(handler)
        # The server closes the connection although the response has no header `Connection: close`.
        handler.close_connection = True

    with server(answer) as url:
        scraper = PrometheusScraper("content", "content_server", url)
        assert scraper.scrape() == VALUES
        assert scraper.scrape() == VALUES
        scraper.close()


def test_another_status_is_a_failure() -> None:
    with server(page("busy", status=503)) as url, pytest.raises(ScrapeError, match="503"):
        PrometheusScraper("content", "content_server", url).scrape()


def test_a_page_that_is_too_large_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_AT_MOST_BYTES", 50)
    with server(page(PAGE)) as url, pytest.raises(ScrapeError, match="at most 50 bytes"):
        PrometheusScraper("content", "content_server", url).scrape()


def test_half_an_answer_is_a_failure() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"a 1\n")
        handler.close_connection = True

    with server(answer) as url, pytest.raises(ScrapeError):
        PrometheusScraper("content", "content_server", url).scrape()


def test_what_is_not_utf_8_is_a_failure() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"\xff\xfe")

    with server(answer) as url, pytest.raises(ScrapeError, match="UnicodeDecodeError"):
        PrometheusScraper("content", "content_server", url).scrape()


def test_silence_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        with pytest.raises(ScrapeError, match="timed out"):
            PrometheusScraper("content", "content_server", url).scrape()


def test_a_page_that_drips_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    released = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        with suppress(OSError):  # The scraper disconnects before the page is complete, so a write fails.
            while not released.wait(0.02):
                handler.wfile.write(b"a 1\n")
        handler.close_connection = True

    with server(answer) as url:
        with pytest.raises(ScrapeError, match="timed out"):
            PrometheusScraper("content", "content_server", url).scrape()
        released.set()


def test_a_head_that_drips_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    with dripping(b"HTTP/1.1 200 OK\r\nX: ") as address, pytest.raises(ScrapeError, match="timed out"):
        PrometheusScraper("content", "content_server", f"http://{address}/metrics").scrape()


def test_nobody_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ScrapeError, match="refused"):
        PrometheusScraper("content", "content_server", f"http://127.0.0.1:{port}/metrics").scrape()


@pytest.mark.parametrize("url", ["127.0.0.1:80/metrics", "ftp://127.0.0.1/metrics", "http:///metrics"])
def test_an_address_is_checked_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="http://host:port/metrics"):
        PrometheusScraper("content", "content_server", url)
