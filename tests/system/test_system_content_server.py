"""The content server as a service of a system, on SQLite or PostgreSQL, with one or several nodes.

Its data is created once, and is identical at every start.
"""

import base64
import csv
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from towtank.system import model
from towtank.system.build import build_system, population
from towtank.system.services.postgresql import INSTALL_HINT, program
from towtank.system.system import Endpoints, System

pytestmark = pytest.mark.waits

pytest.importorskip("content_server", reason="the content server is not installed: make setup")
needs_postgresql = pytest.mark.skipif(
    program("postgres") is None, reason=f"PostgreSQL is not installed: {INSTALL_HINT}"
)

SYSTEM = """
schema: towtank/system/1
name: content
hosts: {{here: {{provider: local}}}}
services:
  content:
    kind: content_server
    host: here
    settings: {{{settings}}}
    population: {{scale: 0.00002, seed: 3}}
{more}
start_timeout: 90 s
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_engine: Path) -> Iterator[Any]:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    systems: list[System] = []

    def build(settings: str = "", more: str = "") -> System:
        path = tmp_path / "system.yaml"
        path.write_text(SYSTEM.format(settings=settings, more=more))
        systems.append(build_system(model.load_system(path), tmp_path, tmp_path / "logs", cpus=[0]))
        return systems[-1]

    yield build
    for system in systems:
        system.down()


def children(endpoints: Endpoints, address: str) -> list[str]:
    """Return the names in the root folder, as the first generated user sees them."""
    with endpoints.exports["content"]["accounts_csv"].open() as stream:
        account = next(csv.DictReader(stream))
    login = base64.b64encode(f"{account['user']}:{account['password']}".encode()).decode()
    url = f"http://{address}/browser/content/root?cmisselector=children&succinct=true"
    request = urllib.request.Request(url, headers={"Authorization": f"Basic {login}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        objects = json.load(answer)["objects"]
    return [each["object"]["succinctProperties"]["cmis:name"] for each in objects]


@pytest.mark.smoke
def test_population_is_made_once_and_offered_to_workloads(make: Any, tmp_path: Path) -> None:
    endpoints = make().up()
    assert "population" in children(endpoints, endpoints.addresses["content"][0])
    assert {"documents_csv", "accounts_csv", "folders_csv", "searches_csv", "terms_csv"} == set(
        endpoints.exports["content"]
    )
    assert all(path.is_file() for path in endpoints.exports["content"].values())
    assert [scraper.service for scraper in endpoints.scrapers] == ["content", "content-sqlite"]
    assert endpoints.settings["content"]["population"] == {"scale": 0.00002, "seed": 3}
    assert endpoints.tiers["content"].cpus == [0]


def test_second_start_reuses_the_population(make: Any, tmp_path: Path) -> None:
    with make() as system:
        system.up()
    with make() as system:
        system.up()
    assert "nothing to do" in (tmp_path / "logs" / "content-populate.log").read_text()
    assert "back in the populated state" in (tmp_path / "logs" / "content-reset.log").read_text()


def test_nodes_share_one_population(make: Any) -> None:
    endpoints = make("nodes: 2").up()
    assert set(endpoints.groups) == {"content", "content-2"}
    first, second = endpoints.addresses["content"]
    assert children(endpoints, first) == children(endpoints, second)


def test_other_population_has_a_folder_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM.format(settings="", more=""))
    small = population(model.load_system(path))
    path.write_text(SYSTEM.format(settings="threads: 9", more=""))
    assert population(model.load_system(path)) == small
    path.write_text(SYSTEM.format(settings="", more="").replace("seed: 3", "seed: 4"))
    assert population(model.load_system(path)) != small


@pytest.mark.smoke
@needs_postgresql
@pytest.mark.postgresql
def test_private_database_comes_with_the_server(make: Any) -> None:
    endpoints = make("database: postgresql").up()
    assert list(endpoints.groups) == ["database", "content"]
    assert "population" in children(endpoints, endpoints.addresses["content"][0])
    assert [scraper.service for scraper in endpoints.scrapers] == ["database", "content"]


@needs_postgresql
@pytest.mark.postgresql
def test_database_of_the_system_is_used_with_its_settings(make: Any) -> None:
    more = "  metadata: {kind: postgresql, host: here, settings: {shared_buffers: 24MB}}"
    endpoints = make("database: postgresql", more).up()
    assert list(endpoints.groups) == ["metadata", "content"]
    assert endpoints.settings["metadata"]["shared_buffers"] == "24MB"
