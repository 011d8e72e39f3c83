"""What systems and studies need of the machine, and its installation without touching the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import TargetError
from towtank.system import packages
from towtank.system.offers import examine_services
from towtank.system.services import postgresql

SYSTEM = """\
schema: towtank/system/1
name: two-tiers
hosts: {here: {provider: local}}
services:
  content: {kind: content_server, host: here, settings: {database: postgresql}}
  front: {kind: haproxy, host: here, members: content}
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "balanced"


def kinds(text: str) -> list[str]:
    return [package.kind for package in packages.needed(text)]


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
    found = {package.kind: package.install for package in packages.needed(str(path))}
    assert list(found) == ["hosts_ip", "hosts_tc", "hosts_mkfs.xfs", "haproxy", "postgresql"]
    assert found["hosts_mkfs.xfs"] == "apt-get install xfsprogs"


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


def test_installing_starts_nothing_and_leaves_no_policy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(packages, "_POLICY", policy)
    monkeypatch.setattr(packages.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    ran = []

    def run(command: list[str]) -> int:
        ran.append(command)
        assert "exit 101" in policy.read_text()
        return 0

    packages.install([one for one in packages.PACKAGES if one.kind in ("nginx", "openldap")], run)
    assert [command[1] for command in ran] == ["update", "install"]
    assert ran[1][-3:] == ["nginx-light", "slapd", "ldap-utils"]
    assert not policy.exists()
    policy.write_text("mine")
    packages.install([], lambda command: 0)
    assert policy.read_text() == "mine"


def test_what_cannot_be_installed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nginx = [one for one in packages.PACKAGES if one.kind == "nginx"]
    monkeypatch.setattr(packages, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    with pytest.raises(TargetError, match="no apt-get here; install what is called nginx-light"):
        packages.install(nginx, lambda command: 0)
    monkeypatch.setattr(packages.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    with pytest.raises(TargetError, match="only root"):
        packages.install(nginx, lambda command: 0)
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    with pytest.raises(TargetError, match="ended with status 100"):
        packages.install(nginx, lambda command: 100)


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
    needs = packages.needed(str(path))
    assert [need.kind for need in needs] == ["haproxy", "postgresql", "java", "cmis_repository"]
    files = needs[-1]
    assert isinstance(files, packages.Download)
    assert files.found() is None
    assert files.install == "towtank doctor SYSTEM --install fetches 72 MB"
    offer = next(offer for offer in examine_services() if offer.name == "cmis_files")
    assert (offer.status, offer.note) == ("note", "not fetched; for a CMIS repository that others wrote")
    fetched = []
    monkeypatch.setattr(packages.downloads, "fetch", lambda artefacts, note: fetched.extend(artefacts))
    # Without a package to install neither apt-get nor root is needed.
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    packages.install([files], lambda command: 1)
    assert [artefact.name for artefact in fetched] == [
        "chemistry-opencmis-server-jcr",
        "jackrabbit-webapp",
        "jetty-runner",
        "postgresql",
    ]
