"""A CMIS document repository on hosts with limits.

The JVMs must detect the CPU and memory limits. Documents are on a disk, or on a file system that two nodes mount.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cmis_client import CmisClient
from host_support import requires, until, virtual_host

from towtank.system.build import build_system, make_service
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: repository-on-hosts
hosts:
  app: {provider: namespaces, cpus: 1.5, memory: 1 GiB, disks: {area: {size: 320 MiB, file_system: ext4}}}
  data: {provider: namespaces}
services:
  store: {kind: postgresql, host: data, port: 5432}
  content:
    kind: cmis_repository
    host: app
    port: 8080
    storage: area
    settings: {threads: 24, jvm: {heap: 192 MiB}}
    population: {scale: 0.00001, seed: 3}
start_timeout: 2 min
"""


@pytest.mark.postgresql
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("repository")
def test_a_repository_sees_the_sizes_of_its_host_and_stores_on_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires(virtual_host(cpus=1.5, memory="1 GiB", disks={"area": {"size": "320 MiB"}}))
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM)
    file = load_system(path)
    if missing := make_service("content", file.services["content"], tmp_path).missing():
        pytest.skip(missing)
    with build_system(file, tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        (address,) = endpoints.addresses["content"]
        reported = endpoints.settings["content"]["jvm_told"]["content"]
        # The JVM rounds 1.5 CPUs up to two, and reports the memory limit of the control group.
        assert (reported["cpus"].split(",")[1].strip(), reported["memory"]) == ("2 available", "1024M")
        client = CmisClient(address)
        text = b"harbour " * 1000
        made = client.create(client.at("/inbox/000")["cmis:objectId"], "new.txt", text)
        assert client.content(made["cmis:objectId"]) == text
        service = next(candidate for candidate in system._services if candidate.name == "content")
        disk = service.host.outside(service.host.disk("area"))
        assert any(file.read_bytes() == text for file in disk.rglob("*") if file.is_file())
        for scraper in endpoints.scrapers:
            assert scraper.scrape(), scraper.service
            scraper.close()
        assert system.ended() == []


CLUSTER = """
schema: towtank/system/1
name: repository-on-two-hosts
hosts:
  app-1: &app {provider: namespaces, memory: 1 GiB}
  app-2: *app
  data: {provider: namespaces, disks: {area: {size: 320 MiB, file_system: ext4}}}
services:
  store: {kind: postgresql, host: data}
  brick: {kind: glusterfs_server, host: data, disk: area}
  area: {kind: glusterfs_mount, host: app-1, hosts: [app-1, app-2], servers: brick}
  content:
    kind: cmis_repository
    host: app-1
    hosts: [app-1, app-2]
    storage: area
    settings: {nodes: 2, threads: 24, sync_delay: 100 ms, jvm: {heap: 192 MiB}}
    population: {scale: 0.00001, seed: 3}
start_timeout: 3 min
"""


@pytest.mark.postgresql
@pytest.mark.timeout(400)
@pytest.mark.xdist_group("repository")
def test_two_nodes_on_two_hosts_have_their_contents_on_one_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires(virtual_host(memory="1 GiB", disks={"area": {"size": "320 MiB"}}))
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    path = tmp_path / "system.yaml"
    path.write_text(CLUSTER)
    file = load_system(path)
    for name, part in file.services.items():
        if missing := make_service(name, part, tmp_path).missing():
            pytest.skip(missing)
    with build_system(file, tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        hosts = {name: tier.host for name, tier in endpoints.tiers.items() if tier.kind == "cmis_repository"}
        assert hosts == {"content": "app-1", "content-2": "app-2"}
        first, second = [CmisClient(address) for address in endpoints.addresses["content"]]
        text = b"harbour " * 1000
        made = first.create(first.at("/inbox/000")["cmis:objectId"], "new.txt", text)
        asked = {"objectId": made["cmis:objectId"], "cmisselector": "content"}
        # The second node sees the change only after it has read the repository's journal, which it does once per
        # polling interval.
        until(lambda: second.send("/root", asked) == (200, text))
        mounts = {scraper.service: scraper for scraper in endpoints.scrapers if scraper.service.startswith("area")}
        assert set(mounts) == {"area", "area-2"}
        written = {name: scraper.scrape()["glusterfs_written_bytes_total"] for name, scraper in mounts.items()}
        assert written["area"] >= len(text)
        for scraper in mounts.values():
            scraper.close()
        assert list(system.processes_of("content-2")) == ["content-2"]
        assert system.ended() == []
