"""Needs of services and hosts on this machine (packages, files, abilities), and their installation."""

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
from towtank.system.service import Service
from towtank.system.services import cmis_application, jvm
from towtank.system.services.mariadb import Mariadb
from towtank.system.services.postgresql import program as postgresql_program
from towtank.system.services.private_server import find_program
from towtank.system.system import in_order

_FUSE = "/dev/fuse"


@dataclass(frozen=True)
class Package:
    """Packages of Debian that one kind of service needs.

    Attributes
    ----------
    kind : str
        The kind.
    names : tuple of str
        Packages of Debian.
    purpose : str
        Purpose.
    found : callable
        Returns the path of its program; None if it is not installed.
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
    """Files of one kind of service that no package has.

    Attributes
    ----------
    name : str
        Name of the need.
    kind : str
        The kind.
    artefacts : tuple of Artefact
        The files.
    purpose : str
        Purpose.
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
        return f"towtank doctor SYSTEM --install fetches {sum(artefact.size for artefact in self.missing) / 1e6:.0f} MB"

    def found(self) -> str | None:
        """Return the folder of the files; None if one is missing."""
        return None if self.missing else str(downloads.cache_folder())


@dataclass(frozen=True)
class Ability:
    """An ability of the machine, or a Python package, that a system needs and Debian does not package.

    Attributes
    ----------
    kind : str
        Name of the need.
    purpose : str
        Feature that needs it.
    found : callable
        Returns its place, or `yes`; None if it is missing.
    lacking : str
        Reason why it is missing.
    install : str or None
        Command that installs it, if one exists.
    """

    kind: str
    purpose: str
    found: Callable[[], str | None]
    lacking: str
    install: str | None = None


Need = Package | Download | Ability


def _java() -> str | None:
    """Return the path of Java if the files that need it are fetched or can be fetched; None otherwise."""
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
    Package("java", ("default-jdk-headless", "libmaven3-core-java"), "a CMIS repository that others wrote", _java),
)
DOWNLOADS = (
    Download("cmis_files", "cmis_repository", cmis_application.ARTEFACTS, "a CMIS repository that others wrote"),
)
# Packages that have another name than the kind they are for.
_SHARED = {"java": {"cmis_repository"}}


def packages_of(kinds: Set[str]) -> list[Package]:
    """Return the packages that services of some kinds need."""
    return [package for package in PACKAGES if kinds & _SHARED.get(package.kind, {package.kind})]


def needs_of(systems: Sequence[tuple[SystemFile, Path]]) -> list[Need]:
    """Return packages and files that systems need, each given with the folder of its file."""
    kinds = {service.kind for file, folder in systems for service in in_order(_services(file, folder))}
    fuse = [_fuse()] if "glusterfs_mount" in kinds else []
    return [
        *_of_hosts([file for file, _ in systems]),
        *packages_of(kinds),
        *fuse,
        *(download for download in DOWNLOADS if download.kind in kinds),
    ]


def _of_hosts(systems: list[SystemFile]) -> Iterator[Need]:
    """Yield the needs of hosts: programs for networks and file systems, capabilities of the kernel, SSH."""
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
    """Yield the capabilities that the hosts of a system and their network need; alternatives as `a or b`."""
    parts = [part for part in file.hosts.values() if isinstance(part, NamespacesHost)]
    for part in parts:
        yield from (capability for _, capability in host_needs(part))
    if parts:
        yield from (capability for _, capability in network_needs(file.network))


def _of_kernel(name: str) -> Ability:
    """Return a capability of the kernel, which is tested at once."""
    points = [probe()[each] for each in name.split(" or ")]
    there = any(point.there for point in points)
    last = points[-1]
    label = f"hosts_{name.replace(' ', '_')}"
    return Ability(label, last.remark, lambda: "yes" if there else None, last.lacking or "", last.install)


def _fuse() -> Ability:
    """Return the need of the FUSE device, which a container may forbid to open."""
    try:
        os.close(os.open(_FUSE, os.O_RDWR | os.O_CLOEXEC))
        lacking = ""
    except OSError as error:
        lacking = f"{_FUSE}: {error.strerror}"
    return Ability("fuse", "mounts of GlusterFS", lambda: None if lacking else _FUSE, lacking)


def _services(file: SystemFile, folder: Path) -> list[Service]:
    """Return the services on this machine; hosts of provider ssh check the needs of their services themselves."""
    away = {name for name, part in file.hosts.items() if isinstance(part, SshHost)}
    here = {name: part for name, part in file.services.items() if not set(part.hosts_used) & away}
    services = [make_service(name, part, folder) for name, part in here.items()]
    for service in services:
        service.meet([other for other in services if other is not service])
    return services


def install(needs: Iterable[Need], run: debian.Run, note: Note = no_note) -> None:
    """Fetch files and install packages with apt-get, without starting services, now or at the next boot.

    Parameters
    ----------
    needs : iterable of Package or Download
    run : callable
        Runs a command and gives its exit status.
    note : callable
        Shows a step of the work to the user.

    Raises
    ------
    TargetError
        If it cannot be done here, or fails.
    """
    wanted = list(needs)
    names = list(dict.fromkeys(name for need in wanted if isinstance(need, Package) for name in need.names))
    if names:
        debian.install(names, run)
    for need in wanted:
        if isinstance(need, Download):
            downloads.fetch(need.artefacts, note)
