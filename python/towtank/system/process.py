"""Runs a process of a service under a guard: starts, logs, observes and ends the process with all its children.

The guard ends the whole process tree when the guard's standard input closes. This input is a pipe. Only the process
that started the guard holds the other end of the pipe, so the tree always ends with that process.
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

# Number of log lines that are shown when a service fails. It is enough for the last lines of a Python traceback. [1]
SHOWN_LINES = 15
_TAIL_BYTES = 16384
_POLL_S = 0.05
# Time to wait for a guard to end, in addition to the grace time. The guard itself waits 30 s for the kernel to release
# killed processes. If the guard were killed earlier, nothing would end the remaining processes. [s]
_REAP_S = 35.0

Check = Callable[[], None]
"""Type of a function that is called while waiting, and raises an error to end the wait if the user asks to stop."""


Note = Callable[[str], None]
"""Type of a function that shows a step of the work to the user."""


def no_note(text: str) -> None:
    """Ignore the text that describes a step of the work; this is the default if no user watches the progress."""


def no_check() -> None:
    """Do nothing, so that the wait in which this function is called continues."""


@dataclass(frozen=True)
class ProcessSpec:
    """Command and settings of one process of a service.

    Attributes
    ----------
    name : str
        Name of the process, also of its log file.
    command : list of str
        Program and arguments, without the guard.
    environment : mapping of str to str
        Environment variables in addition to those that `passed_on` returns.
    grace_s : float
        Time between the signals TERM and KILL when the process is ended. [s]
    host : Host, optional
        Host of the process; by default the host of its service.
    open_files : int, optional
        Soft limit of open files, within the hard limit; by default the hard limit, 524,288 at most.
    stop_signal : Signals
        Signal that the command receives first, to end by itself; the whole process tree then receives TERM. It has an
        effect only for processes on this machine.
    """

    name: str
    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    grace_s: float = 5.0
    host: Host | None = None
    open_files: int | None = None
    stop_signal: signal.Signals = signal.SIGTERM


class Process(Protocol):
    """Process of a service, on any host."""

    spec: ProcessSpec
    log: Path

    def start(self) -> None:
        """Start the process; its output is appended to the log of the process."""

    @property
    def pid(self) -> int | None:
        """Process id of the root of the process tree; None for a process on another machine."""

    def status(self) -> int | None:
        """Return the exit status of the process tree; None while the tree runs."""

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        """Wait for the end of the process tree; return its exit status."""

    def stop(self) -> None:
        """End the process tree; return when all processes of the tree have ended."""

    def signal(self, what: str) -> None:
        """Kill (`kill`), stop (`hold`) or resume (`go on`) all processes of the process tree by a signal.

        Raises
        ------
        TargetError
            If no process of the tree runs.
        """

    def limits(self) -> dict[str, int | None]:
        """Return the kernel limits (such as open files) that apply to the command, in the form of `limits_below`."""

    def is_held(self) -> bool:
        """Return True if a signal has stopped the process's command. Return False for a process on another machine,
        where this cannot be checked.
        """

    def last_lines(self) -> str:
        """Return the last lines of the process's log, to be appended to a message."""

    def ended_text(self) -> str:
        """Return text that describes how the process ended."""


@dataclass(frozen=True)
class HostEntry:
    """Way in which commands enter the namespaces and control group of a host: functions and environment variables.

    Attributes
    ----------
    guard : callable
        Function that wraps the command of a guard, so that the guard starts in the right namespaces and control
        group.
    command : callable
        Function that wraps the command that the guard starts, so that it runs in the right namespaces and control
        group.
    environment : mapping of str to str
        Environment variables in addition to those that `passed_on` returns; variables of the process take precedence.
    starting : callable
        Function that makes the context in which the process is started.
    """

    guard: Callable[[list[str]], list[str]] = list
    command: Callable[[list[str]], list[str]] = list
    environment: Mapping[str, str] = field(default_factory=dict)
    starting: Callable[[], AbstractContextManager[object]] = nullcontext


