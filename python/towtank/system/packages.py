"""Determines what services and hosts need on this machine, such as Debian packages, and installs what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from towtank.installing import SSH_LIBRARY, pip_install
from towtank.system import debian, downloads
from towtank.system.build import make_service
from towtank.system.host_model import NamespacesHost, SshHost
from towtank.system.hosts.capabilities import PROGRAMS, REMARKS, probe
from towtank.system.hosts.needs import host_needs, network_needs
from towtank.system.model import SystemFile
from towtank.system.process import Note, no_note
from towtank.system.releases import Release
from towtank.system.service import Service
from towtank.system.services import cmis_application, jvm
from towtank.system.services.mariadb import Mariadb
from towtank.system.services.postgresql import program as postgresql_program
from towtank.system.services.private_server import ProgramService, find_program
from towtank.system.system import in_order

_FUSE = "/dev/fuse"


@dataclass(frozen=True)
class Package:
    """Debian packages that a kind of service needs.

    `purpose` is the feature that needs them; `found` returns the path of the installed program, or None.
    """

    kind: str
    names: tuple[str, ...]
    purpose: str
    found: Callable[[], str | None]

    @property
    def install(self) -> str:
        return f"apt-get install {' '.join(self.names)}"


@dataclass(frozen=True)
class Download:
    """Files in a Maven repository, not in any Debian package, that a kind of service needs.

    `name` is that of the group of files in messages and JSON documents; `purpose` is the feature that needs them.
    """

    name: str
    kind: str
    artefacts: tuple[downloads.Artefact, ...]
    purpose: str

    @property
    def missing(self) -> list[downloads.Artefact]:
        """Files that are not in the cache."""
        return [artefact for artefact in self.artefacts if not downloads.is_here(artefact)]

    @property
    def install(self) -> str:
        """Description of the command that downloads the missing files."""
        return f"towtank doctor SYSTEM --install fetches {sum(artefact.size for artefact in self.missing) / 1e6:.0f} MB"

    def found(self) -> str | None:
        """Return the cache folder; None if a file is missing."""
        return None if self.missing else str(downloads.cache_folder())


@dataclass(frozen=True)
class Ability:
    """Ability of this machine, or Python package, that a system needs.

    `purpose` is the feature that needs it; `found` returns the path of the device or package, or `yes`, or None if it
    is missing; `lacking` is the reason why; `install` is the command that installs it, if one exists.
    """

    kind: str
    purpose: str
    found: Callable[[], str | None]
    lacking: str
    install: str | None = None


Need = Package | Download | Release | Ability


def _java() -> str | None:
    """Return the path of Java; None if Java is missing, or the files of the CMIS repository cannot be downloaded."""
    fetched = not any(download.missing for download in DOWNLOADS)
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
    Package("java", ("default-jdk-headless", "libmaven3-core-java"), "a third-party CMIS repository", _java),
)
DOWNLOADS = (Download("cmis_files", "cmis_repository", cmis_application.ARTEFACTS, "a third-party CMIS repository"),)
# Kinds of services that need a package whose `kind` is no kind of service.
_SHARED = {"java": {"cmis_repository"}}


def packages_of(kinds: Set[str]) -> list[Package]:
    return [package for package in PACKAGES if kinds & _SHARED.get(package.kind, {package.kind})]


def needs_of(systems: Sequence[tuple[SystemFile, Path]]) -> list[Need]:
    """Return what systems need on this machine. Each system file is paired with its folder."""
    services = [service for file, folder in systems for service in in_order(_services(file, folder))]
    releases = [service.release for service in services if isinstance(service, ProgramService) and service.release]
    kinds = {service.kind for service in services if not _is_named(service)}
    fuse = [_fuse()] if "glusterfs_mount" in kinds else []
    return [
        *_of_hosts([file for file, _ in systems]),
        *packages_of(kinds),
        *fuse,
        *(download for download in DOWNLOADS if download.kind in kinds),
        *dict.fromkeys(releases),
    ]


def _is_named(service: Service) -> bool:
    """Return True if the system file names the program of a service, which then needs no installed package."""
    return isinstance(service, ProgramService) and service.named_program is not None


def _of_hosts(systems: list[SystemFile]) -> Iterator[Need]:
    """Yield what the hosts of systems need: programs, abilities of the kernel, and the SSH library."""
    capabilities = {capability for file in systems for capability in _capabilities(file)}
    for name, (program, package) in PROGRAMS.items():
        if name in capabilities:
            yield Package(f"hosts_{name}", (package,), REMARKS[name], partial(find_program, program))
    for name in sorted(capabilities - set(PROGRAMS)):
        yield _of_kernel(name)
    if any(isinstance(part, SshHost) for file in systems for part in file.hosts.values()):
        spec = find_spec(SSH_LIBRARY)
        found = None if spec is None else str(spec.origin)
        yield Ability("hosts_ssh", "hosts of provider ssh", lambda: found, "not installed", pip_install(SSH_LIBRARY))


def _capabilities(file: SystemFile) -> Iterator[str]:
    """Yield the capabilities that the hosts of a system and its network need; `a or b` means one of both."""
    parts = [part for part in file.hosts.values() if isinstance(part, NamespacesHost)]
    for part in parts:
        yield from (capability for _, capability in host_needs(part))
    if parts:
        yield from (capability for _, capability in network_needs(file.network))


def _of_kernel(name: str) -> Ability:
    """Test a capability of the kernel, and return the result as an `Ability`."""
    points = [probe()[each] for each in name.split(" or ")]
    there = any(point.there for point in points)
    last = points[-1]
    label = f"hosts_{name.replace(' ', '_')}"
    return Ability(label, last.remark, lambda: "yes" if there else None, last.lacking or "", last.install)


def _fuse() -> Ability:
    """Return the need for the FUSE device, which a container may lack permission to open."""
    try:
        os.close(os.open(_FUSE, os.O_RDWR | os.O_CLOEXEC))
        lacking = ""
    except OSError as error:
        lacking = f"{_FUSE}: {error.strerror}"
    return Ability("fuse", "mounts of GlusterFS", lambda: None if lacking else _FUSE, lacking)


def _services(file: SystemFile, folder: Path) -> list[Service]:
    """Return the services on this machine; services on hosts of provider `ssh` are checked on these hosts."""
    away = {name for name, part in file.hosts.items() if isinstance(part, SshHost)}
    here = {name: part for name, part in file.services.items() if not set(part.hosts_used) & away}
    services = [make_service(name, part, folder) for name, part in here.items()]
    for service in services:
        service.meet([other for other in services if other is not service])
    return services


def install(needs: Iterable[Need], run: debian.Run, note: Note = no_note) -> None:
    """Download files and install packages, without starting services or enabling them at boot.

    Missing abilities of the machine are ignored. `run` runs a command and returns its exit status; `note` is called
    with a description of each step.

    Raises
    ------
    TargetError
        If an installation fails, or this machine or user does not allow it.
    """
    wanted = list(needs)
    names = list(dict.fromkeys(name for need in wanted if isinstance(need, Package) for name in need.names))
    if names:
        debian.install(names, run)
    for need in wanted:
        if isinstance(need, Download):
            downloads.fetch(need.artefacts, note)
        elif isinstance(need, Release):
            note(f"unpacking {need.package} in {need.folder}")
            need.fetch(run)
