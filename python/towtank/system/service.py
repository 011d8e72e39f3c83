"""Services of a system under test.

A service defines its needs, its preparation, its processes, when it is ready, and its observers. It starts and ends
nothing itself: `System` does, in the same way for all kinds.
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
    """The place of a service while it is up.

    Attributes
    ----------
    data : Path
        Folder that is kept between runs and reused, for example a population.
    scratch : Path
        Folder of this run, removed when the system goes down.
    logs : Path
        Folder for logs.
    cpus : list of int or None
        CPUs that the service may use; None for all.
    check : callable
        Called while waiting; raises when the user asks to stop.
    note : callable
        Shows a step of the work to the user.
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
            The program.
        cpus : list of int, optional
            CPUs that it may use; those of the service by default.
        on : Host, optional
            Host of the program; that of the service by default.
        limit_s : float, optional
            Time limit. [s]
        """
        process = (on or self.host).process(spec, self.logs / f"{spec.name}.log", cpus or self.cpus)
        run_to_end(process, check=self.check, limit_s=limit_s)


class Service(Protocol):
    """One service of a system under test."""

    name: str
    kind: str
    host: Host
    hosts: list[Host]
    ready_within_s: float
    pages: list[str]

    def missing(self) -> str | None:
        """Return what this machine lacks for the service, with the command that installs it; None if complete."""

    def meet(self, others: list[Service]) -> None:
        """Find the other services of the system that it uses, before anything is started."""

    def requires(self) -> list[Service]:
        """Return the services that must be up before this one, including those that it brings with it."""

    def folders(self) -> list[Path]:
        """Return the folders of this machine that its processes read, besides those of every service; they exist."""

    def prepare(self, place: Place) -> None:
        """Create all files that must exist before the processes start, in the same state for every run."""

    def processes(self, place: Place) -> list[ProcessSpec]:
        """Return the processes of the service, in the order of their start; none if it runs already."""

    def starting(self, process: str) -> None:
        """Take note that one of its processes is about to start, or to start again."""

    def ready(self) -> str | None:
        """Return None if the service answers, else the reason why it does not."""

    def process_ready(self, process: str) -> str | None:
        """Return None if one process of the service answers, else the reason why it does not."""

    def stopping(self, *, for_good: bool) -> None:
        """Ask the service to end in its own way, before its processes are ended.

        Parameters
        ----------
        for_good : bool
            Whether its data are no longer needed.
        """

    def stopped(self) -> None:
        """Remove the files that must not remain after the processes have ended."""

    def addresses(self) -> list[str]:
        """Return its addresses as `host:port`, one per node; empty if virtual users do not use it."""

    def client_url(self) -> str | None:
        """Return the URL by which other services reach it, with its login; None if it has no address."""

    def watched(self) -> list[int]:
        """Return the processes of this machine that it consists of although Towtank did not start them."""

    def settings_used(self) -> dict[str, Any]:
        """Return the configuration in force, for the run's manifest."""

    def scrapers(self) -> list[Any]:
        """Return the scrapers of the service's own metrics (`towtank.observe`)."""

    def exports(self) -> Mapping[str, Path]:
        """Return files that workloads may name, by name (user list, document list, ...)."""


class PlainService:
    """Defaults of most services. Kinds override the differences."""

    kind = "plain"
    ready_within_s = 30.0

    def __init__(self, name: str) -> None:
        self.name = name
        # The builder of the system replaces it with the host of the system file.
        self.host: Host = LocalHost()
        # Hosts of its processes, if they are on several.
        self.hosts: list[Host] = []
        # Pages of metrics of the system file, in addition to the service's own metrics.
        self.pages: list[str] = []

    def missing(self) -> str | None:
        """Return None: nothing is missing."""
        return None

    def meet(self, others: list[Service]) -> None:
        """Do nothing: it needs no other service."""

    def requires(self) -> list[Service]:
        """Return nothing: it needs no other service."""
        return []

    def folders(self) -> list[Path]:
        """Return no folders."""
        return []

    def prepare(self, place: Place) -> None:
        """Do nothing: there is nothing to prepare."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return no process."""
        return []

    def starting(self, process: str) -> None:
        """Do nothing: its readiness does not depend on earlier starts."""

    def ready(self) -> str | None:
        """Return None: it is ready at once."""
        return None

    def process_ready(self, process: str) -> str | None:  # noqa: ARG002
        """Return the state of the whole service, as it has one process."""
        return self.ready()

    def stopping(self, *, for_good: bool) -> None:
        """Do nothing: TERM is sufficient."""

    def stopped(self) -> None:
        """Do nothing: nothing has to be removed."""

    def addresses(self) -> list[str]:
        """Return no addresses: users do not use it."""
        return []

    def client_url(self) -> str | None:
        """Return its first address, with the scheme `http` if it has none."""
        found = self.addresses()
        return None if not found else found[0] if "://" in found[0] else f"http://{found[0]}"

    def watched(self) -> list[int]:
        """Return nothing: it runs elsewhere, or Towtank starts it."""
        return []

    def settings_used(self) -> dict[str, Any]:
        """Return nothing: nothing is configured."""
        return {}

    def scrapers(self) -> list[Any]:
        """Return no scrapers: it has no metrics."""
        return []

    def exports(self) -> Mapping[str, Path]:
        """Return no files."""
        return {}


def scrapers_of(service: Service) -> list[Any]:
    """Return all scrapers of a service: of its own metrics, and of the pages that the system file adds."""
    from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

    pages = [
        PrometheusScraper(f"{service.name}-prometheus" + (f"-{number}" if number > 1 else ""), service.kind, page)
        for number, page in enumerate(service.pages, start=1)
    ]
    return [*service.scrapers(), *pages]
