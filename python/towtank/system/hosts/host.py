"""What a host of a system under test is: it is made, runs processes, holds files, is watched, and goes again.

A provider says how; services see only this. Paths are those that the processes on the host see.
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
    """What a provider can do.

    Attributes
    ----------
    starts : bool
        Whether services can be started on it; else they run already.
    shares_files : bool
        Whether the conductor sees its files, by `outside`.
    sizes : frozenset of str
        Keys of a host's part of the system file that take effect.
    """

    starts: bool = True
    shares_files: bool = True
    sizes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Answer:
    """What a command said that was run to its end.

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
class Room:
    """What all hosts of one system have in common while they are up.

    Attributes
    ----------
    folder : Path
        Folder of this time only; the hosts keep what is theirs below it.
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
    """How a host is observed while the load goes on.

    Attributes
    ----------
    scrapers : list
        What reads the numbers of the host as a whole.
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
        Where services on it listen, and where the generator and other hosts reach them.
    cpus : list of int or None
        CPUs it is pinned to by its own sizes; None where it has none of its own.
    """

    name: str
    provider: str

    @property
    def address(self) -> str:
        """Address of the host; known once it is prepared."""

    @property
    def cpus(self) -> list[int] | None:
        """CPUs that its sizes pin it to."""

    def capabilities(self) -> Capabilities:
        """What it can do."""

    def lacks(self) -> list[str]:
        """What this machine, or the user, lacks for it, one sentence each; nothing is started before this is empty."""

    def prepare(self, room: Room) -> None:
        """Make it, or reach it. What is made so far is gone again if this fails and `tear_down` is called."""

    def confine(self) -> None:
        """Put the sizes in force that would only slow down the start of services."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """A process of a service on it, not started yet; `log` is a file of the conductor."""

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command to its end on it.

        Raises
        ------
        TargetError
            If it is not there, or takes longer than `limit_s`.
        """

    def outside(self, path: Path | str) -> Path:
        """The path by which the conductor sees a file of the host; only where files are shared."""

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
        """Read a small file; None where it cannot be read."""

    def put(self, source: Path, target: Path | str) -> None:
        """Copy a file or a folder with all it holds from the conductor to the host."""

    def get(self, source: Path | str, target: Path) -> None:
        """Copy a file from the host to the conductor."""

    def remove(self, path: Path | str) -> None:
        """Remove a file or a folder with all it holds; nothing to remove is fine."""

    def engine(self) -> Path:
        """The engine, as a program of the host."""

    def python(self) -> str:
        """The Python of the host that has Towtank's own servers."""

    @property
    def temporary(self) -> Path:
        """Folder for what must not outlive the host."""

    def disk(self, name: str) -> Path:
        """Where a disk of the host is mounted."""

    def free_ports(self, count: int = 1) -> int:
        """First of so many TCP ports in a row that nothing listens on."""

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port that something else listens on already.

        Raises
        ------
        TargetError
            If it is taken.
        """

    def facts(self) -> dict[str, Any]:
        """Provider, address and sizes in force, for the run's manifest."""

    def watching(self) -> Watching:
        """How it is observed."""

    def ended(self) -> list[str]:
        """What of it has ended although it should not, one sentence each."""

    def tear_down(self) -> None:
        """Remove everything of it; does nothing when that is done already."""


@runtime_checkable
class Enterable(Protocol):
    """A host whose network a program of this machine can be put into: the load generator."""

    def entry(self) -> Entry:
        """How a command gets there."""

    def within(self, work: Callable[[], T]) -> T:
        """Do something in its network."""


@runtime_checkable
class Breakable(Protocol):
    """A host whose network and disks can be made to fail for a time."""

    def cut(self) -> None:
        """Pull its network cable."""

    def mend(self) -> None:
        """Put the cable back; nothing where it was not pulled."""

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Use up a disk but for some bytes and files; None leaves what there is.

        Returns
        -------
        dict of str to int
            `free_bytes` and `free_files` that are left.
        """

    def release(self, disk: str) -> None:
        """Give back what `fill` used up; nothing where it did not."""
