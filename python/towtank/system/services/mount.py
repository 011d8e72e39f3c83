"""Defines the base class of network file systems, which one process mounts on each host."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.hosts.host import Host
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, Service
from towtank.system.service_model import node_names
from towtank.system.services.private_server import ProgramService

_DEVICE = Path("/dev/fuse")
_STOP_WITHIN_S = 10.0
_GRACE_S = 5.0
# Shell script that writes a file on a mount and reads it, which succeeds only if the servers respond.
_TRIED = """
grep -q " $1 fuse" /proc/self/mounts || exit 1
echo whole >"$1/.tried-$2" && grep -q whole "$1/.tried-$2"
status=$?
rm -f "$1/.tried-$2"
exit $status
"""
_TRY_WITHIN_S = 5.0
_UNMOUNT = 'umount --lazy "$1" 2>/dev/null; true'
# Shell command that removes the mount of an earlier, killed program, and is then replaced by the mount program.
_MOUNT = 'umount --lazy "$1" 2>/dev/null; shift; exec "$@"'


class MountService(ProgramService):
    """Network file system that is mounted on one or several hosts, for the services there.

    Each mount is in the mount namespace of its host. Only this host sees the mount, which disappears with the host.
    """

    def __init__(self, name: str, servers: list[str]) -> None:
        super().__init__(name)
        self._names = servers
        self._servers: list[Service] = []

    def missing(self) -> str | None:
        """Return a message if the mount program or FUSE is missing; otherwise None."""
        if lacking := super().missing():
            return lacking
        if not _DEVICE.exists():
            return f"{self.name}: mounts need FUSE, which this kernel does not have: no {_DEVICE}"
        return None

    def meet(self, others: list[Service]) -> None:
        """Find the servers of the file system among the services of the system."""
        self._servers = [other for name in self._names for other in others if other.name == name]

    def requires(self) -> list[Service]:
        """Return the servers of the file system, which must respond before it can be mounted."""
        return list(self._servers)

    @property
    def places(self) -> dict[str, Host]:
        """Host of each mount process by name of the process."""
        hosts = self.hosts or [self.host]
        return dict(zip(node_names(self.name, len(hosts)), hosts, strict=True))

    def point_on(self, host: Host) -> Path:
        """Return the path of the mount point on a host."""
        return host.temporary / "mounts" / self.name

    def prepare(self, place: Place) -> None:
        """Create the mount points, and write the configuration of the mount program."""
        self._folder = place.scratch
        for host in self.places.values():
            host.make_folder(self.point_on(host))
        self.configure()

    def configure(self) -> None:
        """Write the configuration of the mount program."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return one mount process for each host."""
        specs = []
        for process, host in self.places.items():
            point = self.point_on(host)
            command = ["sh", "-c", _MOUNT, "sh", str(point), *self.program_of(process, point)]
            specs.append(ProcessSpec(process, command, grace_s=_GRACE_S, host=host))
        return specs

    def program_of(self, process: str, point: Path) -> list[str]:  # noqa: ARG002
        """Return the command of one mount process with its arguments."""
        return [self.path, str(point)]

    def ready(self) -> str | None:
        """Return None if a file can be written and read on each host; otherwise the reason."""
        return next((reason for process in self.places if (reason := self.process_ready(process)) is not None), None)

    def process_ready(self, process: str) -> str | None:
        """Return None if a file can be written and read on the host of a process; otherwise the reason."""
        host = self.places[process]
        point = self.point_on(host)
        within = ["timeout", "-s", "KILL", f"{_TRY_WITHIN_S:g}"] if shutil.which("timeout") else []
        answer = host.execute([*within, "sh", "-c", _TRIED, "sh", str(point), process], 4 * _TRY_WITHIN_S)
        return None if answer.status == 0 else f"no file can be written to {point} of {process} yet"

    def stopped(self) -> None:
        """Unmount the file system everywhere. After its program was killed, every access to a mount would block for
        ever.
        """
        if self._folder is not None:
            for host in self.places.values():
                # The error is ignored, because the mount disappears with its host.
                with suppress(TargetError):
                    host.execute(["sh", "-c", _UNMOUNT, "sh", str(self.point_on(host))], _STOP_WITHIN_S)
            self._folder = None