class ServiceProcess:
    """Process on this machine, watched by a guard."""

    def __init__(
        self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None, entry: HostEntry | None = None
    ) -> None:
        self.spec = spec
        self.log = log
        self._cpus = cpus
        self._entry = entry or HostEntry()
        self._guard: subprocess.Popen[bytes] | None = None
        # Length of the log before this process started: lines before this position come from an earlier process. [byte]
        self._since = 0

    def start(self) -> None:
        """Start the process; its output is appended to the log of the process.

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
            # The process has a separate session. Ctrl-C on the terminal then reaches only the conductor, that is, this
            # process.
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
        """Id of the guard, which is the root of the process group."""
        if self._guard is None:
            raise TargetError(f"{self.spec.name} was not started")
        return self._guard.pid

    def status(self) -> int | None:
        """Return the exit status of the process tree; None while the tree runs."""
        return None if self._guard is None else self._guard.poll()

    def wait(self, check: Check = no_check, limit_s: float | None = None) -> int:
        """Wait for the end of the process; return its exit status.

        Raises
        ------
        TargetError
            If the process takes longer than `limit_s`.
        """
        return await_end(self, check, limit_s)

    def stop(self) -> None:
        """End the process tree by TERM, and by KILL after the grace time; return when all processes of the tree have
        ended.
        """
        guard = self._guard
        if guard is None:
            return
        if self.spec.stop_signal != signal.SIGTERM and guard.poll() is None:
            guard.send_signal(self.spec.stop_signal)  # the guard passes this signal on to the command of the process
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
        """Kill, stop or resume all processes of the process tree by a signal."""
        from towtank.system.hosts.local import execute  # noqa: PLC0415 - hosts are made of processes
        from towtank.system.trees import signal_tree  # noqa: PLC0415

        signal_tree(execute, self.pid, what)

    def limits(self) -> dict[str, int | None]:
        """Return the kernel limits that apply to the command.

        The processes of a host in namespaces are visible on this machine, so their limits can be read here as well.
        """
        return {} if self._guard is None else limits_below(self._guard.pid, read_here, ports_here)

    def is_held(self) -> bool:
        """Return True if a signal (SIGSTOP) has stopped the command."""
        return self._guard is not None and any(is_stopped(child) for child in children(self._guard.pid))

    def last_lines(self) -> str:
        """Return the last lines of the process's log, indented, to be appended to a message; empty if the log
        is empty.
        """
        lines = log_tail(self.log, since=self._since)
        return "".join(f"\n  {line}" for line in lines) if lines else ""

    def ended_text(self) -> str:
        """Return text that describes how the process ended."""
        return f"ended {describe_status(self.status())}"


def describe_status(status: int | None) -> str:
    """Describe the exit status of a guard or a process as text.

    For death by signal n, a guard reports 128 + n, and Python reports -n.
    """
    if status is None:
        return "not yet"
    if status < 0 or status > 128:
        return f"by signal {-status if status < 0 else status - 128}"
    return f"with status {status}"


def log_tail(path: Path, lines: int = SHOWN_LINES, since: int = 0) -> list[str]:
    """Return the last lines of a log after the position `since`, without reading the whole log."""
    with suppress(OSError), path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, since, end - _TAIL_BYTES))
        return stream.read().decode("utf-8", "replace").splitlines()[-lines:]
    return []


def await_end(process: Process, check: Check, limit_s: float | None) -> int:
    """Wait until a process has ended; return its exit status.

    Raises
    ------
    TargetError
        If the process takes longer than `limit_s`.
    """
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while (status := process.status()) is None:
        check()
        if deadline is not None and time.monotonic() > deadline:
            raise TargetError(f"{process.spec.name} took longer than {limit_s:.0f} s{process.last_lines()}")
        time.sleep(_POLL_S)
    return status


def run_to_end(process: Process, *, check: Check = no_check, limit_s: float | None = None) -> None:
    """Run a program of a service to its end, watched by a guard.

    Raises
    ------
    TargetError
        If the program ends with a status other than 0 (the message contains the last lines of its log), or takes too
        long.
    """
    process.start()
    try:
        status = process.wait(check, limit_s)
    finally:
        process.stop()
    if status != 0:
        raise TargetError(f"{process.spec.name} {process.ended_text()}{process.last_lines()}")
