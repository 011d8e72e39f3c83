"""Represents a host of provider `ssh`: another machine, on which Towtank starts and ends processes.

Towtank copies its engine to the remote machine, where it runs as the guard of each process and as the probe. If the
connection is lost, the guards end all processes, and a shell script removes the copied files. The probe samples the
remote machine.
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
# Time in which the guard of a process must end, after the grace time of the process. [s]
_REAP_S = 15.0
# Longest wait for the clean-up script. [s]
_CLEAN_WITHIN_S = 40.0
# Clean-up script. It waits until its standard input is closed, and then until all guards have ended, whose process ids
# are stored in files. Finally it removes the folder of the run.
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
# Shell command that writes its process id to the file `$0`, and is then replaced by a guard with the same process id.
_TOLD = 'echo $$ >"$0"; exec "$@"'


class RemoteHost:
    """Remote machine, reached by SSH. Relative paths in its entry refer to `base`."""

    provider = "ssh"

    def __init__(self, name: str, part: Part, base: Path) -> None:
        self.name, self._part, self._base = name, part, base
        self._prefix = new_prefix()
        self._connection: Connection | None = None
        self._cleaner: RemoteCommand | None = None
        self._log: Any = None
        self._facts: dict[str, object] = {}
        self._given_ports: set[int] = set()
        self._processes: list[RemoteProcess] = []
        self._pids = 0

    @property
    def folder(self) -> Path:
        return Path(self._part.folder) / self._prefix

    @property
    def address(self) -> str:
        """IP address of the remote machine, on which its services listen."""
        try:
            return socket.gethostbyname(self._part.address)
        except OSError as error:
            raise TargetError(f"host {self.name}: {self._part.address}: {error.strerror}") from error

    @property
    def cpus(self) -> list[int] | None:
        """Empty list: processes on a remote machine are not pinned."""
        return []

    def capabilities(self) -> Capabilities:
        """Return the features of the remote host: services can be started on it, but its files are not shared."""
        return Capabilities(shares_files=False)

    def lacks(self) -> list[str]:
        """Return a sentence for each requirement of the SSH connection that this machine does not meet.

        The remote machine is checked later, when the connection is opened.
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
        # Creating the folder fails if it exists already: another user may have seen its name and created it.
        self._said(["mkdir", "-p", "--", part.folder])
        self.make_private_folder(self.folder)
        # The clean-up script starts before other files are created. `towtank doctor --clean` on the remote machine
        # finds the prefix in the arguments of the script, and recognises that the folder is in use.
        clean_up = ["sh", "-c", _CLEAN_UP, JANITOR, str(self.folder), self._prefix]
        self._cleaner = self._connection.start(clean_up, self._log, {})
        for name in ("pids", "tmp"):
            self.make_private_folder(self.folder / name)
        room.check()
        self._connection.put(binary(), str(self.engine()))
        # Servers that run as other users must be able to enter their own folders below these two folders.
        self._said(["chmod", "711", str(self.folder), str(self.temporary)])
        self._said(["chmod", "755", str(self.engine())])
        self._facts = {
            "engine": self._said([str(self.engine()), "--version"]),
            "kernel": self._said(["uname", "-sr"]),
            "cpus": self._number("_NPROCESSORS_ONLN"),
            "memory_bytes": self._number("_PHYS_PAGES") * self._number("PAGESIZE"),
        }

    def _number(self, variable: str) -> int:
        """Return the value of a variable that `getconf` prints on the remote machine."""
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
        """Return a process on the remote machine, not yet started, that will run under a guard. Its output will be
        written to `log` on this machine.
        """
        process = RemoteProcess(self, spec, log)
        self._processes.append(process)
        return process

    def pid_file(self) -> Path:
        """Return the path of a new file on the remote machine, to which the process id of a guard will be written."""
        self._pids += 1
        return self.folder / "pids" / str(self._pids)

    def guarded(self, command: list[str], grace_s: float, pid_file: Path, open_files: int | None = None) -> list[str]:
        """Return a command that runs another command under a guard, and first writes the guard's process id to a
        file.
        """
        guard = guarded(command, grace_s=grace_s, open_files=open_files, engine=self.engine())
        return ["sh", "-c", _TOLD, str(pid_file), *guard]

    def start(self, command: list[str], log: Any, environment: Mapping[str, str]) -> RemoteCommand:
        """Start a command on the remote machine. Its output is written to a log on this machine."""
        marked = {MARK: self._prefix, "TMPDIR": str(self.temporary), **environment}
        return self._reached().start(command, log, marked)

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command on the remote machine to its end, or until a guard ends it at the time limit."""
        variables = {MARK: self._prefix, "TMPDIR": str(self.temporary), **(environment or {})}
        return self._reached().run(self.guarded(command, 1.0, self.pid_file()), limit_s, variables, hold_input=True)

    def outside(self, path: Path | str) -> Path:
        """Raise an error, because this process cannot access files of the remote machine."""
        raise TargetError(f"host {self.name}: {path} is on another machine")

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        self._said(["mkdir", "-p", str(path)])
        if owner is not None:
            self._said(["chown", f"{owner}:{owner}", str(path)])

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Create a new folder on the remote machine that only its owner, and processes of a group of users, can
        enter.
        """
        self._said(["mkdir", "-m", "700", "--", str(path)])
        if group is not None:
            self._said(["chgrp", "--", group, str(path)])
            self._said(["chmod", "710", "--", str(path)])

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the remote machine that only its owner, and processes of a group of users, can read.

        A symbolic link at the path is replaced.
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
        self._said(["mkdir", "-p", str(Path(target).parent)])
        self._reached().put(source, str(target))

    def get(self, source: Path | str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self._reached().get(str(source), target)

    def remove(self, path: Path | str) -> None:
        self._said(["rm", "-rf", "--", str(path)])

    def engine(self) -> Path:
        return self.folder / "towtank-engine"

    def python(self) -> str:
        """Return the path of the Python interpreter on the remote machine, from the system file."""
        return self._part.python

    @property
    def temporary(self) -> Path:
        """Temporary folder on the remote machine, below the folder of this run."""
        return self.folder / "tmp"

    def disk(self, name: str) -> Path:
        """Raise an error, because a host of provider `ssh` has no disks. The system file is already checked for
        this.
        """
        raise TargetError(f"host {self.name}: a host of provider ssh has no disk {name}")

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports of the remote machine, and never return these ports again.

        The search begins at a random port. Two processes that search at the same time thus rarely find the same ports.
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
        """Raise an error if a process already listens on a port of the remote machine."""
        if port in self._listening():
            raise TargetError(f"{owner}: port {port} on {self.address} is already in use")

    def _listening(self) -> set[int]:
        answer = self._reached().run(["cat", "/proc/net/tcp", "/proc/net/tcp6"], 60.0)
        return {int(port, 16) for port, state in _PORT.findall(answer.output) if state == _LISTEN}

    def facts(self) -> dict[str, object]:
        """Return address and properties of the remote machine, without secrets, for the manifest of the run."""
        return {
            "provider": self.provider,
            "address": self._part.address,
            "port": self._part.port,
            "user": self._part.user,
            **self._facts,
        }

    def roots(self) -> dict[str, int]:
        """Return the process id of the guard of each process that runs on the remote machine, by name of the
        process.
        """
        living = [process for process in self._processes if process.status() is None]
        noted = {process.spec.name: (self.read(process.pid_file) or "").strip() for process in living}
        return {name: int(text) for name, text in noted.items() if text.isdigit()}

    def watching(self) -> Watching:
        """Return the probe that observes the remote machine."""
        from towtank.system.hosts.remote_probe import RemoteHostProbe  # noqa: PLC0415 - only where something is observed

        return Watching(probes=[RemoteHostProbe(self)])

    def ended(self) -> list[str]:
        """Return a message if the connection to the remote machine has been lost."""
        cleaner = self._cleaner
        lost = cleaner is not None and cleaner.status() is not None
        return ["the SSH connection was lost"] if lost else []

    def tear_down(self) -> None:
        """Remove the folder of the run on the remote machine, and close the connection."""
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
    """Process of a service on a remote machine, which runs under a guard."""

    def __init__(self, host: RemoteHost, spec: ProcessSpec, log: Path) -> None:
        self.spec, self.log, self._host = spec, log, host
        self.pid_file = host.pid_file()
        self._command: RemoteCommand | None = None
        self._stream: Any = None

    def start(self) -> None:
        """Start the process on the remote machine. Its output is appended to a log on this machine."""
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
        """Return the exit status of the process; None while it or one of its descendants runs."""
        return None if self._command is None else self._command.status()

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        return await_end(self, check, limit_s)

    def stop(self) -> None:
        """End the process and its descendants by closing the standard input of its guard."""
        command = self._command
        if command is not None:
            command.close_input()
            if not command.wait(self.spec.grace_s + _REAP_S):
                command.abandon()
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def signal(self, what: str) -> None:
        """Kill, pause or resume the process and its descendants by a signal."""
        guard = self._guard_number()
        if guard is None:
            raise TargetError(f"{self.spec.name}: the id of its process on {self._host.name} is not known")
        signal_tree(self._host.execute, guard, what)

    def limits(self) -> dict[str, int | None]:
        """Return the kernel's resource limits of the process, by name; empty if its id is unknown."""
        guard = self._guard_number()
        return {} if guard is None else limits_below(guard, self._host.read)

    def _guard_number(self) -> int | None:
        text = (self._host.read(self.pid_file) or "").strip()
        return int(text) if text.isdigit() else None

    def is_held(self) -> bool:
        """Return False, because Towtank does not check remote processes for stops by a signal."""
        return False

    def last_lines(self) -> str:
        """Return the last lines of the log of the process, indented, to be appended to a message."""
        return "".join(f"\n  {line}" for line in log_tail(self.log))

    def ended_text(self) -> str:
        """Describe how the process ended."""
        return f"ended {describe_status(self.status())}"
