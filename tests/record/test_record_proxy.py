from __future__ import annotations

import json
import os
import socket
import ssl
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from record_bench import Running
from record_site import BIG_BYTES, Site
from waiting import until

from towtank.record.authority import Authority
from towtank.record.bodies import KEPT_AT_MOST
from towtank.record.proxy import tunnel_end
from towtank.record.relay import Origin

pytestmark = pytest.mark.waits

Start = Callable[..., Running]


def client(proxy: Running, **options: Any) -> httpx.Client:
    return httpx.Client(proxy=proxy.url, timeout=30, **options)


@pytest.mark.parametrize(
    "target",
    ["h:000080" + "0" * 5000, "127.0.0.1:000080999999", "h:0", "h:65536", "h:99999", "h:٨٠", "h:", ":80", "h"],
)
def test_a_tunnel_to_what_is_no_port_is_none(target: str) -> None:
    assert tunnel_end(target) is None


def test_a_tunnel_to_a_port_names_its_server() -> None:
    assert [tunnel_end(f"H.example:{port}") for port in ("1", "65535", "00443")] == [
        Origin("https", "h.example", port) for port in (1, 65535, 443)
    ]


def header(side: dict[str, Any], name: str) -> str:
    return next(each["value"] for each in side["headers"] if each["name"].lower() == name)


