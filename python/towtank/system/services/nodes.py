"""Defines the base class of servers that consist of several nodes, with a common database and storage of contents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from towtank.system import model
from towtank.system.hosts.host import Host
from towtank.system.node_models import NodesService as Part
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, Service
from towtank.system.services.mount import MountService
from towtank.system.services.postgresql import Postgresql

_READ_ALL = 'find "$1" -type f -exec cat {} + >/dev/null'


class NodesService(Service):
    """Server that consists of several nodes, each of which is one process. The nodes use consecutive ports from `port`
    on; if it is 0, free ports are chosen.
    """

    def __init__(self, name: str, part: Part, base: Path, port: int) -> None:
        super().__init__(name)
        self.nodes = part.processes(name)
        self._asked, self._base = part, base
        self._port = port
        self._ports: list[int] = []
        self._mount: MountService | None = None

    def meet(self, others: list[Service]) -> None:
        """Find the mount that stores the contents of documents, if the system file names one."""
        mounts = [other for other in others if isinstance(other, MountService) and other.name == self._asked.storage]
        self._mount = mounts[0] if mounts else None

    def database_among(self, others: list[Service]) -> Postgresql:
        """Return the PostgreSQL service of the system, or a new one if the system has none."""
        found = [other for other in others if isinstance(other, Postgresql)]
        return found[0] if found else self._own_database()

    def _own_database(self) -> Postgresql:
        part = model.Postgresql(kind="postgresql", host=self._asked.host)
        database = Postgresql("database", part, self._base)
        database.host = self.host
        database.ready_within_s = self.ready_within_s
        return database

    def host_of(self, number: int) -> Host:
        """Return the host of a node; `number` counts from 1."""
        return self.hosts[(number - 1) % len(self.hosts)] if self.hosts else self.host

    def storage_on(self, host: Host) -> Path | None:
        """Return the path, on a host, of the disk or mount for the contents; None if the system file names none."""
        if self._mount is not None:
            return self._mount.point_on(host)
        return None if self._asked.storage is None else host.disk(self._asked.storage)

    def warm_others(self, place: Place, contents_on: Callable[[Host], Path | None]) -> None:
        """Read all contents on every host except the first, so that they are in the page cache of every host.

        On the first host, they are cached because they were written there.
        """
        first = self.host_of(1)
        others = {host.name: host for host in self.hosts if host.name != first.name}
        for name, host in others.items():
            command = ["sh", "-c", _READ_ALL, "sh", str(contents_on(host))]
            place.run(ProcessSpec(f"{self.name}-contents-{name}", command), on=host)

    def choose_ports(self) -> None:
        """Choose free ports, or check that the ports in the system file are free."""
        numbers = range(1, len(self.nodes) + 1)
        if not self._port:
            self._ports = [self.host_of(number).free_ports() for number in numbers]
            return
        self._ports = [self._port + number - 1 for number in numbers]
        for number, port in zip(numbers, self._ports, strict=True):
            self.host_of(number).require_free(port, self.name)

    def addresses(self) -> list[str]:
        """Return the address `host:port` of each node."""
        return [f"{self.host_of(number).address}:{port}" for number, port in enumerate(self._ports, start=1)]

    def refuses(self, address: str) -> str | None:  # noqa: ARG002
        """Return None if the node with an address responds; otherwise the reason."""
        return None

    def ready(self) -> str | None:
        """Return None if every node responds; otherwise the reasons of the nodes that do not."""
        refusals = [refusal for address in self.addresses() if (refusal := self.refuses(address)) is not None]
        return "; ".join(refusals) or None

    def process_ready(self, process: str) -> str | None:
        """Return None if the node that a process runs responds; otherwise the reason."""
        return self.refuses(self.addresses()[self.nodes.index(process)])
