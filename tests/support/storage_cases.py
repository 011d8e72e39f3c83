"""Kinds of file systems of a host, as keys of a system file. The conformance tests run with each kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.system.build import build_system
from towtank.system.hosts.host import Host
from towtank.system.model import load_system
from towtank.system.process import Process
from towtank.system.service import Service
from towtank.system.services.glusterfs_volumes import folder_name
from towtank.system.services.mount import MountService
from towtank.system.system import System

_FILE = """
schema: towtank/system/1
name: storage
hosts:
  web: {{provider: namespaces{disks}}}
{hosts}
services:
  other: {{kind: null_server, host: web}}
{services}
start_timeout: 30 s
"""
_BRICKS = """
  brick-1: {provider: namespaces, disks: {data: {size: 32 MiB}}}
  brick-2: {provider: namespaces, disks: {data: {size: 32 MiB}}}
"""
_SERVERS = """
  store-1: {kind: glusterfs_server, host: brick-1, disk: data}
  store-2: {kind: glusterfs_server, host: brick-2, disk: data}
"""


@dataclass(frozen=True)
class StorageCase:
    """Kind of file system.

    Attributes
    ----------
    name : str
    disk : str
        Keys of the disk; empty for a mount.
    hosts, services : str
        Lines of the system file that define the mount's hosts and services.
    survives : bool
        True if files can be read while server `store-1` is stopped.
    refusals : tuple of str
        Error codes that are correct if a file is larger than the free space.
    """

    name: str
    disk: str = ""
    hosts: str = ""
    services: str = ""
    survives: bool = False
    refusals: tuple[str, ...] = ("ENOSPC",)

    @property
    def is_mount(self) -> bool:
        return not self.disk


def _mount(settings: str, servers: str = "[store-1, store-2]", hosts: str = "[web]") -> str:
    where = f"host: web, hosts: {hosts}, servers: {servers}"
    return f"{_SERVERS}  area: {{kind: glusterfs_mount, {where}, settings: {{{settings}}}}}\n"


CASES = (
    *(StorageCase(kind, f"size: 32 MiB, file_system: {kind}") for kind in ("ext2", "ext3", "ext4")),
    StorageCase("ext4-without-journal", "size: 32 MiB, file_system: ext4, journal: false"),
    StorageCase("xfs", "size: 300 MiB, file_system: xfs"),
    StorageCase("btrfs", "size: 128 MiB, file_system: btrfs"),
    StorageCase("btrfs-striped", "size: 256 MiB, file_system: btrfs, images: 2"),
    StorageCase("glusterfs-one", hosts=_BRICKS, services=_mount("ping_timeout: 20 s", "store-1")),
    StorageCase("glusterfs-direct", hosts=_BRICKS, services=_mount("direct: true, ping_timeout: 20 s")),
    StorageCase(
        "glusterfs-copies",
        hosts=_BRICKS,
        services=_mount("copies: 2, direct: true, ping_timeout: 20 s"),
        survives=True,
        # The file system has two copies. If one copy becomes full first, only the other copy remains valid. When that
        # copy is full, too, no copy is valid, and the error is EIO.
        refusals=("ENOSPC", "EIO"),
    ),
)

ON_TWO_HOSTS = StorageCase(
    "glusterfs-two-hosts",
    hosts=f"{_BRICKS}  second: {{provider: namespaces}}\n",
    services=_mount("ping_timeout: 20 s", hosts="[web, second]"),
)
"""File system that two hosts mount."""


@dataclass
class StorageBench:
    """System in which the host `web` has the file system under test."""

    folder: Path
    case: StorageCase
    system: System = field(init=False)

    def __post_init__(self) -> None:
        path = self.folder / "system.yaml"
        disks = f", disks: {{area: {{{self.case.disk}}}}}" if self.case.disk else ""
        path.write_text(_FILE.format(disks=disks, hosts=self.case.hosts, services=self.case.services))
        self.system = build_system(load_system(path), self.folder, self.folder / "logs")

    def lacks(self) -> list[str]:
        """Return the requirements that the machine does not meet."""
        services = [text for service in self.system._services if (text := service.missing())]
        return [*self.system._hosts.lacks(), *services]

    def service(self, name: str) -> Any:
        return next(service for service in self.system._services if service.name == name)

    @property
    def host(self) -> Host:
        return self.system._hosts.of("web")

    @property
    def root(self) -> Path:
        """Path of the file system under test on the host."""
        if not self.case.is_mount:
            return self.host.disk("area")
        mount = self.service("area")
        assert isinstance(mount, MountService)
        return mount.point_on(self.host)

    def process(self, name: str) -> tuple[Service, Process]:
        """Return the service with the given name, and its process."""
        return next((owner, process) for owner, process in self.system._processes if process.spec.name == name)

    def start_again(self, name: str) -> None:
        """Start a process of a service again, with the same command and files."""
        owner, old = self.process(name)
        old.stop()
        new = owner.host.process(old.spec, old.log)
        new.start()
        self.system._processes[self.system._processes.index((owner, old))] = (owner, new)

    def has_content(self, name: str) -> bool:
        """Return True if server `store-1` has the content of a file."""
        brick = self.system._hosts.of("brick-1")
        file = brick.disk("data") / "store-1-files" / folder_name(0) / name
        script = "import os, sys; print(os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1]))"
        answer = brick.execute([brick.python(), "-c", script, str(file)], 60.0)
        assert answer.status == 0, answer.output
        return answer.output.strip() not in ("False", "0")

    def python(self, script: str, *arguments: object, limit_s: float = 60.0) -> tuple[int, str]:
        """Run a Python script on the host, and return its exit status and output."""
        answer = self.host.execute([self.host.python(), "-c", script, *map(str, arguments)], limit_s)
        return answer.status, answer.output.strip()
