"""Third-party servers on virtual hosts. Clients reach the servers through the virtual network; Towtank observes them
from outside the host.
"""

import urllib.request
from pathlib import Path

import pytest
from host_support import requires, virtual_host

from towtank.errors import StudyError
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.services.private_server import find_program

pytestmark = pytest.mark.waits

HOSTS = """
schema: towtank/system/1
name: servers
hosts:
  edge: {provider: namespaces, memory: 128 MiB}
  inner: {provider: namespaces, cpus: 0.5}
services:
  content: {kind: null_server, host: inner, settings: {port: 80}}
"""
GATEWAY = "  front: {{kind: {kind}, host: edge, members: [content], port: 80}}\n"
OTHERS = {
    "redis": "  cache: {kind: redis, host: edge, port: 6379}\n",
    "openldap": "  people: {kind: openldap, host: edge, port: 389, population: {users: 20}}\n",
}
# Program and Debian package of each kind of server.
PROGRAMS = {
    "nginx": ("nginx", "nginx-light"),
    "httpd": ("apache2", "apache2-bin"),
    "haproxy": ("haproxy", "haproxy"),
    "redis": ("redis-server", "redis-server"),
    "openldap": ("slapd", "slapd"),
}


def needs(kind: str) -> None:
    requires(virtual_host(cpus=0.5, memory="128 MiB"))
    name, package = PROGRAMS[kind]
    if find_program(name) is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")


@pytest.mark.parametrize("kind", ["nginx", "httpd", "haproxy"])
def test_a_gateway_on_one_host_forwards_to_another(kind: str, tmp_path: Path) -> None:
    needs(kind)
    path = tmp_path / "system.yaml"
    path.write_text(HOSTS + GATEWAY.format(kind=kind))
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        (front,) = endpoints.addresses["front"]
        assert front.endswith(":80")
        assert front != endpoints.addresses["content"][0]
        for _ in range(3):
            with urllib.request.urlopen(f"http://{front}/", timeout=10) as answer:
                assert answer.status == 200
        for scraper in endpoints.scrapers:
            assert scraper.scrape(), scraper.service
            scraper.close()
        assert endpoints.tiers["front"].host == "edge"
        assert system.ended() == []


@pytest.mark.parametrize("kind", ["redis", "openldap"])
def test_a_store_on_a_host_is_reached_from_outside(kind: str, tmp_path: Path) -> None:
    needs(kind)
    path = tmp_path / "system.yaml"
    path.write_text(HOSTS + OTHERS[kind])
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        seen = {scraper.service: scraper.scrape() for scraper in endpoints.scrapers}
        for scraper in endpoints.scrapers:
            scraper.close()
        assert all(seen.values())
        assert system.ended() == []


def test_kinds_that_need_files_of_this_machine_are_refused_over_ssh(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(
        "schema: towtank/system/1\nname: far\nhosts: {far: {provider: ssh, address: far.test}}\n"
        "services:\n  cache: {kind: redis, host: far}\n  web: {kind: null_server, host: far}\n"
    )
    with pytest.raises(StudyError) as caught:
        load_system(path)
    assert [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults] == [
        "5:30: services.cache.host: must be a host of this machine for a redis, got 'far' instead, of provider ssh"
    ]
