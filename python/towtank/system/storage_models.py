"""Models of network file systems, with their servers and their mounts on hosts.

A mount is a service with one process on each of its hosts. It starts after its servers. Its hosts must be of provider
`namespaces`, so that only the host sees the mount, which disappears with the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from towtank import yamlfile
from towtank.errors import Fault
from towtank.fields import Duration, FileModel, Name, PositiveDuration, Size, one_or_more
from towtank.spelling import misnamed
from towtank.system.host_model import NamespacesHost
from towtank.system.service_model import Port, Service, node_names, service_kind

_MIB = 2**20
Servers = Annotated[list[Name], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


class StorageServer(Service):
    """Base class of servers that store the files of a network file system."""

    serves_http: ClassVar[bool] = False


class Mount(Service):
    """Base class of network file systems that are mounted on hosts."""

    serves_http: ClassVar[bool] = False
    needs_namespaces: ClassVar[bool] = True
    host: Name = Field(description="Name of the host that mounts the file system.")
    hosts: list[Name] = Field(
        default_factory=list,
        max_length=64,
        description="Names of all hosts that mount the file system, including `host`; default: only `host`.",
    )
    servers: Servers = Field(
        min_length=1, max_length=64, description="Names of the services that store the files, in their order."
    )

    @property
    def hosts_used(self) -> list[str]:
        """Names of the hosts that mount the file system."""
        return self.hosts or [self.host]

    def processes(self, name: str) -> list[str]:
        """Return the name of the process on each host; the first one is the name of the service."""
        return node_names(name, len(self.hosts_used))

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError("must name each of its hosts once")
        if self.hosts and self.host not in self.hosts:
            raise ValueError(f"must have its host among its hosts ({', '.join(self.hosts)}), got {self.host!r} instead")
        return self


class GlusterfsServerSettings(FileModel):
    """Settings of a GlusterFS server, with the defaults of GlusterFS where it has defaults."""

    threads: int = Field(16, ge=1, le=64, description="Number of concurrent calls (`thread-count` of `io-threads`).")
    inode_limit: int = Field(
        16384,
        ge=1,
        le=1048576,
        description="Number of unused files whose inodes the server keeps in memory (`inode-lru-limit`).",
    )
    cache: Size = Field(
        0,
        le=32 * 2**30,
        description=(
            "Memory for cached contents in the server (`cache-size` of `io-cache`): at least 4 MiB, or `0 "
            "B` for no cache."
        ),
    )
    direct: bool = Field(
        False, description="Whether aligned reads and writes bypass the page cache of the server's host (`o-direct`)."
    )

    @model_validator(mode="after")
    def _possible(self) -> GlusterfsServerSettings:
        _refuse_small_cache(self.cache)
        return self


@service_kind("glusterfs_server")
class GlusterfsServer(StorageServer):
    """GlusterFS server, without the management daemon `glusterd`."""

    summary: ClassVar[str] = (
        "server of a GlusterFS file system, empty for every run; needs apt-get install glusterfs-server"
    )

    kind: Literal["glusterfs_server"]
    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the files; default: the host's file system."
    )
    settings: GlusterfsServerSettings = Field(
        default_factory=GlusterfsServerSettings, description="Settings of the GlusterFS server."
    )


class GlusterfsMountSettings(FileModel):
    """Settings of a GlusterFS mount, with the defaults of GlusterFS where it has defaults."""

    cache: Size = Field(
        32 * _MIB,
        le=32 * 2**30,
        description=(
            "Memory for cached contents in the mount (`cache-size` of `io-cache`): at least 4 MiB, or `0 "
            "B` for no cache."
        ),
    )
    cache_timeout: Duration = Field(
        1.0,
        le=60,
        description="Time that cached contents are used without asking the server (`cache-timeout`); whole seconds.",
    )
    cached_files: int = Field(
        65536,
        ge=16,
        le=16777216,
        description="Number of unused files whose attributes and contents stay cached (`lru-limit`).",
    )
    attributes_timeout: Duration = Field(
        1.0,
        le=600,
        description=(
            "Time that cached attributes are used without asking the server (`md-cache-timeout` and kernel timeouts)."
        ),
    )
    direct: bool = Field(
        False,
        description=(
            "Whether the page cache of the host is bypassed (`direct-io-mode`); with `false`, the page "
            "cache hides the effect of `cache`."
        ),
    )
    write_behind: Size = Field(
        _MIB,
        le=2**30,
        description="Memory for delayed writes (`cache-size` of `write-behind`): at least 512 KiB, or `0 B` for none.",
    )
    copies: Literal[1, 2] = Field(
        1,
        description=(
            "Number of copies of each file; 2 needs at least two servers. If only one copy's disk is "
            "full, GlusterFS returns EIO instead of ENOSPC."
        ),
    )
    reads: Literal["rotated", "same"] = Field(
        "rotated",
        description=(
            "Server to read from if a file has two copies: `rotated` distributes the files over the "
            "servers, `same` uses the first server that has a copy."
        ),
    )
    ping_timeout: PositiveDuration = Field(
        42.0,
        ge=1,
        le=1013,
        description="Time without a response after which a server counts as lost (`ping-timeout`); whole seconds.",
    )

    @model_validator(mode="after")
    def _possible(self) -> GlusterfsMountSettings:
        for name in ("cache_timeout", "attributes_timeout", "ping_timeout"):
            value = getattr(self, name)
            if value != int(value):
                raise ValueError(f"must have a {name} in whole seconds, got {value:g} s instead")
        if 0 < self.write_behind < _MIB // 2:
            raise ValueError(f"must have a write_behind of 0 B or at least 512 KiB, got {self.write_behind} B instead")
        _refuse_small_cache(self.cache)
        return self


def _refuse_small_cache(cache: int) -> None:
    """Refuse a cache size below the minimum of `io-cache`, except 0, which means no cache."""
    if 0 < cache < 4 * _MIB:
        raise ValueError(f"must have a cache of 0 B or at least 4 MiB, got {cache} B instead")


@service_kind("glusterfs_mount")
class GlusterfsMount(Mount):
    """GlusterFS file system that is mounted on one or several hosts."""

    summary: ClassVar[str] = (
        "GlusterFS file system mounted on hosts of provider namespaces; needs apt-get install glusterfs-client"
    )

    kind: Literal["glusterfs_mount"]
    settings: GlusterfsMountSettings = Field(
        default_factory=GlusterfsMountSettings, description="Settings of the GlusterFS mount."
    )

    @model_validator(mode="after")
    def _enough(self) -> GlusterfsMount:
        if len(self.servers) < self.settings.copies:
            raise ValueError(f"must have at least two servers for two copies, got {len(self.servers)} instead")
        return self


SERVER_KINDS = {"glusterfs_mount": "glusterfs_server"}
"""Kind of server for each kind of mount."""


def storage_faults(
    tree: yamlfile.Node, services: Mapping[str, Service], hosts: Mapping[str, Any], known: list[str]
) -> list[Fault]:
    """Report servers of mounts that do not exist or are of another kind, and storages that a host of a service lacks.
    `known` are the names of all services in the file, including those with faults.
    """
    faults = []
    for name, service in services.items():
        if isinstance(service, Mount):
            for number, server in enumerate(service.servers):
                if message := _wrong_server(services, known, service, server, service.servers[:number]):
                    faults.append(yamlfile.fault_at(tree, ("services", name, "servers", number), message))
        if message := _wrong_storage(services, hosts, known, service):
            faults.append(yamlfile.fault_at(tree, ("services", name, "storage"), message))
    return faults


def _wrong_server(
    services: Mapping[str, Service], known: list[str], mount: Mount, server: str, before: list[str]
) -> str | None:
    wanted = SERVER_KINDS[mount.kind]
    if server not in known:
        return misnamed(f"a service of this file ({', '.join(known)})", server, known)
    if server in before:
        return f"must name each server once, got {server!r} again"
    found = services.get(server)
    if found is not None and found.kind != wanted:
        return f"must be a {wanted}, got {server!r} of kind {found.kind} instead"
    return None


def _wrong_storage(
    services: Mapping[str, Service], hosts: Mapping[str, Any], known: list[str], service: Service
) -> str | None:
    storage = getattr(service, "storage", None)
    places = [name for name in dict.fromkeys(service.hosts_used) if name in hosts]
    # A storage with faults is not checked, because its hosts may be wrong.
    if storage is None or not places or (storage in known and storage not in services):
        return None
    there = _seen_by_all(services, hosts, places)
    if storage in there:
        return None
    found = services.get(storage)
    if len(places) == 1:
        allowed = f"a disk or a mount of host {places[0]}" + (f" ({', '.join(there)})" if there else ", which has none")
    else:
        allowed = f"a mount on all hosts of its nodes, {', '.join(places)}"
        allowed += f" ({', '.join(there)})" if there else ", of which none exists"
    if len(places) > 1 and isinstance(found, Mount):
        away = ", ".join(place for place in places if place not in found.hosts_used)
        return f"must be {allowed}, got {storage!r} instead, which is not on {away}"
    return misnamed(allowed, storage, there)


def _seen_by_all(services: Mapping[str, Service], hosts: Mapping[str, Any], places: list[str]) -> list[str]:
    """Return the disks and mounts to which all given hosts have access. A disk is only accessible to its own host."""
    mounts = [
        name
        for name, service in services.items()
        if isinstance(service, Mount) and set(places) <= set(service.hosts_used)
    ]
    host = hosts[places[0]]
    disks = list(host.disks) if len(places) == 1 and isinstance(host, NamespacesHost) else []
    return [*disks, *mounts]
