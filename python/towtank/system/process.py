"""Runs a process of a service under a guard, which ends the process with all its descendants.

The guard is a process that ends them all when its standard input closes. Only the process that started the guard keeps
this input open, so that the process tree always ends with this process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from towtank.engine import guarded
from towtank.errors import TargetError
from towtank.system.environment import passed_on
from towtank.system.identity import children, is_stopped
from towtank.system.limits import limits_below, ports_here, read_here

if TYPE_CHECKING:
    from towtank.system.hosts.host import Host

# Number of log lines that are shown when a service fails, which suffices for the end of a Python traceback. [1]
SHOWN_LINES = 15
_TAIL_BYTES = 16384
_POLL_S = 0.05
# Time in which a guard must end, after the grace time of its process tree. A guard waits 30 s for the kernel to release
# killed processes. If it were killed earlier, no process would end the rest of the tree. [s]
_REAP_S = 35.0

Check = Callable[[], None]
"""Function that is called repeatedly during a wait. It raises an error if the user requested a stop."""


Note = Callable[[str], None]
"""Function that is called with a description of each step of the work."""


def no_note(text: str) -> None:
    """Ignore the description of a step."""


def no_check() -> None:
    """Do nothing, so that the wait continues."""


@dataclass(frozen=True)
class ProcessSpec:
    """Command and settings of one process of a service.

    Attributes
    ----------
    name : str
        Name of the process and of its log file.
    command : list of str
        Program and arguments, without the guard.
    environment : mapping of str to str
        Environment variables in addition to those that `passed_on` returns.
    grace_s : float
        Time between the signals TERM and KILL, in which the process can end by itself. [s]
    host : Host, optional
        Host of the process; by default the host of its service.
    open_files : int, optional
        Soft limit of open files; by default the hard limit, or 524,288 if that is higher. [1]
    stop_signal : Signals
        Signal by which the command is asked to end, before the whole process tree receives TERM. The attribute
        applies only to processes on this machine.
    """

    name: str
    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    grace_s: float = 5.0
    host: Host | None = None
    open_files: int | None = None
    stop_signal: signal.Signals = signal.SIGTERM


class Process(Protocol):
    """Process of a service on any host, with its descendants (the process tree)."""

    spec: ProcessSpec
    log: Path

    def start(self) -> None:
        """Start the process. Its output is appended to its log."""

    @property
    def pid(self) -> int | None:
        """Id of the root of the process tree; None for a process on another machine."""

    def status(self) -> int | None:
        """Return the exit status of the process tree; None while the tree runs."""

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        """Wait until the process tree has ended; return its exit status."""

    def stop(self) -> None:
        """End the process tree, and wait until it has ended."""

    def signal(self, what: str) -> None:
        """Kill (`kill`), pause (`hold`) or resume (`go on`) the process tree by a signal.

        Raises
        ------
        TargetError
            If no process of the tree runs.
        """

    def limits(self) -> dict[str, int | None]:
        """Return the kernel's resource limits of the command, as `limits_below` does."""

    def is_held(self) -> bool:
        """Return True if the command is stopped by a signal; False for a process on another machine, which is not
        checked.
        """

    def last_lines(self) -> str:
        """Return the last lines of the log, to be appended to a message."""

    def ended_text(self) -> str:
        """Describe how the process ended."""


@dataclass(frozen=True)
class HostEntry:
    """Functions and variables by which commands run in the namespaces and control group of a host.

    `guard` returns the command of a guard, and `command` the command that a guard runs, with a prefix for the host. The
    environment is in addition to `passed_on`; variables of the process take precedence. A process is started in the
    context that `starting` returns.
    """

    guard: Callable[[list[str]], list[str]] = list
    command: Callable[[list[str]], list[str]] = list
    environment: Mapping[str, str] = field(default_factory=dict)
    starting: Callable[[], AbstractContextManager[object]] = nullcontext


