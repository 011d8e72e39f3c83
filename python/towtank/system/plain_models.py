"""Models of the services `folder` and `tcp_peer`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from towtank.fields import FileModel, Name, Size
from towtank.system.service_model import Port, Service, service_kind


class FolderSettings(FileModel):
    """Settings of the load generator's access to files in a folder."""

    direct: bool = Field(False, description="Whether reads and writes bypass the page cache (`O_DIRECT`).")


@service_kind("folder")
class Folder(Service):
    """Folder on a disk of a host, empty at the start of each run. The load generator itself reads and writes files in
    it.
    """

    summary: ClassVar[str] = (
        "folder on a disk of a host, for steps on files; the load generator itself accesses the files"
    )
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "file"
    is_process: ClassVar[bool] = False

    kind: Literal["folder"]
    host: Name = Field(description="Name of the host that has the folder; a host on this machine.")
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the folder; default: the host's file system."
    )
    settings: FolderSettings = Field(default_factory=FolderSettings, description="Settings of the folder.")


class TcpPeerSettings(FileModel):
    """Settings of a TCP peer."""

    take: Size = Field(1, ge=1, description="Number of bytes that the peer reads in each exchange.")
    give: Size = Field(0, description="Number of bytes that the peer sends in each exchange.")
    unix: bool = Field(
        False,
        description="Whether the peer listens on a Unix socket instead of a port; its host must be on this machine.",
    )
    port: Port = Field(0, description="Port that the peer listens on; 0 chooses a free port.")


@service_kind("tcp_peer")
class TcpPeer(Service):
    """Server for workload steps of kind `tcp`, which receives and sends bytes."""

    summary: ClassVar[str] = "receives and sends bytes over TCP or a Unix socket, for steps of TCP; comes with Towtank"
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "tcp"
    starts_remotely: ClassVar[bool] = True

    kind: Literal["tcp_peer"]
    host: Name = Field(description="Name of the host that runs the peer.")
    settings: TcpPeerSettings = Field(default_factory=TcpPeerSettings, description="Settings of the peer.")
