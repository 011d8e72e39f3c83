"""Runs a GlusterFS server as one process that exports folders of its host, without the daemon `glusterd`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import ClassVar

from towtank.system import storage_models
from towtank.system.process import ProcessSpec
from towtank.system.service import Place
from towtank.system.services.glusterfs_volumes import PARTS, folder_name, server_text
from towtank.system.services.private_server import PrivateServer


class GlusterfsServer(PrivateServer):
    kind = "glusterfs_server"
    program: ClassVar[str] = "glusterfsd"
    title: ClassVar[str] = "GlusterFS"
    install: ClassVar[str] = "apt-get install glusterfs-server"

    def __init__(self, name: str, part: storage_models.GlusterfsServer, base: Path) -> None:  # noqa: ARG002
        super().__init__(name, part.port)
        self._part = part
        self.secret = secrets.token_hex(16)

    def missing(self) -> str | None:
        """Return a message if the program is missing or the current user is not root; otherwise None.

        The server sets attributes of files that only root may set.
        """
        if os.geteuid() != 0:
            return f"{self.name}: a GlusterFS server must run as root"
        return super().missing()

    @property
    def port(self) -> int:
        return self._port

    def configure(self, place: Place) -> None:  # noqa: ARG002
        """Create the exported folders, and write the volume file (configuration) of the server."""
        disk = self._part.disk
        folder = (self.host.temporary if disk is None else self.host.disk(disk)) / f"{self.name}-files"
        if disk is None and self.host.provider == "local":
            folder = self.folder / "files"
        for part in range(PARTS):
            self.host.make_folder(folder / folder_name(part))
        text = server_text(self._part.settings, str(folder), self.host.address, self._port, self.secret)
        self.write("server.vol", text)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the `glusterfsd` process."""
        file = self.folder / "server.vol"
        command = [self.path, "-N", "-f", str(file), "--volfile-id", self.name]
        return [ProcessSpec(self.name, [*command, *quiet(self.folder, self.name)], grace_s=3.0)]

    def settings_used(self) -> dict[str, object]:
        return {**self._part.configuration, "disk": self._part.disk, "port": self._port}


def quiet(folder: Path, process: str) -> list[str]:
    """Return options by which a GlusterFS process writes its files to the folder of the run, and only warnings to its
    log.
    """
    return ["-p", str(folder / f"{process}.pid"), "-l", "/dev/stdout", "-L", "WARNING"]
