"""Defines the base model of servers that consist of several nodes."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import Name
from towtank.system.service_model import Service, node_names


class NodesService(Service):
    """Server with several nodes, which share one database and one storage for the contents of documents."""

    host: Name = Field(description="Name of the host that runs the nodes, unless `hosts` is set.")
    hosts: list[Name] = Field(
        default_factory=list,
        max_length=64,
        description="Names of the hosts of the nodes, in order of the nodes; default: all nodes run on `host`.",
    )
    storage: Name | None = Field(
        None,
        description=(
            "Name of the disk or mount that stores the contents, apart from the other data. Nodes on "
            "several hosts need a mount that all these hosts have."
        ),
    )

    @property
    def nodes(self) -> int:
        return 1

    def processes(self, name: str) -> list[str]:
        """Return the name of the process of each node; the first one is the name of the service."""
        return node_names(name, self.nodes)

    @property
    def hosts_used(self) -> list[str]:
        return self.hosts[: self.nodes] or [self.host]
