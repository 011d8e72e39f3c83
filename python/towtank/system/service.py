"""What a service of a system under test is.

A service says what it needs, how it is prepared, which processes it has, when it is ready, and what can be
watched. It starts and ends nothing itself: that is the work of `System`, the same for all kinds.
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
    """Where a service lives while it is up.

    Attributes
    ----------
    data : Path
        Folder that is kept between runs and reused, for example a population.
    scratch : Path
        Folder of this time only; removed when the system goes down.
    logs : Path
        Folder for logs.
    cpus : list of int or None
        CPUs that the service may use; None for all.
    check : callable
        Called while waiting; raises when the user asks to stop.
    note : callable
        Tells the user what is being done.
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
            Where; on the host of the service by default.
        limit_s : float, optional
            How long it may take. [s]
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
        """What this machine lacks for the service, with the command that installs it; None when all is there."""

    def meet(self, others: list[Service]) -> None:
        """Get to know the other services of the system, before anything is started."""

    def requires(self) -> list[Service]:
        """Services that must be up before this one, those included that it brings with it."""

    def folders(self) -> list[Path]:
        """Folders of this machine that its processes read, besides those that every service has; they exist."""

    def prepare(self, place: Place) -> None:
        """Make everything that must be there before the processes start; equal at every run."""

    def processes(self, place: Place) -> list[ProcessSpec]:
        """Processes of the service, in the order of their start; none for one that already runs."""

    def ready(self) -> str | None:
        """None when the service answers, else what is not yet so."""

    def process_ready(self, process: str) -> str | None:
        """The same of one of its processes, by name, whatever becomes of the others."""

    def stopping(self, *, for_good: bool) -> None:
        """Ask the service to end in its own way, before its processes are ended.

        Parameters
        ----------
        for_good : bool
            Whether nobody wants what it holds any more, so that it need not be kept.
        """

    def stopped(self) -> None:
        """Remove what must not stay, after its processes have ended."""

    def addresses(self) -> list[str]:
        """Addresses as `host:port`, one per node; empty for a service that no virtual user talks to."""

    def settings_used(self) -> dict[str, Any]:
        """The configuration in force, for the run's manifest."""

    def scrapers(self) -> list[Any]:
        """Scrapers of what the service tells about itself (`towtank.observe`)."""

    def exports(self) -> Mapping[str, Path]:
        """Files that workloads may name, by name (user list, document list, ...)."""


class PlainService:
    """What most services have in common: nothing more than asked. Kinds override what differs."""

    kind = "plain"
    ready_within_s = 30.0

    def __init__(self, name: str) -> None:
        self.name = name
        # The builder of the system puts the host of the system file in its place.
        self.host: Host = LocalHost()
        # Those of its processes, where they are on several.
        self.hosts: list[Host] = []
        # Pages of metrics that the system file gives besides what the service tells by itself.
        self.pages: list[str] = []

    def missing(self) -> str | None:
        """Nothing is missing."""
        return None

    def meet(self, others: list[Service]) -> None:
        """It needs no other."""

    def requires(self) -> list[Service]:
        """It stands alone."""
        return []

    def folders(self) -> list[Path]:
        """None."""
        return []

    def prepare(self, place: Place) -> None:
        """There is nothing to prepare."""

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """No process of our own."""
        return []

    def ready(self) -> str | None:
        """Ready at once."""
        return None

    def process_ready(self, process: str) -> str | None:  # noqa: ARG002
        """Of a service that is one process, the same."""
        return self.ready()

    def stopping(self, *, for_good: bool) -> None:
        """TERM is enough."""

    def stopped(self) -> None:
        """Nothing stays."""

    def addresses(self) -> list[str]:
        """Nobody talks to it."""
        return []

    def settings_used(self) -> dict[str, Any]:
        """Nothing is configured."""
        return {}

    def scrapers(self) -> list[Any]:
        """It tells nothing about itself."""
        return []

    def exports(self) -> Mapping[str, Path]:
        """No files."""
        return {}


def scrapers_of(service: Service) -> list[Any]:
    """All that is scraped for a service: what it tells by itself, and the pages that the system file gives."""
    from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

    pages = [
        PrometheusScraper(f"{service.name}-prometheus" + (f"-{number}" if number > 1 else ""), service.kind, page)
        for number, page in enumerate(service.pages, start=1)
    ]
    return [*service.scrapers(), *pages]
