"""Mounts a GlusterFS file system: one `glusterfs` process on each host, all with the same volume file."""

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
    """Mounted GlusterFS file system, with one `glusterfs` process for each host."""

    kind = "glusterfs_mount"
    program: ClassVar[str] = "glusterfs"
    title: ClassVar[str] = "GlusterFS"
    install: ClassVar[str] = "apt-get install glusterfs-client"

    def __init__(self, name: str, part: storage_models.GlusterfsMount, base: Path) -> None:  # noqa: ARG002
        super().__init__(name, list(part.servers))
        self._part = part
        self._bricks: list[GlusterfsServer] = []

    def meet(self, others: list[Service]) -> None:
        """Find the GlusterFS servers of the mount among the other services."""
        super().meet(others)
        self._bricks = [server for server in self._servers if isinstance(server, GlusterfsServer)]

    def configure(self) -> None:
        """Write the volume file (configuration) of the mount."""
        addresses = {server.name: (server.host.address, server.port, server.secret) for server in self._bricks}
        with open_private(self.folder / "mount.vol") as stream:
            stream.write(mount_text(self._part.settings, addresses))

    def program_of(self, process: str, point: Path) -> list[str]:
        """Return the command of one `glusterfs` process, which serves one mount point."""
        given = self._part.settings
        command = [self.path, "-N", "-f", str(self.folder / "mount.vol"), *quiet(self.folder, process)]
        command += [f"--direct-io-mode={'enable' if given.direct else 'disable'}", f"--lru-limit={given.cached_files}"]
        seconds = round(given.attributes_timeout)
        return [*command, f"--attribute-timeout={seconds}", f"--entry-timeout={seconds}", str(point)]

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the mount, its servers, and the mount point on each host."""
        points = {host.name: str(self.point_on(host)) for host in self.places.values()}
        return {**self._part.configuration, "servers": self._names, "mounted_at": points}

    def scrapers(self) -> list[Any]:
        """Return the scraper that reads the files with the statistics of each mount."""
        from towtank.observe import GlusterfsScraper  # noqa: PLC0415 - only where something is observed

        names = clients(self._part.settings, [server.name for server in self._bricks])
        return [
            GlusterfsScraper(process, host.outside(self.point_on(host)), names) for process, host in self.places.items()
        ]
