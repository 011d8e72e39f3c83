"""Defines the interface of a host of a system under test.

Providers implement this interface, and services use hosts only through it. All paths are paths on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from towtank.system.process import Check, HostEntry, Process, ProcessSpec, no_check

T = TypeVar("T")


@dataclass(frozen=True)
class Capabilities:
    """Features that a kind of host supports.

    Towtank `starts` the services on the host, or they run already. This process can access files of the host, by the
    path that `Host.outside` returns, if the host `shares_files`. `sizes` are the keys of the host in the system file,
    such as limits, that the provider supports.
    """

    starts: bool = True
    shares_files: bool = True
    sizes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Answer:
    """Exit status of a command that ran to its end, and its standard output and standard error, in the order in which
    they were written.
    """

    status: int
    output: str


@dataclass(frozen=True)
class HostSettings:
    """Settings of a running system that are the same for all its hosts.

    Hosts store their files below `folder`. Processes on every host must see the folders `kept` of this machine under
    the same path. `check` is called during waits; it raises an error if the user requested a stop. The system may use
    all CPUs if `cpus` is empty.
    """

    folder: Path
    kept: tuple[Path, ...] = ()
    check: Check = no_check
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Watching:
    """Scrapers and probes that observe a host during the load, and ids of processes on this machine that work for the
    host, such as packet relays, by name.
    """

    scrapers: list[Any] = field(default_factory=list)
    probes: list[Any] = field(default_factory=list)
    processes: dict[str, int] = field(default_factory=dict)


class Host(Protocol):
    """Host of a system under test, such as this machine or a virtual host.

    Services of the host listen on its address, by which the generator and other hosts reach them. Its processes are
    pinned to `cpus`, unless these are None.
    """

    name: str
    provider: str

    @property
    def address(self) -> str:
        """Address of the host; only available after `prepare`."""

    @property
    def cpus(self) -> list[int] | None:
        """CPUs to which the processes of the host are pinned; None if they are not pinned."""

    def capabilities(self) -> Capabilities:
        """Return the features that this kind of host supports."""

    def lacks(self) -> list[str]:
        """Return a sentence for each requirement of the host that this machine, or the current user, does not meet."""

    def prepare(self, room: HostSettings) -> None:
        """Create the host, or connect to it. If this fails, `tear_down` removes what was created."""

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Apply the limits of the host, once its services have started. Earlier, the limits would slow down the start.

        If the system file requests an empty page cache at the start of the load, the files of the host's services in
        the given folders of this machine are evicted from the cache.
        """

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process of a service on the host, not yet started. `log` is a file on this machine."""

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command to its end on the host.

        Raises
        ------
        TargetError
            If the command is not installed, or takes longer than `limit_s`.
        """

    def outside(self, path: Path | str) -> Path:
        """Return the path by which this process can access a file of the host, if the provider shares files."""

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Create a folder on the host, with its parents; `owner` is the name of a user of the host."""

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Create a new folder on the host that only its owner, and processes of a group of users, can enter.

        Raises
        ------
        TargetError
            If the path already exists.
        """

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the host that only its owner, and processes of a group of users, can read.

        A symbolic link at the path is replaced.
        """

    def read(self, path: Path | str) -> str | None:
        """Read a small file of the host; return None if it cannot be read."""

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file, or a folder with its contents, from this machine to the host."""

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the host to this machine."""

    def remove(self, path: Path | str) -> None:
        """Remove a file, or a folder with its contents, from the host; do nothing if the path does not exist."""

    def engine(self) -> Path:
        """Return the path of Towtank's engine on the host."""

    def python(self) -> str:
        """Return the path of a Python interpreter on the host that can run Towtank's own servers."""

    @property
    def temporary(self) -> Path:
        """Folder on the host for files that are removed with the host."""

    def disk(self, name: str) -> Path:
        """Return the path at which a disk of the host is mounted."""

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive TCP ports of the host, on none of which a process listens."""

    def require_free(self, port: int, owner: str) -> None:
        """Raise an error if another process already listens on a port of the host; `owner` is named in the message.

        Raises
        ------
        TargetError
            If another process listens on the port.
        """

    def facts(self) -> dict[str, object]:
        """Return provider, address and effective limits of the host, for the manifest of a run."""

    def watching(self) -> Watching:
        """Return the scrapers and probes that observe the host during the load."""

    def ended(self) -> list[str]:
        """Return one sentence for each helper program of the host that ended unexpectedly."""

    def tear_down(self) -> None:
        """Remove everything that was created for the host; do nothing if it was already removed."""


class StandingHost:
    """Base class of hosts that exist before a study and remain after it. Towtank does not create, limit or pin them."""

    @property
    def cpus(self) -> list[int] | None:
        """None, because the host does not pin processes."""
        return None

    def lacks(self) -> list[str]:
        """Return an empty list, because the host has no requirements."""
        return []

    def prepare(self, room: HostSettings) -> None:
        """Do nothing. If the services of a machine are unreachable, the checks of the services report this."""

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Do nothing, because Towtank sets no limits on the host."""

    def ended(self) -> list[str]:
        """Return an empty list, because no helper programs run for the host."""
        return []


@runtime_checkable
class Enterable(Protocol):
    """Host in whose network namespace the load generator can run."""

    def entry(self) -> HostEntry:
        """Return the command prefix and the environment that make a command run in the network namespace of the
        host.
        """

    def within(self, work: Callable[[], T]) -> T:
        """Call a function in the network namespace of the host, and return the result."""


@runtime_checkable
class Breakable(Protocol):
    """Host whose network and disks can be made to fail."""

    def cut(self) -> None:
        """Disconnect the host from the network."""

    def mend(self) -> None:
        """Reconnect the host to the network; do nothing if it is connected."""

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Fill a disk of the host until only the given numbers of free bytes and free files are left.

        If a number is None, no bytes (or no files) are used up.

        Returns
        -------
        dict of str to int
            `free_bytes` and `free_files` after filling. [byte], [1]
        """

    def release(self, disk: str) -> None:
        """Free the space that `fill` used up; do nothing if `fill` was not called."""
