"""Represents a host of provider `ssh`: another machine, on which processes start and end as on this machine.

Towtank copies the engine to the remote machine, where the engine serves as guard and as probe. When the connection
ends, the guard of a process ends the process and all its children. The probe observes the remote machine. A small shell
script waits for the end of the connection and then removes the copied files.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.engine import binary, guarded
from towtank.errors import TargetError
from towtank.installing import SSH_LIBRARY, pip_install
from towtank.system.host_model import SshHost as Part
from towtank.system.hosts.cleaning import JANITOR, MARK
from towtank.system.hosts.host import Answer, Capabilities, HostSettings, Watching
from towtank.system.hosts.prefix import new_prefix
from towtank.system.limits import limits_below
from towtank.system.process import Check, Process, ProcessSpec, await_end, describe_status, log_tail, no_check
from towtank.system.trees import signal_tree

if TYPE_CHECKING:
    from towtank.system.hosts.connection import Connection, RemoteCommand

_FIRST_PORT, _END_PORT = 20_000, 32_768
_LISTEN = "0A"
_PORT = re.compile(r"^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ ([0-9A-F]{2})", re.MULTILINE)
_POLL_S = 0.05
# Time in which the guard of a process must end, in addition to the grace time of the process. [s]
_REAP_S = 15.0
# Longest time that the clean-up script waits for guards to end. [s]
_CLEAN_WITHIN_S = 40.0
# Clean-up script: it waits until its standard input closes and all guards, whose process ids are recorded, have ended.
# Then it removes the folder of the run.
_CLEAN_UP = """
trap '' HUP INT TERM PIPE
cat >/dev/null
n=0
while [ $n -lt 300 ]; do
  alive=
  for file in "$1"/pids/*; do [ -f "$file" ] && kill -0 "$(cat "$file")" 2>/dev/null && alive=1; done
  [ -z "$alive" ] && break
  n=$((n + 1)); sleep 0.1
done
rm -rf "$1"
"""
# Script that writes its process id to a file and then executes a command, which keeps this id.
_TOLD = 'echo $$ >"$0"; exec "$@"'


class RemoteHost:
    """Remote machine, reached by SSH.

    Parameters
    ----------
    name : str
        Name of the host in the system file.
    part : SshHost
        Part of the system file that describes the host.
    base : Path
        Folder that relative paths in the system file start from.
    """

    provider = "ssh"

    def __init__(self, name: str, part: Part, base: Path) -> None:
        self.name, self._part, self._base = name, part, base
        self._prefix = new_prefix()
        self._connection: Connection | None = None
        self._cleaner: RemoteCommand | None = None
        self._log: Any = None
        self._facts: dict[str, Any] = {}
        self._given_ports: set[int] = set()
        self._processes: list[RemoteProcess] = []
        self._pids = 0

    @property
    def folder(self) -> Path:
        """Folder on the remote machine for the files of this run."""
        return Path(self._part.folder) / self._prefix

    @property
    def address(self) -> str:
        """Numeric IP address of the remote machine, on which its services listen."""
        try:
            return socket.gethostbyname(self._part.address)
        except OSError as error:
            raise TargetError(f"host {self.name}: {self._part.address}: {error.strerror}") from error

    @property
    def cpus(self) -> list[int] | None:
        """Empty list, because pinning to CPUs is possible only on this machine."""
        return []

    def capabilities(self) -> Capabilities:
        """Return the capabilities of the remote host: services can be started on it, but its files are not accessible
        here.
        """
        return Capabilities(shares_files=False)

    def lacks(self) -> list[str]:
        """Return the requirements for the SSH connection that this machine does not meet.

        The requirements of the remote machine are checked when the connection is opened.
        """
        where, part = f"hosts.{self.name}", self._part
        lines = []
        if find_spec("asyncssh") is None:
            lines.append(f"{where}.provider: needs asyncssh, which is not installed; {pip_install(SSH_LIBRARY)}")
        if part.password_from is not None and part.password_from not in os.environ:
            lines.append(
                f"{where}.password_from: must name a variable of the environment, {part.password_from} is not set"
            )
        for key in ("key", "known_hosts"):
            file = getattr(part, key)
            if file is not None and not (self._base / Path(file).expanduser()).is_file():
                lines.append(f"{where}.{key}: must be a file, {file} does not exist")
        return lines

    def prepare(self, room: HostSettings) -> None:
        """Connect to the remote machine, create the folder of this run, and copy the engine."""
        from towtank.system.hosts.connection import Connection, Login  # noqa: PLC0415 - the extra may be absent

        room.check()
        part = self._part
        key, known = (
            None if file is None else self._base / Path(file).expanduser() for file in (part.key, part.known_hosts)
        )
        password = None if part.password_from is None else os.environ[part.password_from]
        self._connection = Connection(Login(part.address, part.port, part.user, key, known, password))
        self._log = (room.folder / f"{self.name}-clean-up.log").open("ab")
        # The folder of the run must be new: its name becomes visible to other users, who could otherwise create it
        # first.
        self._said(["mkdir", "-p", "--", part.folder])
        self.make_private_folder(self.folder)
        # The clean-up script starts before other files are created. Its arguments name the folder, by which
        # `towtank doctor --clean` on that machine recognises that the folder is in use.
        clean_up = ["sh", "-c", _CLEAN_UP, JANITOR, str(self.folder), self._prefix]
        self._cleaner = self._connection.start(clean_up, self._log, {})
        for name in ("pids", "tmp"):
            self.make_private_folder(self.folder / name)
        room.check()
        self._connection.put(binary(), str(self.engine()))
        # Servers that do not run as root must be able to enter their own folders, which are below these two folders.
        self._said(["chmod", "711", str(self.folder), str(self.temporary)])
        self._said(["chmod", "755", str(self.engine())])
        self._facts = {
            "engine": self._said([str(self.engine()), "--version"]),
            "kernel": self._said(["uname", "-sr"]),
            "cpus": self._number("_NPROCESSORS_ONLN"),
            "memory_bytes": self._number("_PHYS_PAGES") * self._number("PAGESIZE"),
        }

    def _number(self, variable: str) -> int:
        """Return the value of a system configuration variable of the remote machine, as `getconf` prints it."""
        return int(self._said(["getconf", variable]))

    def _reached(self) -> Connection:
        if self._connection is None:
            raise TargetError(f"host {self.name} was not prepared")
        return self._connection

    def _said(self, command: list[str]) -> str:
        answer = self._reached().run(command, 60.0)
        if answer.status != 0:
            raise TargetError(f"host {self.name}: `{command[0]}` failed: {answer.output.strip()}")
        return answer.output.strip()

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Do nothing, because Towtank sets no limits on a remote machine."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:  # noqa: ARG002
        """Return a process on the remote machine, which a guard watches there; the output of the process goes to the
        log on this machine.
        """
        process = RemoteProcess(self, spec, log)
        self._processes.append(process)
        return process

    def pid_file(self) -> Path:
        """Return the path of a new file on the remote machine for the process id of a guard."""
        self._pids += 1
        return self.folder / "pids" / str(self._pids)

    def guarded(self, command: list[str], grace_s: float, pid_file: Path, open_files: int | None = None) -> list[str]:
        """Return a command that runs under a guard on the remote machine; the guard's process id is written to
        a file.
        """
        guard = guarded(command, grace_s=grace_s, open_files=open_files, engine=self.engine())
        return ["sh", "-c", _TOLD, str(pid_file), *guard]

    def start(self, command: list[str], log: Any, environment: Mapping[str, str]) -> RemoteCommand:
        """Start a command on the remote machine; its output goes to a log on this machine."""
        marked = {MARK: self._prefix, "TMPDIR": str(self.temporary), **environment}
        return self._reached().start(command, log, marked)

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command on the remote machine to its end; a guard ends the command at the time limit."""
        variables = {MARK: self._prefix, "TMPDIR": str(self.temporary), **(environment or {})}
        return self._reached().run(self.guarded(command, 1.0, self.pid_file()), limit_s, variables, hold_input=True)

    def outside(self, path: Path | str) -> Path:
        """Refuse to return a path, because files of another machine are not accessible on this machine."""
        raise TargetError(f"host {self.name}: {path} is on another machine")

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Make a folder on the remote machine."""
        self._said(["mkdir", "-p", str(path)])
        if owner is not None:
            self._said(["chown", f"{owner}:{owner}", str(path)])

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Make a new folder on the remote machine that only its owner, and processes of a group, can enter."""
        self._said(["mkdir", "-m", "700", "--", str(path)])
        if group is not None:
            self._said(["chgrp", "--", group, str(path)])
            self._said(["chmod", "710", "--", str(path)])

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the remote machine that only its owner, and processes of a group, can read. If the path
        is a link, the link is replaced.
        """
        self._said(["rm", "-f", "--", str(path)])
        self._reached().write(str(path), text.encode())
        if group is not None:
            self._said(["chgrp", "--", group, str(path)])
            self._said(["chmod", "640", "--", str(path)])

    def read(self, path: Path | str) -> str | None:
        """Read a small file of the remote machine; return None if it cannot be read."""
        answer = self._reached().run(["cat", str(path)], 60.0)
        return answer.output if answer.status == 0 else None

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file or a folder from this machine to the remote machine."""
        self._said(["mkdir", "-p", str(Path(target).parent)])
        self._reached().put(source, str(target))

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the remote machine to this machine."""
        target.parent.mkdir(parents=True, exist_ok=True)
        self._reached().get(str(source), target)

    def remove(self, path: Path | str) -> None:
        """Remove a file or a folder of the remote machine."""
        self._said(["rm", "-rf", "--", str(path)])

    def engine(self) -> Path:
        """Return the path to which the engine was copied on the remote machine."""
        return self.folder / "towtank-engine"

    def python(self) -> str:
        """Return the path of the Python interpreter on the remote machine, as set in the system file."""
        return self._part.python

    @property
    def temporary(self) -> Path:
        """Temporary folder on the remote machine, below the folder of this run."""
        return self.folder / "tmp"

    def disk(self, name: str) -> Path:
        """Refuse to return a disk, because a host of provider `ssh` has none. The check of the system file already
        reports disk names.
        """
        raise TargetError(f"host {self.name}: a host of provider ssh has no disk {name}")

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports of the remote machine; a port is never returned twice.

        The search begins at a random port, so that two systems that search at the same time rarely find the same
        ports.
        """
        taken = self._listening() | self._given_ports
        firsts = list(range(_FIRST_PORT, _END_PORT - count + 1))
        begin = secrets.randbelow(len(firsts))
        for first in firsts[begin:] + firsts[:begin]:
            wanted = set(range(first, first + count))
            if not wanted & taken:
                self._given_ports |= wanted
                return first
        raise TargetError(f"host {self.name}: no {count} consecutive ports are free")

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port on which a process of the remote machine already listens."""
        if port in self._listening():
            raise TargetError(f"{owner}: port {port} on {self.address} is already in use")

    def _listening(self) -> set[int]:
        answer = self._reached().run(["cat", "/proc/net/tcp", "/proc/net/tcp6"], 60.0)
        return {int(port, 16) for port, state in _PORT.findall(answer.output) if state == _LISTEN}

    def facts(self) -> dict[str, object]:
        """Return address and properties of the remote machine for the manifest of the run, without secrets."""
        return {
            "provider": self.provider,
            "address": self._part.address,
            "port": self._part.port,
            "user": self._part.user,
            **self._facts,
        }

    def roots(self) -> dict[str, int]:
        """Return the process id of the guard of each running process on the remote machine, by name of the process."""
        living = [process for process in self._processes if process.status() is None]
        noted = {process.spec.name: (self.read(process.pid_file) or "").strip() for process in living}
        return {name: int(text) for name, text in noted.items() if text.isdigit()}

    def watching(self) -> Watching:
        """Return the probe that runs on the remote machine and observes it."""
        from towtank.system.hosts.remote_probe import RemoteHostProbe  # noqa: PLC0415 - only where something is observed

        return Watching(probes=[RemoteHostProbe(self)])

    def ended(self) -> list[str]:
        """Return a message if the connection to the remote machine was lost."""
        cleaner = self._cleaner
        lost = cleaner is not None and cleaner.status() is not None
        return ["the SSH connection was lost"] if lost else []

    def tear_down(self) -> None:
        """Remove the folder of this run on the remote machine, and close the connection."""
        connection, cleaner = self._connection, self._cleaner
        self._connection = self._cleaner = None
        try:
            if cleaner is not None:
                cleaner.close_input()
                if not cleaner.wait(_CLEAN_WITHIN_S):
                    raise TargetError(f"host {self.name}: {self.folder} was not removed within {_CLEAN_WITHIN_S:g} s")
        finally:
            if self._log is not None:
                self._log.close()
            if connection is not None:
                with suppress(TargetError):
                    connection.close()


class RemoteProcess:
    """Process of a service on another machine, watched by a guard."""

    def __init__(self, host: RemoteHost, spec: ProcessSpec, log: Path) -> None:
        self.spec, self.log, self._host = spec, log, host
        self.pid_file = host.pid_file()
        self._command: RemoteCommand | None = None
        self._stream: Any = None

    def start(self) -> None:
        """Start the process on the remote machine; its output is appended to its log on this machine."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.log.open("ab", buffering=0)
        spec = self.spec
        guarded = self._host.guarded(spec.command, spec.grace_s, self.pid_file, spec.open_files)
        self._command = self._host.start(guarded, self._stream, spec.environment)

    @property
    def pid(self) -> int | None:
        """None, because the process does not run on this machine."""
        return None

    def status(self) -> int | None:
        """Return the exit status of the process tree; None while the tree runs."""
        return None if self._command is None else self._command.status()

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        """Wait for the end of the process; return its exit status."""
        return await_end(self, check, limit_s)

    def stop(self) -> None:
        """End the process tree by closing the standard input of its guard."""
        command = self._command
        if command is not None:
            command.close_input()
            if not command.wait(self.spec.grace_s + _REAP_S):
                command.abandon()
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def signal(self, what: str) -> None:
        """Kill, stop or resume all processes of the tree by a signal."""
        guard = self._guard_number()
        if guard is None:
            raise TargetError(f"{self.spec.name}: the id of its process on {self._host.name} is not known")
        signal_tree(self._host.execute, guard, what)

    def limits(self) -> dict[str, int | None]:
        """Return the kernel limits that apply to the command on the host."""
        guard = self._guard_number()
        return {} if guard is None else limits_below(guard, self._host.read)

    def _guard_number(self) -> int | None:
        text = (self._host.read(self.pid_file) or "").strip()
        return int(text) if text.isdigit() else None

    def is_held(self) -> bool:
        """Return False, because a stop by a signal cannot be detected on another machine."""
        return False

    def last_lines(self) -> str:
        """Return the last lines of the log of the process."""
        return "".join(f"\n  {line}" for line in log_tail(self.log))

    def ended_text(self) -> str:
        """Return text that describes how the process ended."""
        return f"ended {describe_status(self.status())}"
