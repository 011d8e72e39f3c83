"""Defines the interface of a service of a system under test.

A service describes its requirements, its processes, the check that it is ready, and its scrapers. `System` starts and
stops the processes of all services in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.errors import TargetError
from towtank.system.hosts.host import Host
from towtank.system.hosts.local import LocalHost
from towtank.system.process import Check, Note, ProcessSpec, no_check, no_note, run_to_end


@dataclass(frozen=True)
class Place:
    """Folders, CPUs and host for a service.

    `data` remains after the run, for example for a population; `scratch` is removed when the system is stopped. The
    service may use all CPUs if they are None. `check` is called during waits, and raises an error if the user requested
    a stop; `note` is called with a description of each step.
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


class Service:
    """Service of a system under test; subclasses override the methods whose default does not suffice.

    `hosts` are those of its processes; empty unless they run on several hosts. The service must be ready within
    `ready_within_s` [s] from its start. `pages` are URLs of additional metrics pages.
    """

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
        """Return a message about missing programs or permissions, with the command that installs the programs; None if
        nothing is missing.
        """
        return None

    def meet(self, others: list[Service]) -> None:
        """Find the other services that this service uses. Called before any service is started."""

    def requires(self) -> list[Service]:
        """Return the services that must be ready before this service starts, including those that it adds to the
        system.
        """
        return []

    def folders(self) -> list[Path]:
        """Return existing folders of this machine that the processes of the service read, besides those in `Place`."""
        return []

    def prepare(self, place: Place) -> None:
        """Create all files that the processes need at their start, in the same state for each run."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the processes of the service in the order of their start; empty if the service already runs."""
        return []

    def starting(self, process: str) -> None:
        """Prepare the check that the service is ready. Called before each start of one of its processes."""

    def ready(self) -> str | None:
        """Return None if the service is ready; otherwise the reason why it is not."""
        return None

    def process_ready(self, process: str) -> str | None:  # noqa: ARG002
        """Return None if one process of the service is ready; otherwise the reason why it is not."""
        return self.ready()

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
        return []

    def client_url(self) -> str | None:
        """Return the URL, with its login, by which other services connect to this service; by default its first address
        with `http://`, or None if it has no address.
        """
        found = self.addresses()
        return None if not found else found[0] if "://" in found[0] else f"http://{found[0]}"

    def watched(self) -> list[int]:
        """Return the ids of processes on this machine that belong to the service but that Towtank did not start."""
        return []

    def settings_used(self) -> dict[str, object]:
        """Return the effective configuration of the service, for the manifest of the run."""
        return {}

    def scrapers(self) -> list[Any]:
        """Return the scrapers of the service's own metrics."""
        return []

    def exports(self) -> Mapping[str, Path]:
        """Return the files of the service that workloads may use, such as a list of users, by name."""
        return {}


def scrapers_of(service: Service) -> list[Any]:
    """Return the scrapers of a service's own metrics, and of the metrics pages that the system file names."""
    from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

    pages = [
        PrometheusScraper(f"{service.name}-prometheus" + (f"-{number}" if number > 1 else ""), service.kind, page)
        for number, page in enumerate(service.pages, start=1)
    ]
    return [*service.scrapers(), *pages]