def talk(proxy: Running, text: bytes) -> bytes:
    with socket.create_connection(proxy.proxy.address, timeout=30) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_an_exchange_is_kept_as_it_was(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        answer = browser.get(f"{site.url}/?a=1&b=%20", headers={"X-Mine": "7"})
    (entry,) = proxy.entries(1)
    assert answer.status_code == entry["response"]["status"] == 200
    assert entry["request"]["url"] == f"{site.url}/?a=1&b=%20"
    assert entry["request"]["queryString"] == [{"name": "a", "value": "1"}, {"name": "b", "value": " "}]
    assert header(entry["request"], "x-mine") == "7"
    assert entry["time"] == pytest.approx(
        entry["timings"]["wait"] + entry["timings"]["receive"],
        abs=0.0021,  # Each time in the sum is rounded to a microsecond.
    )
    # The server sent a compressed response. The archive contains its text, and the client received the original
    # compressed bytes.
    assert header(entry["response"], "content-encoding") == "gzip"
    assert entry["response"]["content"]["text"] == answer.text


def test_servers_are_asked_for_compression_that_can_be_undone(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        browser.get(site.url, headers={"Accept-Encoding": "br, gzip;q=0.8, zstd"})
        browser.get(site.url, headers={"Accept-Encoding": "br"})
    assert [headers["Accept-Encoding"] for headers in site.headers] == ["gzip;q=0.8", "identity"]


def test_connections_are_kept_on_both_sides(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        for _ in range(3):
            assert browser.get(site.url).status_code == 200
        assert browser.head(site.url).status_code == 200
    assert len(proxy.entries(4)) == 4
    assert site.asked == ["GET /"] * 3 + ["HEAD /"]


def test_bodies_with_and_without_length_arrive_whole(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        assert browser.post(f"{site.url}/echo", content=b"x" * 70_000).text == "70000"
        assert browser.post(f"{site.url}/echo", content=iter([b"ab", b"c" * 9])).text == "11"
        assert browser.get(f"{site.url}/api/items").json()["items"]
    first, second, third = proxy.entries(3)
    assert [first["request"]["bodySize"], second["request"]["bodySize"]] == [70_000, 11]
    assert second["request"]["postData"]["text"] == "abccccccccc"
    assert "item-" in third["response"]["content"]["text"]


def test_of_a_big_answer_the_beginning_is_kept(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        assert len(browser.get(f"{site.url}/big", headers={"Accept-Encoding": "identity"}).content) == BIG_BYTES
    content = proxy.entries(1)[0]["response"]["content"]
    assert (content["size"], len(content["text"])) == (BIG_BYTES, KEPT_AT_MOST)


def test_a_body_that_is_no_text_is_reported_as_left_out(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        browser.post(f"{site.url}/echo", content=b"\xff\x00\xfe" * 10)
        browser.post(f"{site.url}/echo", content=b"y" * (KEPT_AT_MOST + 1))
    bodies = [entry["request"]["postData"] for entry in proxy.entries(2)]
    assert bodies[0]["_left_out"] == "a body of 30 bytes that is not text"
    assert bodies[1]["_left_out"] == f"a body of {KEPT_AT_MOST + 1} bytes, longer than the part that is kept"


def test_parts_of_an_upload_are_listed(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        files = {"content": ("a.bin", b"\x00\xff" * 50, "application/octet-stream")}
        browser.post(f"{site.url}/echo", data={"title": "Grüße"}, files=files)
    title, content = proxy.entries(1)[0]["request"]["postData"]["params"]
    assert title == {"name": "title", "value": "Grüße"}
    file = {"name": "content", "fileName": "a.bin", "contentType": "application/octet-stream", "_size": 100}
    assert content == file


def test_a_server_that_dies_in_its_answer(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser, pytest.raises(httpx.RemoteProtocolError):
        browser.get(f"{site.url}/dies")
    (entry,) = proxy.entries(1)
    assert entry["response"]["status"] == 200
    assert "the connection to the server failed" in entry["_error"]


def test_a_server_that_is_not_there(run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser:
        answer = browser.get("http://127.0.0.1:1/")
    assert answer.status_code == 502
    assert "127.0.0.1:1: the server could not be reached" in answer.text
    (entry,) = proxy.entries(1)
    assert (entry["response"]["status"], "refused" in entry["_error"]) == (0, True)


def test_a_server_that_restarts_between_two_requests(site: Site, run_proxy: Start) -> None:
    """If the server has closed an idle connection, the proxy sends the request again on a new one."""
    proxy = run_proxy()
    listener = socket.create_server(("127.0.0.1", 0))
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with client(proxy) as browser, listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for _ in range(2):
            pending = _in_thread(lambda: browser.get(url).text)
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(answer)
            assert pending() == "ok"
            connection.close()
    assert len(proxy.entries(2)) == 2


def _in_thread(function: Callable[[], Any]) -> Callable[[], Any]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    pool = ThreadPoolExecutor(1)
    future = pool.submit(function)
    return lambda: (future.result(30), pool.shutdown())[0]


def test_another_protocol_is_carried_and_reported(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    host = site.url.removeprefix("http://")
    with socket.create_connection(proxy.proxy.address, timeout=30) as connection:
        connection.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        asked = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"
        connection.sendall(f"GET /socket HTTP/1.1\r\nHost: {host}\r\n{asked}\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 101")
        connection.sendall(b"hello")
        assert connection.recv(4096) == b"hello"
    (entry,) = proxy.entries(1)
    assert (entry["_resourceType"], entry["response"]["status"]) == ("websocket", 101)


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"This is the recording proxy"),
        (b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT nowhere HTTP/1.1\r\nHost: x\r\n\r\n", b"CONNECT must name host:port"),
        (b"\x00\x01\x02\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 300_000 + b"\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /ca.pem HTTP/1.1\r\nHost: x\r\n\r\n", b"BEGIN CERTIFICATE"),
    ],
)
def test_what_is_no_request_for_a_server(said: bytes, answered: bytes, run_proxy: Start) -> None:
    proxy = run_proxy()
    assert answered in talk(proxy, said)
    assert proxy.entries() == []


def test_it_does_not_relay_to_itself(run_proxy: Start) -> None:
    proxy = run_proxy()
    port = proxy.proxy.address[1]
    assert b"recording proxy" in talk(proxy, f"GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert b"HTTP/1.1 400" in talk(proxy, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


def test_a_client_of_http_1_0(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    answer = talk(proxy, f"GET {site.url}/api/items HTTP/1.0\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower()
    assert json.loads(body)["items"]


def test_https_with_a_client_that_trusts_the_authority(
    secure_site: Site, run_proxy: Start, authority: Authority, tmp_path: Any
) -> None:
    proxy = run_proxy(cacert=tmp_path / "server-ca.pem")
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    with client(proxy, verify=trust) as browser:
        assert browser.get(f"{secure_site.url}/login").status_code == 200
        assert browser.post(f"{secure_site.url}/echo", content=b"abc").text == "3"
    assert [entry["request"]["url"] for entry in proxy.entries(2)] == [
        f"{secure_site.url}/login",
        f"{secure_site.url}/echo",
    ]


def test_https_with_a_client_that_does_not(secure_site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    with client(proxy) as browser, pytest.raises(httpx.ConnectError):
        browser.get(secure_site.url)
    until(lambda: proxy.reported)
    assert proxy.reported == ["127.0.0.1: the client ended the connection in the TLS handshake: install it"]
    assert proxy.entries() == []


def test_only_who_gives_the_password_is_let_in(
    site: Site, secure_site: Site, run_proxy: Start, authority: Authority, tmp_path: Path
) -> None:
    proxy = run_proxy(cacert=tmp_path / "server-ca.pem", password="open sesame")
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    for login in ("", "towtank:open@", "other:open%20sesame@"):
        with httpx.Client(proxy=proxy.url.replace("://", f"://{login}"), verify=trust, timeout=30) as stranger:
            refused = stranger.get(f"{site.url}/login")
            assert (refused.status_code, refused.headers["proxy-authenticate"]) == (407, 'Basic realm="towtank"')
            with pytest.raises(httpx.ProxyError, match="407"):
                stranger.get(f"{secure_site.url}/login")
    assert proxy.entries() == []
    assert b"BEGIN CERTIFICATE" in talk(proxy, b"GET /ca.pem HTTP/1.1\r\nHost: x\r\n\r\n")
    own = proxy.url.replace("://", "://towtank:open%20sesame@")
    with httpx.Client(proxy=own, verify=trust, timeout=30) as browser:
        assert browser.get(f"{site.url}/login").status_code == 200
        assert browser.get(f"{secure_site.url}/login").status_code == 200
    asked = [entry["request"]["headers"] for entry in proxy.entries(2)]
    assert len(asked) == 2
    assert "proxy-authorization" not in {each["name"].lower() for headers in asked for each in headers}


def test_untrusted_servers_are_reported_to_the_client(
    secure_site: Site, run_proxy: Start, authority: Authority
) -> None:
    proxy = run_proxy()
    with client(proxy, verify=ssl.create_default_context(cadata=authority.pem.decode())) as browser:
        answer = browser.get(secure_site.url)
    assert answer.status_code == 502
    assert "the certificate of the server is not trusted" in answer.text
    assert "--insecure" in answer.text


def test_without_an_authority_tls_is_passed_through(secure_site: Site, run_proxy: Start, tmp_path: Any) -> None:
    proxy = run_proxy(tls=False)
    trust = ssl.create_default_context(cafile=str(tmp_path / "server-ca.pem"))
    with client(proxy, verify=trust) as browser:
        assert browser.get(f"{secure_site.url}/login").status_code == 200
    assert proxy.entries() == []
    assert proxy.reported == ["127.0.0.1: passed through, not recorded: TLS is passed through with --no-tls"]


def test_other_hosts_are_relayed_and_not_kept(site: Site, secure_site: Site, run_proxy: Start, tmp_path: Any) -> None:
    proxy = run_proxy(only=frozenset({"shop.example"}))
    trust = ssl.create_default_context(cafile=str(tmp_path / "server-ca.pem"))
    with client(proxy, verify=trust) as browser:
        assert browser.get(site.url).status_code == 200
        assert browser.get(secure_site.url).status_code == 200
    until(lambda: proxy.proxy.recorder.unrecorded)
    assert proxy.entries() == []
    assert proxy.proxy.recorder.unrecorded == {"127.0.0.1": 1}
    assert proxy.proxy.recorder.passed == {"127.0.0.1": 1}


def test_the_archive_is_whole_at_every_moment_and_private(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    assert stat.S_IMODE(os.stat(proxy.path).st_mode) == 0o600  # noqa: PTH116
    with client(proxy) as browser:
        for count in range(1, 4):
            browser.get(site.url)
            assert len(proxy.entries(count)) == count
    lines = proxy.path.read_text().splitlines()
    assert all(f'"url":"{site.url}/"' in line for line in lines)
    assert len(lines) == 3


def test_a_navigation_begins_a_page_and_its_redirect_does_not(site: Site, run_proxy: Start) -> None:
    proxy = run_proxy()
    navigates = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    with client(proxy) as browser:
        page = browser.get(f"{site.url}/login", headers=navigates).text
        token = page.partition('name="csrf" value="')[2].partition('"')[0]
        form = {"csrf": token, "user": "ana", "password": "open sesame 7"}
        browser.post(f"{site.url}/login", data=form, headers=navigates, follow_redirects=True)
        browser.get(f"{site.url}/style.css", headers={"Sec-Fetch-Dest": "style"})
        browser.get(f"{site.url}/home", headers=navigates)
    entries = proxy.entries(5)
    assert [entry["pageref"] for entry in entries] == ["page_1", "page_2", "page_2", "page_2", "page_3"]
    assert entries[3]["_resourceType"] == "stylesheet"
