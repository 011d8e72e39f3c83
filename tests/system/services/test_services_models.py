"""Gateways and metrics pages in system files: the resulting scrapers, and refused gateway members."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import StudyError
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.postgresql_model import PostgresqlSettings
from towtank.system.service import scrapers_of

HEAD = "schema: towtank/system/1\nname: tiers\nhosts: {here: {provider: local}}\nservices:\n"


def written(folder: Path, *services: str) -> Path:
    path = folder / "system.yaml"
    path.write_text(HEAD + "".join(f"  {service}\n" for service in services))
    return path


def test_members_that_cannot_be_are_reported_all_at_once_with_their_places(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "web: {kind: null_server, host: here}",
        "first: {kind: httpd, host: here, members: [wep, second]}",
        "second: {kind: nginx, host: here, members: first}",
        "third: {kind: haproxy, host: here, members: [store]}",
        "store: {kind: redis, host: here}",
        "fourth: {kind: nginx, host: here}",
    )
    with pytest.raises(StudyError) as refused:
        load_system(path)
    reported = str(refused.value)
    assert "system.yaml:6:46: services.first.members[0]: must be a service of this file" in reported
    assert "did you mean 'web'" in reported
    assert "services.first.members[1]: must not lead back to 'first'" in reported
    assert "services.second.members: must not lead back to 'second'" in reported
    assert "services.third.members[0]: must be a service that speaks HTTP without TLS, got 'store' instead" in reported
    assert "services.fourth: must have either members or files, got none" in reported


def test_a_page_of_an_exporter_is_watched_beside_what_a_service_reports(tmp_path: Path) -> None:
    pages = "observe: {prometheus: ['http://127.0.0.1:9100/metrics', 'http://127.0.0.1:9101/metrics']}"
    path = written(tmp_path, f"store: {{kind: redis, host: here, {pages}}}", "web: {kind: null_server, host: here}")
    system = build_system(load_system(path), tmp_path, tmp_path / "logs")
    watched = [(scraper.service, scraper.source) for service in system._services for scraper in scrapers_of(service)]
    assert watched == [("store", "redis"), ("store-prometheus", "prometheus"), ("store-prometheus-2", "prometheus")]


def test_a_page_that_is_no_address_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "web: {kind: null_server, host: here, observe: {prometheus: here}}")
    with pytest.raises(StudyError, match="must be an address such as http://host:port/metrics, got 'here' instead"):
        load_system(path)


def test_sizes_and_times_of_postgresql_are_written_as_it_takes_them() -> None:
    given = {
        "shared_buffers": "1024 MiB",
        "work_mem": "1500kB",
        "commit_delay": "2 ms",
        "checkpoint_timeout": "5 min",
        "jit": "off",
        "more": {"geqo_threshold": 10},
    }
    assert PostgresqlSettings.model_validate(given).configuration() == {
        "shared_buffers": "1GB",
        "work_mem": "1500kB",
        "max_connections": 100,
        "synchronous_commit": "on",
        "commit_delay": "2000",
        "checkpoint_timeout": "300000ms",
        "jit": "off",
        "geqo_threshold": 10,
    }


def test_a_login_that_would_not_be_sent_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(
        """
schema: towtank/system/1
name: logins
hosts: {here: {provider: local}}
services:
  far: {kind: existing, address: "http://u:hidden@127.0.0.1:80"}
  front: {kind: haproxy, host: here, members: far}
  content: {kind: content_server, host: here, settings: {ldap: "ldap://u:hidden@127.0.0.1"}}
  mixed: {kind: existing, address: ["http://u:hidden@127.0.0.1:80", "http://127.0.0.1:81"]}
"""
    )
    with pytest.raises(StudyError) as raised:
        load_system(path)
    said = str(raised.value)
    assert "must be a service without a login in its address: a gateway does not send it, got 'far' instead" in said
    assert "ldap: must have no login: each user logs in with its own name and password" in said
    assert "must have the same login in every address, or no login in any" in said
    assert "hidden" not in said
