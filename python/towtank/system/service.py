"""Defines the interface of a service of a system under test.

A service describes its requirements, its processes, the check that it is ready, and its scrapers. `System` starts and
stops the processes of all services in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from towtank.errors import TargetError
from towtank.system.hosts.host import Host
from towtank.system.hosts.local import LocalHost
from towtank.system.process import Check, Note, ProcessSpec, no_check, no_note, run_to_end


@dataclass(frozen=True)
class Place:
    """Folders, CPUs and host for a service.

    Attributes
    ----------
    data : Path
        Folder that remains after the run, for example for a population.
    scratch : Path
        Folder of the run, which is removed when the system is stopped.
    logs : Path
        Folder for logs.
    cpus : list of int or None
        CPUs that the service may use; None if it may use all CPUs.
    check : callable
        Function that is called repeatedly during waits; it raises an error if the user requested a stop.
    note : callable
        Function that is called with a description of each step.
    host : Host
        Host of the service.
    """

    data: Path
    scratch: Path
    logs: Path
    cpus: list[int] | None = None
    check: Check = no_check
    note: Note = no_note
    host: Host = field(default_factory=LocalHost)

    def run(
        self,
        spec: ProcessSpec,
        *,
        cpus: list[int] | None = None,
        on: Host | None = None,
        limit_s: float | None = None,
    ) -> None:
        """Run a program of the service to its end, by default on the CPUs and the host of the service and without a
        time limit [s]. Its output is appended to `logs/NAME.log`.
        """
        process = (on or self.host).process(spec, self.logs / f"{spec.name}.log", cpus or self.cpus)
        run_to_end(process, check=self.check, limit_s=limit_s)


class Service(Protocol):
    """Service of a system under test.

    Attributes
    ----------
    name : str
        Name of the service in the system file.
    kind : str
        Kind of the service.
    host : Host
        Host of the service.
    hosts : list of Host
        Hosts of the processes of the service; empty unless they run on several hosts.
    ready_within_s : float
        Longest time from the start of the service until it must be ready. [s]
    pages : list of str
        URLs of additional metrics pages that the system file names.
    """

    name: str
    kind: str
    host: Host
    hosts: list[Host]
    ready_within_s: float
    pages: list[str]

    def missing(self) -> str | None:
        """Return a message about missing programs or permissions, with the command that installs the programs; None if
        nothing is missing.
        """

    def meet(self, others: list[Service]) -> None:
        """Find the other services that this service uses. Called before any service is started."""

    def requires(self) -> list[Service]:
        """Return the services that must be ready before this service starts, including those that it adds to the
        system.
        """

    def folders(self) -> list[Path]:
        """Return existing folders of this machine that the processes of the service read, besides those in `Place`."""

    def prepare(self, place: Place) -> None:
        """Create all files that the processes need at their start, in the same state for each run."""

    def processes(self, place: Place) -> list[ProcessSpec]:
        """Return the processes of the service in the order of their start; empty if the service already runs."""

    def starting(self, process: str) -> None:
        """Prepare the check that the service is ready. Called before each start of one of its processes."""

    def ready(self) -> str | None:
        """Return None if the service is ready; otherwise the reason why it is not."""

    def process_ready(self, process: str) -> str | None:
        """Return None if one process of the service is ready; otherwise the reason why it is not."""

    def stopping(self, *, for_good: bool) -> None:
        """Ask the service to shut down. Called before its processes are ended. `for_good` means that its data are not
        needed any more.
        """

    def stopped(self) -> None:
        """Remove files that must not remain. Called after the processes have ended."""

    def addresses(self) -> list[str]:
        """Return the addresses `host:port` for virtual users, one for each node; empty if they do not use the
        service.
        """

    def client_url(self) -> str | None:
        """Return the URL, with its login, by which other services connect to this service; None if it has no
        address.
        """

    def watched(self) -> list[int]:
        """Return the ids of processes on this machine that belong to the service but that Towtank did not start."""

    def settings_used(self) -> dict[str, object]:
        """Return the effective configuration of the service, for the manifest of the run."""

    def scrapers(self) -> list[Any]:
        """Return the scrapers of the service's own metrics."""

    def exports(self) -> Mapping[str, Path]:
        """Return the files of the service that workloads may use, such as a list of users, by name."""


class PlainService:
    """Default methods of a service; subclasses override those that differ."""

    kind = "plain"
    ready_within_s = 30.0

    def __init__(self, name: str) -> None:
        self.name = name
        # Default host; when a system is built, the host in the system file replaces it.
        self.host: Host = LocalHost()
        # Hosts of the processes; empty unless they run on several hosts.
        self.hosts: list[Host] = []
        # URLs of metrics pages that the system file names, in addition to the service's own metrics.
        self.pages: list[str] = []
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Folder for all files of the service in this run.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        if self._folder is None:
            raise TargetError(f"{self.name} was not prepared")
        return self._folder

    def missing(self) -> str | None:
        """Return None, because the service needs no programs or permissions."""
        return None

    def meet(self, others: list[Service]) -> None:
        """Do nothing, because the service uses no other service."""

    def requires(self) -> list[Service]:
        """Return an empty list, because the service uses no other service."""
        return []

    def folders(self) -> list[Path]:
        """Return an empty list, because the processes read no other folders than those in `Place`."""
        return []

    def prepare(self, place: Place) -> None:
        """Do nothing, because the service needs no files or ports before its start."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return an empty list, because the service has no processes."""
        return []

    def starting(self, process: str) -> None:
        """Do nothing, because the check that the service is ready needs no preparation."""

    def ready(self) -> str | None:
        """Return None, because the service is always ready."""
        return None

    def process_ready(self, process: str) -> str | None:  # noqa: ARG002
        """Return the result of `ready`, because the service has only one process."""
        return self.ready()

    def stopping(self, *, for_good: bool) -> None:
        """Do nothing, because the service shuts down when its processes receive the signal TERM."""

    def stopped(self) -> None:
        """Do nothing, because the service leaves no files behind."""

    def addresses(self) -> list[str]:
        """Return an empty list, because virtual users do not use the service."""
        return []

    def client_url(self) -> str | None:
        """Return the first address of the service as a URL, by default with `http://`; None if it has no address."""
        found = self.addresses()
        return None if not found else found[0] if "://" in found[0] else f"http://{found[0]}"

    def watched(self) -> list[int]:
        """Return an empty list, because Towtank starts all processes of the service."""
        return []

    def settings_used(self) -> dict[str, object]:
        """Return an empty dictionary, because the service has no settings."""
        return {}

    def scrapers(self) -> list[Any]:
        """Return an empty list, because the service has no metrics."""
        return []

    def exports(self) -> Mapping[str, Path]:
        """Return an empty dictionary, because the service has no files for workloads."""
        return {}


def scrapers_of(service: Service) -> list[Any]:
    """Return the scrapers of a service's own metrics, and of the metrics pages that the system file names."""
    from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

    pages = [
        PrometheusScraper(f"{service.name}-prometheus" + (f"-{number}" if number > 1 else ""), service.kind, page)
        for number, page in enumerate(service.pages, start=1)
    ]
    return [*service.scrapers(), *pages]
