"""Packages of the operating system that services need: which are missing, and how they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from towtank import yamlfile
from towtank.errors import TargetError
from towtank.system import downloads
from towtank.system.build import make_service
from towtank.system.host_model import NamespacesHost
from towtank.system.hosts.capabilities import PROGRAMS, REMARKS
from towtank.system.hosts.needs import host_needs
from towtank.system.model import load_system
from towtank.system.process import Note, no_note
from towtank.system.service import Service
from towtank.system.services import cmis_application, jvm
from towtank.system.services.mariadb import Mariadb
from towtank.system.services.postgresql import program as postgresql_program
from towtank.system.services.private_server import find_program
from towtank.system.source import find_system
from towtank.system.system import in_order

_KIND = re.compile(r"services\.([^.]+)\.kind")
_POLICY = Path("/usr/sbin/policy-rc.d")
# Of invoke-rc.d(8): an action is forbidden by policy.
_FORBID = "#!/bin/sh\nexit 101\n"
_INSTALL_WITHIN_S = 1800.0


@dataclass(frozen=True)
class Package:
    """What one kind of service needs.

    Attributes
    ----------
    kind : str
        The kind.
    names : tuple of str
        Packages of Debian.
    purpose : str
        What for.
    found : callable
        Gives where its program is installed; None where it is not.
    """

    kind: str
    names: tuple[str, ...]
    purpose: str
    found: Callable[[], str | None]

    @property
    def install(self) -> str:
        """Command that installs it."""
        return f"apt-get install {' '.join(self.names)}"


@dataclass(frozen=True)
class Download:
    """Files that one kind of service is made of, and that no package has.

    Attributes
    ----------
    name : str
        What it is called among the needs.
    kind : str
        The kind.
    artefacts : tuple of Artefact
        The files.
    purpose : str
        What for.
    """

    name: str
    kind: str
    artefacts: tuple[downloads.Artefact, ...]
    purpose: str

    @property
    def missing(self) -> list[downloads.Artefact]:
        """Files that have not been fetched."""
        return [artefact for artefact in self.artefacts if not downloads.is_here(artefact)]

    @property
    def install(self) -> str:
        """Command that fetches them."""
        return f"towtank doctor SYSTEM --install fetches {sum(one.size for one in self.missing) / 1e6:.0f} MB"

    def found(self) -> str | None:
        """Where they are kept; None where one is missing."""
        return None if self.missing else str(downloads.cache_folder())


Need = Package | Download


def _java() -> str | None:
    """Java; with it comes what names the repository that its files are fetched from, where nothing else does."""
    fetched = not any(one.missing for one in DOWNLOADS)
    return find_program("java") if not jvm.missing_programs() and (fetched or downloads.is_known()) else None


def _postgresql() -> str | None:
    found = postgresql_program("postgres")
    return None if found is None else str(found)


def _mariadb() -> str | None:
    found = {name: find_program(name) for name in Mariadb.programs}
    return found["mariadbd"] if all(found.values()) else None


def _openldap() -> str | None:
    return find_program("slapd") if find_program("slapadd") else None


PACKAGES = (
    Package("httpd", ("apache2-bin",), "Apache httpd as gateway", lambda: find_program("apache2")),
    Package("nginx", ("nginx-light",), "nginx as gateway", lambda: find_program("nginx")),
    Package("haproxy", ("haproxy",), "HAProxy as gateway", lambda: find_program("haproxy")),
    Package("postgresql", ("postgresql",), "private PostgreSQL", _postgresql),
    Package("mariadb", ("mariadb-server",), "private MariaDB", _mariadb),
    Package("openldap", ("slapd", "ldap-utils"), "users from an LDAP server", _openldap),
    Package(
        "glusterfs_server",
        ("glusterfs-server",),
        "servers of GlusterFS (50 MB with its libraries)",
        lambda: find_program("glusterfsd"),
    ),
    Package("glusterfs_mount", ("glusterfs-client",), "mounts of GlusterFS", lambda: find_program("glusterfs")),
    Package("redis", ("redis-server",), "private Redis", lambda: find_program("redis-server")),
    Package("java", ("default-jdk-headless", "libmaven3-core-java"), "a CMIS repository that others wrote", _java),
)
DOWNLOADS = (
    Download("cmis_files", "cmis_repository", cmis_application.ARTEFACTS, "a CMIS repository that others wrote"),
)
# Packages that have another name than the kind they are for.
_SHARED = {"java": {"cmis_repository"}}


def needed(text: str) -> list[Need]:
    """Packages and files that a system, or the system of a study with all levels of its factors, needs.

    Parameters
    ----------
    text : str
        As `towtank system up` takes it.

    Raises
    ------
    StudyError
        With every fault of the files.
    """
    _, path = find_system(text)
    kinds = {service.kind for service in in_order(_services(path))} | set(_kinds_of_levels(text))
    packages = [package for package in PACKAGES if kinds & _SHARED.get(package.kind, {package.kind})]
    return [*_of_hosts(path), *packages, *(one for one in DOWNLOADS if one.kind in kinds)]


def _of_hosts(path: Path) -> list[Package]:
    """What hosts of provider `namespaces` need: programs for networks and file systems."""
    parts = [part for part in load_system(path).hosts.values() if isinstance(part, NamespacesHost)]
    wanted = {capability for part in parts for _, capability in host_needs(part)}
    return [
        Package(f"hosts_{name}", (package,), REMARKS[name], partial(find_program, program))
        for name, (program, package) in PROGRAMS.items()
        if name in wanted
    ]


def _services(path: Path) -> list[Service]:
    file = load_system(path)
    services = [make_service(name, part, path.parent) for name, part in file.services.items()]
    for service in services:
        service.meet([other for other in services if other is not service])
    return services


def _kinds_of_levels(text: str) -> Iterator[str]:
    """Kinds that a study puts in place of those of the system file: values of paths `services.NAME.kind`."""
    from towtank.study import study_path  # noqa: PLC0415 - studies are read only where one is named

    waiting: list[Any] = [yamlfile.load(study_path(text)).root.plain()]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
            yield from (kind for path, kind in one.items() if _KIND.fullmatch(str(path)) and isinstance(kind, str))
        elif isinstance(one, list):
            waiting += one


def install(needs: Iterable[Need], run: Callable[[list[str]], int], note: Note = no_note) -> None:
    """Fetch files, and install packages with apt-get; nothing that they bring is started.

    Parameters
    ----------
    needs : iterable of Package or Download
    run : callable
        Runs a command and gives its exit status.
    note : callable
        Tells the user what is being done.

    Raises
    ------
    TargetError
        If it cannot be done here, or fails.
    """
    wanted = list(needs)
    names = list(dict.fromkeys(name for one in wanted if isinstance(one, Package) for name in one.names))
    if names:
        _install(names, run)
    for one in wanted:
        if isinstance(one, Download):
            downloads.fetch(one.artefacts, note)


def _install(names: list[str], run: Callable[[list[str]], int]) -> None:
    if shutil.which("apt-get") is None:
        raise TargetError(f"there is no apt-get here; install what is called {', '.join(names)} in Debian")
    if os.geteuid() != 0:
        raise TargetError("only root can install packages", hint=f"sudo apt-get install {' '.join(names)}")
    with _nothing_started():
        fetch = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
        for command in (["apt-get", "update", "-qq"], fetch):
            status = run(command)
            if status != 0:
                raise TargetError(f"`{' '.join(command)}` ended with status {status}")


def run_quietly(command: list[str]) -> int:
    """Run a command with its output on standard error; asks nothing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        env=environment,
        timeout=_INSTALL_WITHIN_S,
    )
    return done.returncode


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Forbid packages to start their services meanwhile; a policy that the machine has is left alone."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text(_FORBID)
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        with suppress(OSError):
            _POLICY.unlink()