class ServiceProcess:
    """Process on this machine that runs under a guard."""

    def __init__(
        self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None, entry: HostEntry | None = None
    ) -> None:
        self.spec = spec
        self.log = log
        self._cpus = cpus
        self._entry = entry or HostEntry()
        self._guard: subprocess.Popen[bytes] | None = None
        # Length of the log before this process started, because earlier processes wrote to the same log. [byte]
        self._since = 0

    def start(self) -> None:
        """Start the process. Its output is appended to its log.

        Raises
        ------
        TargetError
            If the program does not exist.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        entry = self._entry
        spec = self.spec
        guard = guarded(entry.command(spec.command), cpus=self._cpus, grace_s=spec.grace_s, open_files=spec.open_files)
        with self.log.open("ab") as log, entry.starting():
            self._since = os.fstat(log.fileno()).st_size
            # Because of the separate session, Ctrl-C on the terminal reaches only this process, the conductor.
            self._guard = subprocess.Popen(
                entry.guard(guard),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**passed_on(), **entry.environment, **self.spec.environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Id of the guard, which is the root of the process tree."""
        if self._guard is None:
            raise TargetError(f"{self.spec.name} was not started")
        return self._guard.pid

    def status(self) -> int | None:
        return None if self._guard is None else self._guard.poll()

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        """Wait until the process tree has ended; return its exit status.

        Raises
        ------
        TargetError
            If the process tree runs longer than `limit_s`.
        """
        return await_end(self, check, limit_s)

    def stop(self) -> None:
        """End the process tree by TERM, or by KILL after the grace time, and wait until it has ended."""
        guard = self._guard
        if guard is None:
            return
        if self.spec.stop_signal != signal.SIGTERM and guard.poll() is None:
            guard.send_signal(self.spec.stop_signal)  # The guard forwards the signal to the command.
            with suppress(subprocess.TimeoutExpired):
                guard.wait(self.spec.grace_s)
        if guard.stdin is not None:
            with suppress(OSError):
                guard.stdin.close()
        try:
            guard.wait(self.spec.grace_s + _REAP_S)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()

    def signal(self, what: str) -> None:
        """Kill, pause or resume the process tree by a signal."""
        from towtank.system.hosts.local import execute  # noqa: PLC0415 - hosts are made of processes
        from towtank.system.trees import signal_tree  # noqa: PLC0415

        signal_tree(execute, self.pid, what)

    def limits(self) -> dict[str, int | None]:
        """Return the kernel's resource limits of the command.

        They can be read for a host in namespaces as well, because its processes are visible on this machine.
        """
        return {} if self._guard is None else limits_below(self._guard.pid, read_here, ports_here)

    def is_held(self) -> bool:
        """Return True if the command is stopped by SIGSTOP or a similar signal."""
        return self._guard is not None and any(is_stopped(child) for child in children(self._guard.pid))

    def last_lines(self) -> str:
        """Return the last lines that this process wrote to its log, indented, to be appended to a message."""
        lines = log_tail(self.log, since=self._since)
        return "".join(f"\n  {line}" for line in lines) if lines else ""

    def ended_text(self) -> str:
        return f"ended {describe_status(self.status())}"


def describe_status(status: int | None) -> str:
    """Describe the exit status of a guard or a process.

    For a death by signal n, a guard reports 128 + n, and Python reports -n.
    """
    if status is None:
        return "not yet"
    if status < 0 or status > 128:
        return f"by signal {-status if status < 0 else status - 128}"
    return f"with status {status}"


def log_tail(path: Path, lines: int = SHOWN_LINES, since: int = 0) -> list[str]:
    """Return the last lines of a log after the position `since` [byte], without reading the whole log."""
    with suppress(OSError), path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, since, end - _TAIL_BYTES))
        return stream.read().decode("utf-8", "replace").splitlines()[-lines:]
    return []


def await_end(process: Process, check: Check, limit_s: float | None) -> int:
    """Wait until a process tree has ended; return its exit status.

    Raises
    ------
    TargetError
        If the process tree runs longer than `limit_s`.
    """
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while (status := process.status()) is None:
        check()
        if deadline is not None and time.monotonic() > deadline:
            raise TargetError(f"{process.spec.name} took longer than {limit_s:.0f} s{process.last_lines()}")
        time.sleep(_POLL_S)
    return status


def run_to_end(process: Process, *, check: Check = no_check, limit_s: float | None = None) -> None:
    """Run a program of a service to its end under a guard.

    Raises
    ------
    TargetError
        If the program takes longer than `limit_s`, or ends with a status other than 0. The message then contains
        the last lines of the log.
    """
    process.start()
    try:
        status = process.wait(check, limit_s)
    finally:
        process.stop()
    if status != 0:
        raise TargetError(f"{process.spec.name} {process.ended_text()}{process.last_lines()}")
