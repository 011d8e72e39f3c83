"""Installation of the software that systems and studies require. Nothing else on the machine changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from towtank.study import needed_packages
from towtank.system import debian, packages
from towtank.system.hosts.capabilities import REMARKS, Capability
from towtank.system.offers import examine_services, offer_of
from towtank.system.services import postgresql

SYSTEM = """\
schema: towtank/system/1
name: two-tiers
hosts: {here: {provider: local}}
services:
  content: {kind: content_server, host: here, settings: {database: postgresql}}
  front: {kind: haproxy, host: here, members: content}
"""
STUDIES = Path(__file__).parents[2] / "studies"
EXAMPLE = Path(__file__).parents[2] / "examples" / "balanced"


def kinds(text: str) -> list[str]:
    return [package.kind for package in needed_packages(text)]


def test_services_that_a_service_brings_with_it_are_needed_too(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM)
    assert kinds(str(path)) == ["haproxy", "postgresql"]


def test_kinds_of_all_levels_of_a_study_are_needed() -> None:
    assert kinds(str(EXAMPLE)) == ["httpd", "nginx", "haproxy"]


def test_hosts_need_programs_too(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    host = "{provider: namespaces, network: {rate: 1 Gbit/s}, disks: {data: {size: 300 MiB, file_system: xfs}}}"
    path.write_text(SYSTEM.replace("{provider: local}", host))
    found = {package.kind: package.install for package in needed_packages(str(path))}
    abilities = ["hosts_bridge", "hosts_cgroup", "hosts_loop", "hosts_namespaces", "hosts_tbf"]
    assert list(found) == ["hosts_ip", "hosts_tc", "hosts_mkfs.xfs", *abilities, "haproxy", "postgresql"]
    assert found["hosts_mkfs.xfs"] == "apt-get install xfsprogs"


def test_levels_that_set_hosts_are_counted() -> None:
    wanted = {"hosts_mkfs.ext2", "hosts_mkfs.ext3", "hosts_mkfs.ext4", "hosts_mkfs.xfs", "hosts_mkfs.btrfs"}
    assert wanted <= set(kinds(str(STUDIES / "file-systems")))


def test_levels_that_set_the_network_are_counted() -> None:
    assert {"hosts_macvlan", "hosts_tap"} <= set(kinds(str(STUDIES / "network-devices")))


def test_a_missing_capability_of_the_kernel_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered() -> dict[str, Capability]:
        return {name: Capability(name, f"no {name} here", remark) for name, remark in REMARKS.items()}

    monkeypatch.setattr(packages, "probe", offered)
    needs = {need.kind: need for need in needed_packages(str(STUDIES / "network-devices"))}
    offer = offer_of(needs["hosts_macvlan"])
    assert (offer.status, offer.value, offer.install) == ("note", None, None)
    assert offer.note == "no macvlan here; for hosts joined by link macvlan"


def test_a_mount_of_glusterfs_needs_fuse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "_FUSE", str(tmp_path / "fuse"))
    needs = {need.kind: need for need in needed_packages(str(STUDIES / "content-network-storage"))}
    assert needs["fuse"].found() is None
    assert offer_of(needs["fuse"]).note == f"{tmp_path / 'fuse'}: No such file or directory; for mounts of GlusterFS"


def test_a_host_of_provider_ssh_needs_the_library_here_and_its_servers_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "system.yaml"
    text = SYSTEM.replace("{here: {provider: local}}", "{here: {provider: ssh, address: 127.0.0.1}}")
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "haproxy" not in line))
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    (need,) = needed_packages(str(path))
    assert (need.kind, need.found()) == ("hosts_ssh", None)
    assert need.install == f"{sys.executable} -m pip install asyncssh"


def test_what_is_missing_comes_with_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packages.jvm, "find_program", lambda name: None)
    monkeypatch.setattr(packages, "find_program", lambda name: None)
    monkeypatch.setattr(packages, "postgresql_program", lambda name: None)
    found = {offer.name: (offer.status, offer.install) for offer in examine_services()}
    assert found["openldap"] == ("note", "apt-get install slapd ldap-utils")
    assert found["postgresql"] == ("note", "apt-get install postgresql")
    assert found["mariadb"] == ("note", "apt-get install mariadb-server")
    assert {status for status, _ in found.values()} == {"note"}


def test_the_newest_postgresql_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [Path(f"/usr/lib/postgresql/{version}/bin/postgres") for version in ("9.6", "15", "odd")]
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(places))
    assert str(postgresql.program("postgres")) == "/usr/lib/postgresql/15/bin/postgres"


REPOSITORY = SYSTEM.replace(
    "content_server, host: here, settings: {database: postgresql}", "cmis_repository, host: here"
)


def test_files_that_no_package_has_are_needed_and_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "system.yaml"
    path.write_text(REPOSITORY)
    needs = needed_packages(str(path))
    assert [need.kind for need in needs] == ["haproxy", "postgresql", "java", "cmis_repository"]
    files = needs[-1]
    assert isinstance(files, packages.Download)
    assert files.found() is None
    assert files.install == "towtank doctor SYSTEM --install fetches 72 MB"
    offer = next(offer for offer in examine_services() if offer.name == "cmis_files")
    assert (offer.status, offer.note) == ("note", "not fetched; for a third-party CMIS repository")
    fetched = []
    monkeypatch.setattr(packages.downloads, "fetch", lambda artefacts, note: fetched.extend(artefacts))
    # Only downloads are missing, so the installation needs neither apt-get nor root rights.
    monkeypatch.setattr(debian.shutil, "which", lambda name: None)
    packages.install([files], lambda command: 1)
    assert [artefact.name for artefact in fetched] == [
        "chemistry-opencmis-server-jcr",
        "jackrabbit-webapp",
        "jetty-runner",
        "postgresql",
    ]
