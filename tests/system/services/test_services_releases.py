"""Program file or package of a server, as named in a system file or as a level of a factor."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import StudyError, TargetError
from towtank.study import load_study, needed_packages
from towtank.system.build import build_system
from towtank.system.command_files import files_of_commands
from towtank.system.model import load_system
from towtank.system.releases import Release
from towtank.system.services.private_server import PrivateServer, ProgramService

PROGRAMS = {"haproxy": "haproxy", "httpd": "apache2", "nginx": "nginx", "redis": "redis-server"}
STUDY = """\
schema: towtank/study/1
name: releases
question: Is the new release slower?
system: system.yaml
workload: workload.yaml
factors:
  users: [1]
  release:
    old: {services.front.program: releases/old/haproxy}
    new: {services.front.program: releases/new/haproxy}
load: {kind: closed, stages: {steady: 1 s}}
"""
WORKLOAD = """\
schema: towtank/workload/1
name: front
defaults: {target: front}
transactions: {look: [{get: /}]}
groups: {users: {loop: {mix: {look: 1}}}}
"""


def written(folder: Path, kind: str, keys: str) -> Path:
    members = "" if kind == "redis" else "members: web, "
    path = folder / "system.yaml"
    path.write_text(
        "schema: towtank/system/1\nname: front\nhosts: {here: {provider: local}}\nservices:\n"
        "  web: {kind: null_server, host: here}\n"
        f"  front: {{kind: {kind}, host: here, {members}{keys}}}\n"
    )
    return path


def front(path: Path) -> ProgramService:
    system = build_system(load_system(path), path.parent, path.parent / "logs")
    return next(service for service in system._services if isinstance(service, ProgramService))


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("kind", "program"), PROGRAMS.items())
def test_a_named_program_takes_the_place_of_the_installed_program(tmp_path: Path, kind: str, program: str) -> None:
    path = written(tmp_path, kind, f"program: old/{program}")
    service = front(path)
    place = tmp_path / "old" / program
    assert service.missing() == f"front: the program old/{program} is not installed: no executable file at {place}"
    with pytest.raises(TargetError, match="is not installed: no executable file at"):
        _ = service.path
    executable(place)
    assert (service.missing(), service.path, service.folders()) == (None, str(place), [place.parent])
    assert service.settings_used()["program"] == f"old/{program}"
    part = load_system(path).services["front"]
    assert [(named.key, named.path) for named in files_of_commands(part, tmp_path)] == [(("program",), place)]
    assert needed_packages(str(path)) == [], "the installed package is not needed"


@pytest.mark.parametrize(("kind", "program"), PROGRAMS.items())
def test_an_unpacked_package_takes_the_place_of_the_installed_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, program: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = written(tmp_path, kind, "package: server=1:2.6.12-1")
    service = front(path)
    lacking = "front: the package server=1:2.6.12-1 is not unpacked; towtank doctor SYSTEM --install unpacks it"
    assert service.missing() == lacking
    assert [need.kind for need in needed_packages(str(path))] == [kind, "server=1:2.6.12-1"]
    found = executable(Release("server=1:2.6.12-1", program).folder / "usr" / "bin" / program)
    assert (service.missing(), service.path) == (None, str(found))
    assert service.settings_used()["package"] == "server=1:2.6.12-1"


def test_a_package_is_downloaded_and_unpacked_and_a_version_that_apt_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    release = Release("server=2.6.12-1", "server")
    commands = []

    def run(command: list[str]) -> int:
        commands.append(command)
        if "download" in command:
            Path(command[1].partition("=")[2], "server_2.6.12-1_amd64.deb").touch()
        elif "-e" in command:
            controlled(command, "Depends: libc6 (>= 2.36)\n")
        else:
            executable(Path(command[-1]) / "usr" / "sbin" / "server")
        return 0

    with pytest.raises(TargetError, match=r"apt-get cannot download server=2\.6\.12-1") as refused:
        release.fetch(lambda command: 100)
    assert refused.value.hint == "`apt-cache policy server` lists the versions that this machine can download"
    assert release.found() is None
    release.fetch(run)
    assert release.found() == str(release.folder / "usr" / "sbin" / "server")
    assert [command[0] for command in commands] == ["env", "dpkg-deb"]
    assert list(release.folder.parent.iterdir()) == [release.folder], "temporary folders must be removed"
    with pytest.raises(TargetError, match=r"the package server=2\.6\.12-1 has no program other"):
        Release("server=2.6.12-1", "other").fetch(run)


def controlled(command: list[str], depends: str) -> None:
    """Writes a control file, as `dpkg-deb -e ARCHIVE FOLDER` does."""
    Path(command[-1]).mkdir()
    Path(command[-1], "control").write_text(f"Package: server\n{depends}Description: a server\n")


def test_a_program_in_a_package_of_the_same_version_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On Debian, /usr/bin/redis-server is a link to redis-check-rdb, which belongs to the package redis-tools.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    downloaded = []

    def run(command: list[str]) -> int:
        if "download" in command:
            downloaded.append(command[-1])
            Path(command[1].partition("=")[2], "package.deb").touch()
        elif "-e" in command:
            controlled(command, "Depends: init (>= 1), redis-tools (= 5:7.0-1), other (= 1), a (= 5:7.0-1) | b\n")
        elif "redis-tools" in command[-2]:
            executable(Path(command[-1], "usr", "bin", "redis-check-rdb"))
        else:
            Path(command[-1], "usr", "bin").mkdir(parents=True)
            Path(command[-1], "usr", "bin", "redis-server").symlink_to("redis-check-rdb")
        return 0

    release = Release("redis-server=5:7.0-1", "redis-server")
    release.fetch(run)
    assert release.found() == str(release.folder / "usr" / "bin" / "redis-server")
    assert downloaded == ["redis-server=5:7.0-1", "redis-tools=5:7.0-1"]


@pytest.mark.parametrize("package", ["haproxy", "haproxy=", "=2.6", "haproxy=2.6/3", "-o=2", "haproxy=2.6 x"])
def test_a_package_without_a_version_is_refused(tmp_path: Path, package: str) -> None:
    with pytest.raises(StudyError, match=r"services\.front\.package: must be NAME=VERSION of a Debian package"):
        load_system(written(tmp_path, "haproxy", f"package: '{package}'"))


def test_the_account_of_a_server_starts_a_copy_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    service = front(written(tmp_path, "haproxy", "package: haproxy=2.6"))
    executable(Release("haproxy=2.6", "haproxy").folder / "usr" / "sbin" / "haproxy")
    assert isinstance(service, PrivateServer)
    service._account, service._folder = "haproxy", tmp_path / "run"
    service.folder.mkdir()
    copy = service.folder / "haproxy"
    for _ in range(2):  # The second iteration is a restart, at which the copy already exists.
        assert service.as_server([service.path, "-db"])[-2:] == [str(copy), "-db"]
    assert copy.stat().st_mode & 0o777 == 0o755
    assert "=" not in service.path, "`env` interprets a path with `=` as a variable"


def test_program_and_package_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"services\.front: must have program or package, got both"):
        load_system(written(tmp_path, "haproxy", "program: haproxy, package: haproxy=2.6"))


def test_releases_are_levels_of_a_factor(tmp_path: Path) -> None:
    written(tmp_path, "haproxy", "port: 0")
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    for name in ("old", "new"):
        executable(tmp_path / "releases" / name / "haproxy")
    study = load_study(tmp_path / "study.yaml")
    found = {run.factors["release"]: run.system.services["front"].program for run in study.design()}
    assert found == {"old": "releases/old/haproxy", "new": "releases/new/haproxy"}
    named = {str(each.path.relative_to(tmp_path)) for each in study.named_files() if each.key.endswith(".program")}
    assert named == {"releases/old/haproxy", "releases/new/haproxy"}, (
        "the results must contain the digests of these programs"
    )
