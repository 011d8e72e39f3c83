"""Represents this machine as a host, which is the default: services run beside Towtank on the same machine."""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from towtank.engine import binary
from towtank.errors import TargetError
from towtank.secrets import PRIVATE_FOLDER_MODE, PRIVATE_MODE
from towtank.system import ports
from towtank.system.environment import passed_on
from towtank.system.hosts.host import Answer, Capabilities, StandingHost, Watching
from towtank.system.process import Process, ProcessSpec, ServiceProcess

ADDRESS = "127.0.0.1"
# Permissions with which a group can enter a folder but not list it, and read a file.
_GROUP_FOLDER_MODE, _GROUP_MODE = 0o710, 0o640


class SharedFiles:
    """Access to files and programs, for kinds of hosts whose files this process can access."""

    def engine(self) -> Path:
        return binary().absolute()

    def python(self) -> str:
        return sys.executable

    def outside(self, path: Path | str) -> Path:
        """Return the path unchanged, because the files of the host have the same paths for this process."""
        return Path(path)

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Create a folder on the host, with its missing parent folders; `owner` is the name of a user and a group."""
        seen = self.outside(path)
        seen.mkdir(parents=True, exist_ok=True)
        if owner is not None:
            shutil.chown(seen, owner, owner)

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Create a new folder on the host that only its owner, and processes of a group of users, can enter."""
        seen = self.outside(path)
        try:
            seen.mkdir(PRIVATE_FOLDER_MODE)
            if group is not None:
                shutil.chown(seen, group=group)
                seen.chmod(_GROUP_FOLDER_MODE)
        except (OSError, LookupError) as error:
            raise TargetError(f"{path} cannot be made: {getattr(error, 'strerror', None) or error}") from error

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the host that only its owner, and processes of a group of users, can read.

        A symbolic link at the path is replaced.
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
        seen = self.outside(target)
        seen.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, seen, dirs_exist_ok=True)
        else:
            shutil.copy2(source, seen)

    def get(self, source: Path | str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.outside(source), target)

    def remove(self, path: Path | str) -> None:
        """Remove a file, or a folder with its contents, from the host."""
        seen = self.outside(path)
        if seen.is_dir() and not seen.is_symlink():
            shutil.rmtree(seen, ignore_errors=True)
        else:
            seen.unlink(missing_ok=True)


class LocalHost(SharedFiles, StandingHost):
    """This machine, as the host on which a system under test runs."""

    provider = "local"

    def __init__(self, name: str = "here") -> None:
        self.name = name
        self._held: list[ports.HeldPorts] = []
        weakref.finalize(self, _release, self._held)

    @property
    def address(self) -> str:
        return ADDRESS

    def capabilities(self) -> Capabilities:
        """Return the features of this machine as a host: services can be started, and files are shared."""
        return Capabilities()

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process on this machine, not yet started, that will run under a guard."""
        return ServiceProcess(spec, log, cpus)

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        return execute(command, limit_s, environment)

    @property
    def temporary(self) -> Path:
        return Path(tempfile.gettempdir())

    def disk(self, name: str) -> Path:
        """Raise an error, because a host of provider `local` has no disks. The system file is already checked for
        this.
        """
        raise TargetError(f"host {self.name}: a host of provider local has no disk {name}")

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports of this machine, which stay reserved until `tear_down`."""
        self._held.append(ports.HeldPorts(self.address, count))
        return self._held[-1].first

    def require_free(self, port: int, owner: str) -> None:
        """Raise an error if another process already listens on a port of this machine."""
        ports.require_free(self.address, port, owner)

    def facts(self) -> dict[str, object]:
        """Return provider and address of this machine, for the manifest of the run."""
        return {"provider": self.provider, "address": self.address}

    def watching(self) -> Watching:
        """Return no scrapers and probes, because the probe of the run observes this machine in any case."""
        return Watching()

    def tear_down(self) -> None:
        """Release the reserved ports; do nothing else, because this machine remains."""
        _release(self._held)


def _release(held: list[ports.HeldPorts]) -> None:
    for row in held:
        row.release()
    held.clear()


def execute(command: list[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a command on this machine to its end, and return exit status and output.

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
