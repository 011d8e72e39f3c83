"""Servers in several nodes, in a system file: the hosts they are on, and what all of them share. Pure data."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import Name
from towtank.system.service_model import Service, node_names


class NodesService(Service):
    """What servers in several nodes have in common: one database and one place for contents."""

    host: Name = Field(description="Name of the host it runs on.")
    hosts: list[Name] = Field(
        default_factory=list,
        max_length=64,
        description="Hosts of its nodes in turn: the first node on the first, and so on; all on `host` by default.",
    )
    storage: Name | None = Field(
        None,
        description="Disk or mount that its contents lie on, apart from the rest of its data; with nodes on several "
        "hosts a mount that all of them have.",
    )

    @property
    def nodes(self) -> int:
        """How many there are."""
        return 1

    def processes(self, name: str) -> list[str]:
        """One for each node; the first has the name of the service."""
        return node_names(name, self.nodes)

    @property
    def hosts_used(self) -> list[str]:
        """Those that a node is on."""
        return self.hosts[: self.nodes] or [self.host]
