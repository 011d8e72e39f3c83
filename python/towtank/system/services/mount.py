"""What mounts of file systems over the network have in common: a process on a host and the folder that it serves."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.service import Place, Service
from towtank.system.services.private_server import ProgramService

_DEVICE = Path("/dev/fuse")
_STOP_WITHIN_S = 10.0
# Writes a file and reads it back, so that the servers have answered, too. `timeout` ends it where they do not.
_TRIED = """
grep -q " $1 fuse" /proc/self/mounts || exit 1
echo whole >"$1/.tried" && grep -q whole "$1/.tried"
status=$?
rm -f "$1/.tried"
exit $status
"""
_TRY_WITHIN_S = 5.0
_UNMOUNT = 'umount --lazy "$1" 2>/dev/null; true'


class MountService(ProgramService):
    """A file system over the network, mounted on its host for the services there.

    The mount is in the host's own mount namespace: nobody else sees it, and it goes with the host, whatever happens.
    """

    def __init__(self, name: str, servers: list[str]) -> None:
        super().__init__(name)
        self._names = servers
        self._servers: list[Service] = []

    def missing(self) -> str | None:
        """The program, and FUSE."""
        if lacking := super().missing():
            return lacking
        if not _DEVICE.exists():
            return f"{self.name}: mounts need FUSE, which this kernel does not have: no {_DEVICE}"
        return None

    def meet(self, others: list[Service]) -> None:
        """Find its servers."""
        self._servers = [other for name in self._names for other in others if other.name == name]

    def requires(self) -> list[Service]:
        """Its servers must answer before it does."""
        return list(self._servers)

    @property
    def point(self) -> Path:
        """Where the services of its host see it."""
        return self.host.temporary / "mounts" / self.name

    def prepare(self, place: Place) -> None:
        """Make the folder, and write what the program reads."""
        self._folder = place.scratch
        self.host.make_folder(self.point)
        self.configure()

    def configure(self) -> None:
        """Write what the program reads."""

    def ready(self) -> str | None:
        """Ready when a file can be written and read."""
        within = ["timeout", "-s", "KILL", f"{_TRY_WITHIN_S:g}"] if shutil.which("timeout") else []
        answer = self.host.execute([*within, "sh", "-c", _TRIED, "sh", str(self.point)], 4 * _TRY_WITHIN_S)
        return None if answer.status == 0 else f"nothing can be written to {self.point} yet"

    def stopped(self) -> None:
        """Take the mount away where the program left it: killed, it leaves one that answers nothing."""
        if self._folder is not None:
            # The host goes next, and the mount with it.
            with suppress(TargetError):
                self.host.execute(["sh", "-c", _UNMOUNT, "sh", str(self.point)], _STOP_WITHIN_S)
            self._folder = None
