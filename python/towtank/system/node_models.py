"""Models of servers with several nodes: their hosts, and the parts that all nodes share."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import Name
from towtank.system.service_model import Service, node_names


class NodesService(Service):
    """Base of servers with several nodes: one database and one place for contents."""

    host: Name = Field(description="Name of the host that it runs on.")
    hosts: list[Name] = Field(
        default_factory=list,
        max_length=64,
        description="Hosts of its nodes in turn: the first node on the first, and so on; all on `host` by default.",
    )
    storage: Name | None = Field(
        None,
        description="Disk or mount that its contents are on, apart from the rest of its data; with nodes on several "
        "hosts a mount that all of them have.",
    )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return 1

    def processes(self, name: str) -> list[str]:
        """Return one name for each node; the first is the name of the service."""
        return node_names(name, self.nodes)

    @property
    def hosts_used(self) -> list[str]:
        """Hosts of the nodes."""
        return self.hosts[: self.nodes] or [self.host]
