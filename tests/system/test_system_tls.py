"""Targets with https:// addresses in a system file: the resulting load plan, and refused settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import StudyError
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

SYSTEM = """\
schema: towtank/system/1
name: shop
services:
  web: {kind: existing, address: ADDRESS}
targets:
  shop: {service: web, TARGET}
"""


def written(folder: Path, address: str, target: str) -> Path:
    path = folder / "system.yaml"
    path.write_text(SYSTEM.replace("ADDRESS", address).replace("TARGET", target))
    return path


def test_a_service_at_https_is_spoken_to_with_tls(tmp_path: Path) -> None:
    path = written(tmp_path, "https://127.0.0.1", "host: shop.example, tls: {ca: ca.pem, versions: ['1.3']}")
    options = load_system(path).target_options(tmp_path)
    assert options["shop"]["scheme"] == "https"
    assert options["shop"]["host"] == "shop.example"
    assert options["shop"]["tls"] == {
        "verify": True,
        "ca": str(tmp_path / "ca.pem"),
        "server_name": None,
        "client_certificate": None,
        "client_key": None,
        "resumption": True,
        "versions": ["1.3"],
    }


def test_the_port_of_https_is_443(tmp_path: Path) -> None:
    system = load_system(written(tmp_path, "https://127.0.0.1", "balance: random"))
    assert system.services["web"].address == ["https://127.0.0.1:443"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", ["2", "'2'", "2.0"])
def test_a_target_may_speak_http2(tmp_path: Path, version: str) -> None:
    system = load_system(written(tmp_path, "http://127.0.0.1:80", f"http: {version}"))
    assert system.target_options(tmp_path) == {"shop": {"http": "2"}}


@pytest.mark.parametrize("version", ["1.1", "'1.1'"])
def test_http_1_1_is_no_option(tmp_path: Path, version: str) -> None:
    system = load_system(written(tmp_path, "http://127.0.0.1:80", f"http: {version}"))
    assert system.target_options(tmp_path) == {"shop": {}}


@pytest.mark.parametrize("version", ["3", "h2", "true", "[2]", "1"])
def test_other_versions_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(StudyError, match=r"must be 1\.1 or 2"):
        load_system(written(tmp_path, "http://127.0.0.1:80", f"http: {version}"))


def test_a_plain_service_has_no_options(tmp_path: Path) -> None:
    system = load_system(written(tmp_path, "http://127.0.0.1:80", "balance: random"))
    assert system.target_options(tmp_path) == {"shop": {}}


@pytest.mark.parametrize(
    ("address", "target", "words"),
    [
        ("http://127.0.0.1", "tls: {}", "must only be given for a service at https://"),
        ("https://127.0.0.1", "tls: {client_key: k.pem}", "must have both client_certificate and client_key"),
        ("https://127.0.0.1", "tls: {versions: ['1.1']}", "1.2"),
        ("[http://127.0.0.1, https://127.0.0.1]", "balance: random", "all http:// or all https://"),
        ("https://127.0.0.1, metrics: /metrics", "balance: random", "http:// addresses if metrics are scraped"),
        ("ftp://127.0.0.1", "balance: random", "must be an address such as http://host:port"),
    ],
)
def test_what_is_refused(tmp_path: Path, address: str, target: str, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        load_system(written(tmp_path, address, target))
    assert words in str(caught.value)
