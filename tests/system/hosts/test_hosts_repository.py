"""A CMIS repository on a host with sizes: its JVM sees them, its contents lie on a disk of the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from cmis_client import CmisClient
from host_support import requires, virtual_host

from towtank.system.build import build_system, make_service
from towtank.system.model import load_system

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


@pytest.mark.slow
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
        told = endpoints.settings["content"]["jvm_told"]["content"]
        # A CPU and a half is told as two; memory is that of the control group.
        assert (told["cpus"].split(",")[1].strip(), told["memory"]) == ("2 available", "1024M")
        client = CmisClient(address)
        text = b"harbour " * 1000
        made = client.create(client.at("/inbox/000")["cmis:objectId"], "new.txt", text)
        assert client.content(made["cmis:objectId"]) == text
        service = next(one for one in system._services if one.name == "content")
        disk = service.host.outside(service.host.disk("area"))
        assert any(file.read_bytes() == text for file in disk.rglob("*") if file.is_file())
        for scraper in endpoints.scrapers:
            assert scraper.scrape(), scraper.service
            scraper.close()
        assert system.ended() == []
