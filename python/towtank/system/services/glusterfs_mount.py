"""Mounts a GlusterFS file system, with one `glusterfs` process on each host that uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from towtank.secrets import open_private
from towtank.system import storage_models
from towtank.system.service import Service
from towtank.system.services.glusterfs_server import GlusterfsServer, quiet
from towtank.system.services.glusterfs_volumes import clients, mount_text
from towtank.system.services.mount import MountService


class GlusterfsMount(MountService):
    """Mounted GlusterFS file system. One `glusterfs` process runs on each host; all read the same volume file."""

    kind = "glusterfs_mount"
    program: ClassVar[str] = "glusterfs"
    title: ClassVar[str] = "GlusterFS"
    install: ClassVar[str] = "apt-get install glusterfs-client"

    def __init__(self, name: str, part: storage_models.GlusterfsMount, base: Path) -> None:  # noqa: ARG002
        super().__init__(name, list(part.servers))
        self._part = part
        self._bricks: list[GlusterfsServer] = []

    def meet(self, others: list[Service]) -> None:
        """Find the GlusterFS servers of the mount among the services of the system."""
        super().meet(others)
        self._bricks = [server for server in self._servers if isinstance(server, GlusterfsServer)]

    def configure(self) -> None:
        """Write the volume file, which is the configuration of the mount."""
        addresses = {server.name: (server.host.address, server.port, server.secret) for server in self._bricks}
        with open_private(self.folder / "mount.vol") as stream:
            stream.write(mount_text(self._part.settings, addresses))

    def program_of(self, process: str, point: Path) -> list[str]:
        """Return the command of the `glusterfs` process for one mount point."""
        given = self._part.settings
        command = [self.path, "-N", "-f", str(self.folder / "mount.vol"), *quiet(self.folder, process)]
        command += [f"--direct-io-mode={'enable' if given.direct else 'disable'}", f"--lru-limit={given.cached_files}"]
        seconds = round(given.attributes_timeout)
        return [*command, f"--attribute-timeout={seconds}", f"--entry-timeout={seconds}", str(point)]

    def settings_used(self) -> dict[str, object]:
        """Return the settings, the servers, and the mount point on each host."""
        points = {host.name: str(self.point_on(host)) for host in self.places.values()}
        return {**self._part.configuration, "servers": self._names, "mounted_at": points}

    def scrapers(self) -> list[Any]:
        """Return a scraper for each mount, which reads the statistics files of the mount."""
        from towtank.observe import GlusterfsScraper  # noqa: PLC0415 - only where something is observed

        names = clients(self._part.settings, [server.name for server in self._bricks])
        return [
            GlusterfsScraper(process, host.outside(self.point_on(host)), names) for process, host in self.places.items()
        ]
