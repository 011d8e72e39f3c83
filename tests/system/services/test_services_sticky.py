"""Sticky sessions: a gateway sends all requests of a client to the server that handled the client's first request."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from towtank.observe.scraper import series_name
from towtank.results.observe import MEMBER_REQUESTS
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.services.private_server import find_program

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: sticky
hosts: {here: {provider: local}}
services:
  web: {kind: null_server, host: here, settings: {ports: 3}}
  front: {kind: haproxy, host: here, members: web, settings: {sticky: true}}
"""
REQUESTS = 7


def ask(address: str, cookie: str | None) -> str | None:
    """Sends a request; returns the cookie set by the response, without its attributes, or None if no cookie was set."""
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", "/", headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
        return (answer.getheader("Set-Cookie") or "").partition(";")[0] or None
    finally:
        connection.close()


def test_a_client_with_the_cookie_stays_and_one_without_is_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_program("haproxy") is None:
        pytest.skip("haproxy is not installed: apt-get install haproxy")
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    (tmp_path / "system.yaml").write_text(SYSTEM)
    with build_system(load_system(tmp_path / "system.yaml"), tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        (front,) = endpoints.addresses["front"]
        cookies = {ask(front, None) for _ in range(3)}
        assert cookies == {"MEMBER=web-1", "MEMBER=web-2", "MEMBER=web-3"}
        for _ in range(REQUESTS):
            assert ask(front, "MEMBER=web-2") is None
        scraper = next(candidate for candidate in endpoints.scrapers if candidate.service == "front")
        values = scraper.scrape()
        scraper.close()
        assert [values[series_name(MEMBER_REQUESTS, member=f"web-{n}")] for n in (1, 2, 3)] == [1, 1 + REQUESTS, 1]
