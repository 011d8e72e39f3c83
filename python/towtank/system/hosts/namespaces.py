"""Creates Linux namespaces, which a small process holds open, and lets commands and threads of Towtank enter them."""

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
# Shell command of the process that holds the namespaces open, until its standard input is closed.
_HOLD = "echo ready; exec cat >/dev/null"
_FLAGS = {"net": "--net", "mnt": "--mount", "uts": "--uts"}


class Namespaces:
    """Namespaces of one host or of the virtual network, of the kinds `net`, `mnt` and `uts`.

    Namespaces exist as long as a process is in them. They are held by a small process that ends when its standard input
    closes. Only this process keeps that input open, so the namespaces disappear when Towtank ends.
    """

    def __init__(self, kinds: tuple[str, ...], environment: dict[str, str]) -> None:
        self._kinds, self._environment = kinds, environment
        self._holder: subprocess.Popen[bytes] | None = None

    def start(self, script: str, *arguments: str) -> None:
        """Create the namespaces, and run a script inside to set them up.

        Raises
        ------
        TargetError
            If the kernel refuses to create the namespaces, or the script fails.
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
        """Id of the process that holds the namespaces."""
        if self._holder is None:
            raise TargetError("the namespaces do not exist yet")
        return self._holder.pid

    def enter(self, command: list[str]) -> list[str]:
        """Return a command that runs the given command in the namespaces."""
        where = [f"{_FLAGS[kind]}=/proc/{self.pid}/ns/{kind}" for kind in self._kinds]
        return ["nsenter", *where, "--", *command]

    def outside(self, path: Path | str) -> Path:
        """Return the path by which this process can access a file in the namespaces."""
        return Path(f"/proc/{self.pid}/root{path}")

    def end(self) -> None:
        """Remove the namespaces by ending the process that holds them."""
        if self._holder is not None:
            end_helper(self._holder)
            self._holder = None


def within_network(pid: int, work: Callable[[], T]) -> T:
    """Call a function in the network namespace of a process, in a temporary thread, and return its result.

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
        # The exception is raised again in the thread of the caller.
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
