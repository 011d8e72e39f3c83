"""Represents this machine as a host. This is the default: services run beside Towtank, and no host is created or
removed.
"""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from towtank.engine import binary
from towtank.errors import TargetError
from towtank.secrets import PRIVATE_FOLDER_MODE, PRIVATE_MODE
from towtank.system import ports
from towtank.system.environment import passed_on
from towtank.system.hosts.host import Answer, Capabilities, HostSettings, Watching
from towtank.system.process import Process, ProcessSpec, ServiceProcess

ADDRESS = "127.0.0.1"
# Permissions for a group to enter a folder without listing its content, and to read a file.
_GROUP_FOLDER_MODE, _GROUP_MODE = 0o710, 0o640


class SharedFiles:
    """Methods for the files and programs of a host, for providers whose hosts share their files with this process."""

    def engine(self) -> Path:
        """Return the path of Towtank's engine on this machine."""
        return binary().absolute()

    def python(self) -> str:
        """Return the path of the Python interpreter that runs this process."""
        return sys.executable

    def outside(self, path: Path | str) -> Path:
        """Return the path unchanged, because this process sees the files of the host under the same path."""
        return Path(path)

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Make a folder on the host, with its missing parent folders."""
        seen = self.outside(path)
        seen.mkdir(parents=True, exist_ok=True)
        if owner is not None:
            shutil.chown(seen, owner, owner)

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Make a new folder on the host that only its owner, and processes of a group, can enter."""
        seen = self.outside(path)
        try:
            seen.mkdir(PRIVATE_FOLDER_MODE)
            if group is not None:
                shutil.chown(seen, group=group)
                seen.chmod(_GROUP_FOLDER_MODE)
        except (OSError, LookupError) as error:
            raise TargetError(f"{path} cannot be made: {getattr(error, 'strerror', None) or error}") from error

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the host that only its owner, and processes of a group, can read. If the path is a
        link, the link is replaced.
        """
        seen = self.outside(path)
        seen.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(seen, flags, PRIVATE_MODE), "w", encoding="utf-8") as stream:
            if group is not None:
                os.fchown(stream.fileno(), -1, grp.getgrnam(group).gr_gid)
                os.fchmod(stream.fileno(), _GROUP_MODE)
            stream.write(text)

    def read(self, path: Path | str) -> str | None:
        """Read a small file of the host; return None if it cannot be read."""
        try:
            return self.outside(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file or a folder to the host."""
        seen = self.outside(target)
        seen.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, seen, dirs_exist_ok=True)
        else:
            shutil.copy2(source, seen)

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the host."""
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.outside(source), target)

    def remove(self, path: Path | str) -> None:
        """Remove a file, or a folder with its contents, from the host."""
        seen = self.outside(path)
        if seen.is_dir() and not seen.is_symlink():
            shutil.rmtree(seen, ignore_errors=True)
        else:
            seen.unlink(missing_ok=True)


class LocalHost(SharedFiles):
    """This machine as a host of a system under test.

    Parameters
    ----------
    name : str
        Name of the host in the system file.
    """

    provider = "local"

    def __init__(self, name: str = "here") -> None:
        self.name = name
        self._held: list[ports.HeldPorts] = []
        weakref.finalize(self, _release, self._held)

    @property
    def address(self) -> str:
        """Loopback address of this machine."""
        return ADDRESS

    @property
    def cpus(self) -> list[int] | None:
        """None, because processes on this machine are not pinned by limits of a host."""
        return None

    def capabilities(self) -> Capabilities:
        """Return the capabilities of this machine: it can start processes and shares its files, but supports
        no limits.
        """
        return Capabilities()

    def lacks(self) -> list[str]:
        """Return an empty list: the host is this machine, so nothing is missing to create it."""
        return []

    def prepare(self, room: HostSettings) -> None:
        """Do nothing, because the host is this machine and thus exists."""

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Do nothing, because this machine has no limits."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process on this machine that a guard watches; not started yet."""
        return ServiceProcess(spec, log, cpus)

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command on this machine to its end."""
        return execute(command, limit_s, environment)

    @property
    def temporary(self) -> Path:
        """Temporary folder of this machine."""
        return Path(tempfile.gettempdir())

    def disk(self, name: str) -> Path:
        """Refuse to return a disk, because a host of provider `local` has none. The check of the system file already
        reports disk names.
        """
        raise TargetError(f"host {self.name}: a host of provider local has no disk {name}")

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports of this machine. The ports stay reserved until
        `tear_down`.
        """
        self._held.append(ports.HeldPorts(self.address, count))
        return self._held[-1].first

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port of this machine on which another process already listens."""
        ports.require_free(self.address, port, owner)

    def facts(self) -> dict[str, object]:
        """Return provider and address of this machine for the manifest of the run."""
        return {"provider": self.provider, "address": self.address}

    def watching(self) -> Watching:
        """Return no observers: the probe always observes this machine."""
        return Watching()

    def ended(self) -> list[str]:
        """Return an empty list, because this host has no parts, such as helper programs, that could end."""
        return []

    def tear_down(self) -> None:
        """Release the ports that this process has reserved; this machine itself is not removed."""
        _release(self._held)


def _release(held: list[ports.HeldPorts]) -> None:
    for row in held:
        row.release()
    held.clear()


def execute(command: list[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a command on this machine to its end, and return status and output.

    Raises
    ------
    TargetError
        If the command is not installed, or takes longer than `limit_s`.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**passed_on(), **(environment or {})},
            timeout=limit_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise TargetError(f"{command[0]} is not installed") from error
    except OSError as error:
        raise TargetError(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{command[0]} took longer than {limit_s:g} s") from error
    return Answer(done.returncode, done.stdout.decode("utf-8", "replace"))
