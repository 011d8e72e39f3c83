"""Holds Linux namespaces by means of a small process, so that commands and threads of Towtank can enter them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from towtank.errors import TargetError
from towtank.system.hosts.helper import await_ready, end_helper, start_helper

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000
# Script of the process that holds the namespaces. It reports `ready`, and then waits until Towtank closes its end of
# the pipe.
_HOLD = "echo ready; exec cat >/dev/null"
_FLAGS = {"net": "--net", "mnt": "--mount", "uts": "--uts"}


class Namespaces:
    """Namespaces of one host, or of the virtual switch.

    Namespaces exist as long as a process is in them. The process that holds the namespaces ends when a pipe is closed.
    Only Towtank holds the other end of the pipe, so this process ends with Towtank.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of namespaces: `net`, `mnt`, `uts`.
    environment : dict
        Environment of the process that holds the namespaces.
    """

    def __init__(self, kinds: tuple[str, ...], environment: dict[str, str]) -> None:
        self._kinds, self._environment = kinds, environment
        self._holder: subprocess.Popen[bytes] | None = None

    def start(self, script: str, *arguments: str) -> None:
        """Create the namespaces, and run a script inside to set them up.

        Raises
        ------
        TargetError
            If the kernel or the script refuses.
        """
        flags = [_FLAGS[kind] for kind in self._kinds]
        private = ["--propagation", "private"] if "mnt" in self._kinds else []
        command = ["unshare", *flags, *private, "sh", "-ec", f"{script}\n{_HOLD}", "sh", *arguments]
        self._holder = start_helper(command, self._environment)
        reason = await_ready(self._holder)
        if reason is not None:
            self.end()
            raise TargetError(f"cannot make namespaces: {reason or 'unshare ended'}")

    @property
    def pid(self) -> int:
        """Process id of the process that holds the namespaces."""
        if self._holder is None:
            raise TargetError("the namespaces do not exist yet")
        return self._holder.pid

    def enter(self, command: list[str]) -> list[str]:
        """Return a command that enters the namespaces and then runs the given command."""
        where = [f"{_FLAGS[kind]}=/proc/{self.pid}/ns/{kind}" for kind in self._kinds]
        return ["nsenter", *where, "--", *command]

    def outside(self, path: Path | str) -> Path:
        """Return the path by which processes outside of the namespaces access a file inside."""
        return Path(f"/proc/{self.pid}/root{path}")

    def end(self) -> None:
        """Release the namespaces by ending the process that holds them."""
        if self._holder is not None:
            end_helper(self._holder)
            self._holder = None


def within_network(pid: int, work: Callable[[], T]) -> T:
    """Run a function in the network namespace of a process, in a temporary thread, and return its result.

    Raises
    ------
    TargetError
        If the namespace cannot be entered.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def inside() -> None:
        try:
            enter_network(pid)
            results.append(work())
        # An exception in the temporary thread is stored and raised again in the thread of the caller.
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=inside, name="towtank-network")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def enter_network(pid: int) -> None:
    """Move the calling thread into the network namespace of a process."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise TargetError(f"cannot enter the network of process {pid}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)
