"""Models of third-party servers in a system file: gateways, Redis, OpenLDAP.

The description of each setting names its option in the server's own configuration; ranges are those of the server's
manual, narrowed if a wider value would only fail later.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from towtank.fields import Duration, FileModel, Name, PositiveDuration, Size, Word, one_or_more
from towtank.system.service_model import Port, Service, service_kind

Members = Annotated[list[Name], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


class Gateway(Service):
    """Base of gateways: members to forward to, or files."""

    host: Name = Field(description="Name of the host that it runs on.")
    port: Port = Field(0, description="Port that it listens on; 0 chooses a free port.")
    members: Members = Field(
        default_factory=list,
        max_length=64,
        description="Services that it forwards requests to; each of their addresses is a member of the balancer.",
    )

    @property
    def forwards_to(self) -> list[str]:
        """Its members."""
        return list(self.members)


class FileGateway(Gateway):
    """A gateway that can serve files in place of forwarding."""

    files: str | None = Field(
        None, min_length=1, description="Folder whose files are served, relative to the system file; without members."
    )

    @model_validator(mode="after")
    def _one_source(self) -> FileGateway:
        if bool(self.members) == (self.files is not None):
            raise ValueError(f"must have either members or files, got {'both' if self.members else 'none'}")
        return self


class HttpdSettings(FileModel):
    """Settings of Apache httpd, with its own defaults if it has them."""

    policy: Literal["round_robin", "random", "by_traffic", "least_busy"] = Field(
        "round_robin",
        description="Choice of the member: `byrequests`, a `RewriteMap` of type `rnd`, `bytraffic`, `bybusyness`.",
    )
    max_request_workers: int = Field(
        400, ge=1, le=20000, description="`MaxRequestWorkers`: concurrent requests; a multiple of `threads_per_child`."
    )
    threads_per_child: int = Field(25, ge=1, le=2000, description="`ThreadsPerChild` of the event MPM.")
    start_servers: int = Field(2, ge=1, le=1000, description="`StartServers`: processes at the start.")
    keep_alive: bool = Field(True, description="`KeepAlive`: whether clients' connections are kept.")
    keep_alive_timeout: PositiveDuration = Field(5.0, description="`KeepAliveTimeout`.")
    keep_alive_requests: int = Field(
        100, ge=0, le=10**9, description="`MaxKeepAliveRequests` of one connection; 0 for any number."
    )
    timeout: PositiveDuration = Field(60.0, description="`Timeout` of reading and writing; whole seconds.")
    member_connections: int | None = Field(
        None,
        ge=1,
        le=20000,
        description="`max=` of a member: connections to it of each process; all threads' by default.",
    )

    @model_validator(mode="after")
    def _whole(self) -> HttpdSettings:
        workers, threads = self.max_request_workers, self.threads_per_child
        if workers % threads:
            raise ValueError(
                f"must have max_request_workers that are a multiple of threads_per_child ({threads}), got {workers} "
                "instead: httpd would use fewer"
            )
        if self.start_servers > workers // threads:
            raise ValueError(
                f"must have start_servers of at most max_request_workers / threads_per_child "
                f"({workers // threads}), got {self.start_servers} instead"
            )
        if self.timeout != int(self.timeout):
            raise ValueError(f"must have a timeout in whole seconds, got {self.timeout:g} s instead")
        return self


@service_kind("httpd")
class Httpd(FileGateway):
    """Apache httpd with the event MPM: gateway and balancer, or server of files."""

    summary: ClassVar[str] = "Apache httpd as gateway and balancer or for files; needs apt-get install apache2-bin"

    kind: Literal["httpd"]
    settings: HttpdSettings = Field(default_factory=HttpdSettings, description="Settings.")


class NginxSettings(FileModel):
    """Settings of nginx, with its own defaults if it has them."""

    policy: Literal["round_robin", "random", "least_busy", "by_client"] = Field(
        "round_robin", description="Choice of the member for a request: by turn, `random`, `least_conn`, `ip_hash`."
    )
    workers: int = Field(1, ge=1, le=512, description="`worker_processes`.")
    worker_connections: int = Field(
        512, ge=16, le=200000, description="`worker_connections` of each worker: of clients and to members."
    )
    keep_alive: bool = Field(True, description="Whether clients' connections are kept.")
    keep_alive_timeout: PositiveDuration = Field(75.0, description="`keepalive_timeout`.")
    keep_alive_requests: int = Field(1000, ge=1, le=10**9, description="`keepalive_requests` of one connection.")
    member_connections_kept: int = Field(
        32, ge=0, le=10000, description="`keepalive` of the upstream: idle connections to members kept by each worker."
    )
    sendfile: bool = Field(True, description="`sendfile`: whether files go from page cache to socket in the kernel.")
    timeout: PositiveDuration = Field(60.0, description="`proxy_read_timeout` and similar timeouts.")


@service_kind("nginx")
class Nginx(FileGateway):
    """Nginx: gateway and balancer, or server of files."""

    summary: ClassVar[str] = "nginx as gateway and balancer or for files; needs apt-get install nginx-light"

    kind: Literal["nginx"]
    settings: NginxSettings = Field(default_factory=NginxSettings, description="Settings.")


class HaproxySettings(FileModel):
    """Settings of HAProxy."""

    policy: Literal["round_robin", "random", "least_busy", "by_client"] = Field(
        "round_robin", description="`balance`: `roundrobin`, `random(1)`, `leastconn`, `source`."
    )
    sticky: bool = Field(
        False,
        description="Whether a client stays with the member of its first request, by a cookie: `cookie ... insert`.",
    )
    threads: int = Field(1, ge=1, le=64, description="`nbthread`.")
    max_connections: int = Field(2000, ge=1, le=1000000, description="`maxconn`: concurrent connections of clients.")
    member_connections: int | None = Field(
        None,
        ge=1,
        le=1000000,
        description="`maxconn` of each member: concurrent requests, others wait; no limit by default.",
    )
    keep_alive: bool = Field(True, description="Whether clients' connections are kept; else `option httpclose`.")
    keep_alive_timeout: PositiveDuration = Field(10.0, description="`timeout http-keep-alive`.")
    health_check: PositiveDuration | None = Field(
        None,
        description=(
            "`check inter`: interval of checks of each member; after two failures it gets no requests until it answers "
            "again, and failed connections go to another one (`option redispatch`). Without it, all get their share."
        ),
    )
    queue_timeout: PositiveDuration = Field(
        5.0, description="`timeout queue`: longest time that a request waits for a member."
    )
    timeout: PositiveDuration = Field(60.0, description="`timeout client` and `timeout server`.")


@service_kind("haproxy")
class Haproxy(Gateway):
    """HAProxy: balancer."""

    summary: ClassVar[str] = "HAProxy as balancer; needs apt-get install haproxy"

    kind: Literal["haproxy"]
    members: Members = Field(
        min_length=1,
        max_length=64,
        description="Services that it forwards requests to; each of their addresses is a member of the balancer.",
    )
    settings: HaproxySettings = Field(default_factory=HaproxySettings, description="Settings.")


class RedisSettings(FileModel):
    """Settings of Redis."""

    max_memory: Size = Field(0, description="`maxmemory`; `0 B` for no limit.")
    eviction: Literal[
        "noeviction",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] = Field("noeviction", description="`maxmemory-policy`.")
    threads: int = Field(1, ge=1, le=128, description="`io-threads`.")
    max_clients: int = Field(10000, ge=1, le=1000000, description="`maxclients`.")
    append_only: bool = Field(False, description="`appendonly`: whether every write goes to a log on the disk.")
    append_sync: Literal["always", "everysec", "no"] = Field("everysec", description="`appendfsync`.")
    databases: int = Field(16, ge=1, le=10000, description="`databases`.")


@service_kind("redis")
class Redis(Service):
    """A private Redis, empty at the start of every run."""

    summary: ClassVar[str] = "private Redis, empty for every run; needs apt-get install redis-server"
    serves_http: ClassVar[bool] = False

    kind: Literal["redis"]
    host: Name = Field(description="Name of the host that it runs on.")
    port: Port = Field(0, description="Port that it listens on; 0 chooses a free port.")
    password: Word | None = Field(None, description="`requirepass`; by default one is generated for each run.")
    settings: RedisSettings = Field(default_factory=RedisSettings, description="Settings.")


class OpenldapSettings(FileModel):
    """Settings of slapd."""

    threads: int = Field(16, ge=2, le=1024, description="`threads` of the pool for operations.")
    max_size: Size = Field(2**30, ge=2**20, description="`maxsize` of the mdb database.")
    sync: bool = Field(True, description="Whether writes are forced to the disk before the answer; else `dbnosync`.")
    indexes: list[Literal["uid", "cn", "sn", "mail", "employeeNumber"]] = Field(
        ["uid"], description="Attributes with an index for equality."
    )
    size_limit: int = Field(500, ge=1, le=10**9, description="`sizelimit`: greatest number of entries of one search.")
    idle_timeout: Duration = Field(0.0, description="`idletimeout`; whole seconds, `0 s` for never.")

    @model_validator(mode="after")
    def _whole(self) -> OpenldapSettings:
        if self.idle_timeout != int(self.idle_timeout):
            raise ValueError(f"must have an idle_timeout in whole seconds, got {self.idle_timeout:g} s instead")
        return self


class DirectoryPopulation(FileModel):
    """Contents of the directory before the first run."""

    users: int = Field(1000, ge=1, le=1000000, description="Users below `ou=people,dc=example,dc=org`.")
    seed: int = Field(1, ge=0, description="The same seed makes the same users and passwords.")


@service_kind("openldap")
class Openldap(Service):
    """OpenLDAP's slapd with users from a seed."""

    summary: ClassVar[str] = "OpenLDAP with users from a seed; needs apt-get install slapd ldap-utils"
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "ldap"

    kind: Literal["openldap"]
    host: Name = Field(description="Name of the host that it runs on.")
    port: Port = Field(0, description="Port that it listens on; 0 chooses a free port.")
    password: Word | None = Field(
        None, description="Password of `cn=admin,dc=example,dc=org`; by default one is generated for each run."
    )
    settings: OpenldapSettings = Field(default_factory=OpenldapSettings, description="Settings.")
    population: DirectoryPopulation = Field(default_factory=DirectoryPopulation, description="Population.")
