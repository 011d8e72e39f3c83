"""Defines the interface of a host of a system under test: creation, processes, files, observation, removal.

Providers implement this interface, and services use a host only through it. Paths are those that processes on the host
see.
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
    """Capabilities of a provider, that is, of a kind of host.

    Attributes
    ----------
    starts : bool
        Whether Towtank starts services on the host; otherwise they already run.
    shares_files : bool
        Whether this process can access files of the host, by the path that `outside` returns.
    sizes : frozenset of str
        Keys of the host in the system file that the provider supports.
    """

    starts: bool = True
    shares_files: bool = True
    sizes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Answer:
    """Result of a command that ran to its end.

    Attributes
    ----------
    status : int
        Exit status.
    output : str
        Standard output and standard error, in the order in which they were written.
    """

    status: int
    output: str


@dataclass(frozen=True)
class HostSettings:
    """Settings that all hosts of a running system share.

    Attributes
    ----------
    folder : Path
        Folder of this run, below which the hosts keep their files.
    kept : tuple of Path
        Folders of this machine that processes on every host must see under the same path.
    check : callable
        Function that is called while waiting, and raises an error when the user asks to stop.
    cpus : tuple of int
        CPUs of the system under test; empty for all CPUs.
    """

    folder: Path
    kept: tuple[Path, ...] = ()
    check: Check = no_check
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Watching:
    """Scrapers and probes that observe a host during the load.

    Attributes
    ----------
    scrapers : list
        Scrapers of the metrics of the whole host.
    probes : list
        Probes on another machine (`towtank.observe.RemoteProbe`).
    processes : dict
        Root process ids, by name, of programs that run on this machine and work for the host, such as packet relays.
    """

    scrapers: list[Any] = field(default_factory=list)
    probes: list[Any] = field(default_factory=list)
    processes: dict[str, int] = field(default_factory=dict)


class Host(Protocol):
    """Host of a system under test, such as this machine or a virtual host; it is created and removed by a provider.

    Attributes
    ----------
    name : str
        Name of the host in the system file.
    provider : str
        Name of the provider.
    address : str
        Address on which services of the host listen, and at which the generator and other hosts reach them.
    cpus : list of int or None
        CPUs to which the limits of the host pin its processes; None without such limits.
    """

    name: str
    provider: str

    @property
    def address(self) -> str:
        """Address of the host, which is known once the host is prepared."""

    @property
    def cpus(self) -> list[int] | None:
        """CPUs to which the host's limits pin its processes; None if the host is not pinned."""

    def capabilities(self) -> Capabilities:
        """Return what the provider of the host supports, such as starting services."""

    def lacks(self) -> list[str]:
        """Return a sentence for each requirement of the host that this machine or this user does not meet."""

    def prepare(self, room: HostSettings) -> None:
        """Create the host, or connect to it. If this fails, `tear_down` removes the parts that were created."""

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Apply the limits of the host that would have slowed down the start of services.

        Parameters
        ----------
        folders : sequence of Path
            Folders of this machine that contain files of the host's services. If the load is to begin with an empty
            page cache, these files are evicted from it.
        """

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process of a service on the host, not started yet; `log` is a file on this machine."""

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
        """Return the path by which this process can access a file of the host. The provider must share files."""

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Make a folder on the host, with its parents; `owner` is a user of the host."""

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Make a new folder on the host that only its owner, and processes of a group, can enter.

        Raises
        ------
        TargetError
            If the path already exists.
        """

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file on the host that only its owner, and processes of a group, can read. If the path is a
        link, the link is replaced.
        """

    def read(self, path: Path | str) -> str | None:
        """Read a small file of the host; return None if it cannot be read."""

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file, or a folder with its contents, from this machine to the host."""

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the host to this machine."""

    def remove(self, path: Path | str) -> None:
        """Remove a file, or a folder with its contents, from the host; a missing path is no error."""

    def engine(self) -> Path:
        """Return the path of Towtank's engine on the host."""

    def python(self) -> str:
        """Return the path of a Python interpreter on the host that can run Towtank's own servers."""

    @property
    def temporary(self) -> Path:
        """Folder on the host for files that are removed with the host."""

    def disk(self, name: str) -> Path:
        """Return the mount point of a disk of the host."""

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive TCP ports of the host on which no process listens."""

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port of the host on which another process already listens.

        Raises
        ------
        TargetError
            If another process listens on the port.
        """

    def facts(self) -> dict[str, object]:
        """Return provider, address and effective limits of the host, for the manifest of the run."""

    def watching(self) -> Watching:
        """Return the scrapers and probes that observe the host during the load."""

    def ended(self) -> list[str]:
        """Return the parts of the host (such as helper programs) that ended unexpectedly, one sentence each."""

    def tear_down(self) -> None:
        """Remove everything that belongs to the host; do nothing if this was already done."""


@runtime_checkable
class Enterable(Protocol):
    """Host whose network the load generator can enter."""

    def entry(self) -> HostEntry:
        """Return the command wrapper and the environment by which a command runs in the network namespace of
        the host.
        """

    def within(self, work: Callable[[], T]) -> T:
        """Run a Python function in the network namespace of the host, and return its result."""


@runtime_checkable
class Breakable(Protocol):
    """Host whose network and disks can be made to fail."""

    def cut(self) -> None:
        """Disconnect the host from the network."""

    def mend(self) -> None:
        """Reconnect the host to the network; do nothing if it is connected."""

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Fill a disk of the host until only the given numbers of free bytes and free files are left; None does not use
        up any bytes or files.

        Returns
        -------
        dict of str to int
            `free_bytes` and `free_files` after filling.
        """

    def release(self, disk: str) -> None:
        """Free the space that `fill` used up; do nothing if the disk was not filled."""
