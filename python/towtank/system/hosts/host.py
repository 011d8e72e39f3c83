"""Interface of a host of a system under test: creation, processes, files, observation, removal.

Providers implement the interface, and services use nothing else. Paths are those that processes on the host see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from towtank.system.process import Check, Entry, Process, ProcessSpec, no_check

T = TypeVar("T")


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a provider.

    Attributes
    ----------
    starts : bool
        Whether services can be started on it; otherwise they already run.
    shares_files : bool
        Whether its files are visible to the conductor, by `outside`.
    sizes : frozenset of str
        Keys of a host's part of the system file that take effect.
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
        Standard output and standard error, in the order in which they came.
    """

    status: int
    output: str


@dataclass(frozen=True)
class HostSettings:
    """Common settings of all hosts of one system while they are up.

    Attributes
    ----------
    folder : Path
        Folder of this run, below which the hosts keep their files.
    kept : tuple of Path
        Folders of the conductor that every host must see under the same path.
    check : callable
        Called while waiting; raises when the user asks to stop.
    cpus : tuple of int
        CPUs of the system under test; all where empty.
    """

    folder: Path
    kept: tuple[Path, ...] = ()
    check: Check = no_check
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Watching:
    """Observers of a host during the load.

    Attributes
    ----------
    scrapers : list
        Scrapers of the numbers of the whole host.
    probes : list
        Probes on another machine (`towtank.observe.RemoteProbe`).
    processes : dict
        Root process ids, by name, of programs of this machine that work for the host outside of it.
    """

    scrapers: list[Any] = field(default_factory=list)
    probes: list[Any] = field(default_factory=list)
    processes: dict[str, int] = field(default_factory=dict)


class Host(Protocol):
    """One machine of a system.

    Attributes
    ----------
    name : str
        Name in the system file.
    provider : str
        Name of the provider.
    address : str
        Address on which its services listen, and by which the generator and other hosts reach them.
    cpus : list of int or None
        CPUs that its own limits pin it to; None without such limits.
    """

    name: str
    provider: str

    @property
    def address(self) -> str:
        """Address of the host; known once it is prepared."""

    @property
    def cpus(self) -> list[int] | None:
        """CPUs to which the host's limits pin its processes; None without such limits."""

    def capabilities(self) -> Capabilities:
        """Return its capabilities."""

    def lacks(self) -> list[str]:
        """Return what the host lacks on this machine or for this user, one sentence each; empty if it can start."""

    def prepare(self, room: HostSettings) -> None:
        """Create the host, or connect to it. After a failure, `tear_down` removes the parts that exist."""

    def confine(self) -> None:
        """Apply the limits that would slow down the start of services."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process of a service on the host, not started yet; `log` is a file of the conductor."""

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command to its end on the host.

        Raises
        ------
        TargetError
            If it is not installed, or takes longer than `limit_s`.
        """

    def outside(self, path: Path | str) -> Path:
        """Return the path by which the conductor sees a file of the host; only if files are shared."""

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:
        """Make a folder, with its parents; `owner` is a user of the host."""

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:
        """Make a new folder that only its owner, and processes of a group, can enter.

        Raises
        ------
        TargetError
            If the path exists already, whatever it is.
        """

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:
        """Write a small file that only its owner, and processes of a group, can read; a link is replaced."""

    def read(self, path: Path | str) -> str | None:
        """Read a small file; return None if it cannot be read."""

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file or a folder with its contents from the conductor to the host."""

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the host to the conductor."""

    def remove(self, path: Path | str) -> None:
        """Remove a file or a folder with its contents; a path that does not exist is no error."""

    def engine(self) -> Path:
        """Return the path of the engine on the host."""

    def python(self) -> str:
        """Return the path of a Python on the host that has Towtank's own servers installed."""

    @property
    def temporary(self) -> Path:
        """Folder for files that must not outlive the host."""

    def disk(self, name: str) -> Path:
        """Return the mount point of a disk of the host."""

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive TCP ports on which no process listens."""

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port on which another process already listens.

        Raises
        ------
        TargetError
            If it is taken.
        """

    def facts(self) -> dict[str, Any]:
        """Return provider, address and limits in force, for the run's manifest."""

    def watching(self) -> Watching:
        """Return the observers of the host."""

    def ended(self) -> list[str]:
        """Return the parts of the host that ended unexpectedly, one sentence each."""

    def tear_down(self) -> None:
        """Remove everything of the host; do nothing if this has been done."""


@runtime_checkable
class Enterable(Protocol):
    """Host whose network the load generator can enter."""

    def entry(self) -> Entry:
        """Return the commands that enter the network of the host."""

    def within(self, work: Callable[[], T]) -> T:
        """Run a function in the network of the host."""


@runtime_checkable
class Breakable(Protocol):
    """Host whose network and disks can fail on request."""

    def cut(self) -> None:
        """Disconnect the network cable of the host."""

    def mend(self) -> None:
        """Reconnect the cable; do nothing if it is connected."""

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Fill a disk up to the given numbers of free bytes and files; None changes nothing.

        Returns
        -------
        dict of str to int
            `free_bytes` and `free_files` that are left.
        """

    def release(self, disk: str) -> None:
        """Undo `fill`; do nothing if the disk was not filled."""
