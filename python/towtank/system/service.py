"""Defines the interface of a service of a system under test.

A service defines its requirements, preparation, processes, check of readiness, and observers. `System` starts and ends
the processes of all services in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from towtank.system.hosts.host import Host
from towtank.system.hosts.local import LocalHost
from towtank.system.process import Check, Note, ProcessSpec, no_check, no_note, run_to_end


@dataclass(frozen=True)
class Place:
    """Folders, CPUs and host that a service uses while it runs.

    Attributes
    ----------
    data : Path
        Folder that is kept between runs, for example for a population.
    scratch : Path
        Folder of this run, removed when the system is stopped.
    logs : Path
        Folder for the logs of the service.
    cpus : list of int or None
        CPUs that the service may use; None for all.
    check : callable
        Function that is called while waiting, and raises an error when the user asks to stop.
    note : callable
        Function that shows a step of the work to the user.
    host : Host
        The host of the service.
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
        """Run a program of the service to its end; its output goes to `logs/NAME.log`.

        Parameters
        ----------
        spec : ProcessSpec
            Program to run, with its settings.
        cpus : list of int, optional
            CPUs that the program may use; by default the CPUs of the service.
        on : Host, optional
            Host of the program; by default the host of the service.
        limit_s : float, optional
            Time limit. [s]
        """
        process = (on or self.host).process(spec, self.logs / f"{spec.name}.log", cpus or self.cpus)
        run_to_end(process, check=self.check, limit_s=limit_s)


class Service(Protocol):
    """Service of a system under test."""

    name: str
    kind: str
    host: Host
    hosts: list[Host]
    ready_within_s: float
    pages: list[str]

    def missing(self) -> str | None:
        """Return a message about missing programs or permissions, with the command that installs them.

        None if nothing is missing.
        """

    def meet(self, others: list[Service]) -> None:
        """Find the other services of the system that this service uses. Call this before any service is started."""

    def requires(self) -> list[Service]:
        """Return the services that must be ready before this service starts, including services that it adds to the
        system.
        """

    def folders(self) -> list[Path]:
        """Return the existing folders of this machine whose files only the processes of this service read."""

    def prepare(self, place: Place) -> None:
        """Create all files that must exist before the processes start, in the same state for every run."""

    def processes(self, place: Place) -> list[ProcessSpec]:
        """Return the processes of the service, in the order of their start; none if the service already runs."""

    def starting(self, process: str) -> None:
        """Prepare the check of readiness for a process of the service that is about to start, or to start again."""

    def ready(self) -> str | None:
        """Return None if the service responds, otherwise the reason why it is not ready."""

    def process_ready(self, process: str) -> str | None:
        """Return None if the given process of the service responds, otherwise the reason why it is not ready."""

    def stopping(self, *, for_good: bool) -> None:
        """Ask the service to shut down, before its processes are ended.

        Parameters
        ----------
        for_good : bool
            Whether the service will not be started again, so that its data are no longer needed.
        """

    def stopped(self) -> None:
        """Remove the files that must not remain after the processes have ended."""

    def addresses(self) -> list[str]:
        """Return the addresses of the service for virtual users as `host:port`, one per node.

        Empty if virtual users do not use the service.
        """

    def client_url(self) -> str | None:
        """Return the URL, including its login, by which other services reach this service; None if it has no
        address.
        """

    def watched(self) -> list[int]:
        """Return the ids of processes on this machine that belong to the service but were not started by Towtank."""

    def settings_used(self) -> dict[str, object]:
        """Return the effective configuration of the service, for the manifest of the run."""

    def scrapers(self) -> list[Any]:
        """Return the scrapers of the service's own metrics (`towtank.observe`)."""

    def exports(self) -> Mapping[str, Path]:
        """Return the files of the service that workloads may use (user list, document list, ...), by name."""


class PlainService:
    """Default methods for most services; a kind of service overrides only the methods that differ."""

    kind = "plain"
    ready_within_s = 30.0

    def __init__(self, name: str) -> None:
        self.name = name
        # This is a default; when the system is built, it is replaced by the host that the system file names.
        self.host: Host = LocalHost()
        # Hosts of the service's processes; empty unless they run on several hosts.
        self.hosts: list[Host] = []
        # Addresses of pages of metrics that the system file names, in addition to the service's own metrics.
        self.pages: list[str] = []

    def missing(self) -> str | None:
        """Return None, because the service needs nothing on this machine."""
        return None

    def meet(self, others: list[Service]) -> None:
        """Do nothing, because the service uses no other service."""

    def requires(self) -> list[Service]:
        """Return an empty list, because the service uses no other service."""
        return []

    def folders(self) -> list[Path]:
        """Return no folders: of this machine, the processes of the service read only the folders in `Place`."""
        return []

    def prepare(self, place: Place) -> None:
        """Do nothing, because the service needs no files or ports before its start."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return no processes, because the service has none."""
        return []

    def starting(self, process: str) -> None:
        """Do nothing, because the readiness of the service does not depend on earlier starts."""

    def ready(self) -> str | None:
        """Return None, because the service is ready immediately."""
        return None

    def process_ready(self, process: str) -> str | None:  # noqa: ARG002
        """Return the result of `ready` for the whole service, because the service has a single process."""
        return self.ready()

    def stopping(self, *, for_good: bool) -> None:
        """Do nothing, because the signal TERM is sufficient to shut the service down."""

    def stopped(self) -> None:
        """Do nothing, because the service leaves no file that has to be removed."""

    def addresses(self) -> list[str]:
        """Return no addresses, because virtual users do not use the service."""
        return []

    def client_url(self) -> str | None:
        """Return the first address of the service; if it has no scheme, `http` is added. None if the service has no
        address.
        """
        found = self.addresses()
        return None if not found else found[0] if "://" in found[0] else f"http://{found[0]}"

    def watched(self) -> list[int]:
        """Return an empty list, because the service has no processes on this machine that Towtank did not start."""
        return []

    def settings_used(self) -> dict[str, object]:
        """Return an empty configuration, because the service has no settings."""
        return {}

    def scrapers(self) -> list[Any]:
        """Return no scrapers, because the service has no metrics."""
        return []

    def exports(self) -> Mapping[str, Path]:
        """Return no files, because the service has no files for workloads."""
        return {}


def scrapers_of(service: Service) -> list[Any]:
    """Return all scrapers of a service: for its own metrics, and for the pages of metrics in the system file."""
    from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

    pages = [
        PrometheusScraper(f"{service.name}-prometheus" + (f"-{number}" if number > 1 else ""), service.kind, page)
        for number, page in enumerate(service.pages, start=1)
    ]
    return [*service.scrapers(), *pages]
