"""Models of Apache httpd, nginx, HAProxy, Redis and OpenLDAP, and of their settings.

The description of each setting names the option in the server's own configuration. Ranges are those in the server's
manual, without values that the server accepts at its start but refuses later.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from towtank.fields import Duration, FileModel, Name, PositiveDuration, Size, Word, one_or_more
from towtank.system.releases import release_name
from towtank.system.service_model import Port, Service, service_kind

Members = Annotated[list[Name], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


class Released(Service):
    """Base class of servers for which a system file can select a program or a version."""

    program: str | None = Field(
        None,
        min_length=1,
        description=(
            "Path of the server's program relative to the system file, or its name in `PATH`; default: the installed "
            "program."
        ),
    )
    package: Annotated[str, AfterValidator(release_name)] | None = Field(
        None,
        description=(
            "Debian package of the server's program as `NAME=VERSION`, which `towtank doctor --install` unpacks beside "
            "the installed one; excludes `program`."
        ),
    )

    @model_validator(mode="after")
    def _one_release(self) -> Released:
        if self.program is not None and self.package is not None:
            raise ValueError("must have program or package, got both")
        return self


class Gateway(Released):
    """Base class of gateways, which forward requests to other services (members)."""

    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    members: Members = Field(
        default_factory=list,
        max_length=64,
        description=(
            "Names of the services to forward requests to; each of their addresses is a member of the load balancer."
        ),
    )

    @property
    def forwards_to(self) -> list[str]:
        return list(self.members)


class FileGateway(Gateway):
    """Base class of gateways that can serve files instead of forwarding requests."""

    files: str | None = Field(
        None,
        min_length=1,
        description="Folder whose files the server delivers, relative to the system file; excludes `members`.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> FileGateway:
        if bool(self.members) == (self.files is not None):
            raise ValueError(f"must have either members or files, got {'both' if self.members else 'none'}")
        return self


class HttpdSettings(FileModel):
    """Settings of Apache httpd, with the defaults of Apache httpd where it has defaults."""

    policy: Literal["round_robin", "random", "by_traffic", "least_busy"] = Field(
        "round_robin",
        description=(
            "Policy of the balancer; the values are httpd's `byrequests`, a `RewriteMap` of type `rnd`, "
            "`bytraffic` and `bybusyness`."
        ),
    )
    max_request_workers: int = Field(
        400,
        ge=1,
        le=20000,
        description="Largest number of concurrent requests (`MaxRequestWorkers`); a multiple of `threads_per_child`.",
    )
    threads_per_child: int = Field(
        25, ge=1, le=2000, description="Number of threads per process of the event MPM (`ThreadsPerChild`)."
    )
    start_servers: int = Field(2, ge=1, le=1000, description="Number of processes at the start (`StartServers`).")
    keep_alive: bool = Field(
        True, description="Whether connections of clients stay open after a response (`KeepAlive`)."
    )
    keep_alive_timeout: PositiveDuration = Field(
        5.0, description="Time that an idle connection of a client stays open (`KeepAliveTimeout`)."
    )
    keep_alive_requests: int = Field(
        100,
        ge=0,
        le=10**9,
        description="Largest number of requests per connection (`MaxKeepAliveRequests`); 0 means no limit.",
    )
    timeout: PositiveDuration = Field(60.0, description="Time limit of each read and write (`Timeout`); whole seconds.")
    member_connections: int | None = Field(
        None,
        ge=1,
        le=20000,
        description="Largest number of connections of each process to a member (`max=`); default: one per thread.",
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
    """Apache httpd with the event MPM, as a load balancer or a file server."""

    summary: ClassVar[str] = "Apache httpd as gateway and balancer or for files; needs apt-get install apache2-bin"

    kind: Literal["httpd"]
    settings: HttpdSettings = Field(default_factory=HttpdSettings, description="Settings of Apache httpd.")


class NginxSettings(FileModel):
    """Settings of nginx, with the defaults of nginx where it has defaults."""

    policy: Literal["round_robin", "random", "least_busy", "by_client"] = Field(
        "round_robin",
        description="Policy of the balancer; the values are nginx's round robin, `random`, `least_conn` and `ip_hash`.",
    )
    workers: int = Field(1, ge=1, le=512, description="Number of worker processes (`worker_processes`).")
    worker_connections: int = Field(
        512,
        ge=16,
        le=200000,
        description=(
            "Largest number of connections per worker, to clients and to members together (`worker_connections`)."
        ),
    )
    keep_alive: bool = Field(True, description="Whether connections of clients stay open after a response.")
    keep_alive_timeout: PositiveDuration = Field(
        75.0, description="Time that an idle connection of a client stays open (`keepalive_timeout`)."
    )
    keep_alive_requests: int = Field(
        1000, ge=1, le=10**9, description="Largest number of requests per connection (`keepalive_requests`)."
    )
    member_connections_kept: int = Field(
        32,
        ge=0,
        le=10000,
        description="Number of idle connections to members that each worker keeps (`keepalive` of the upstream).",
    )
    sendfile: bool = Field(True, description="Whether the kernel copies files from page cache to socket (`sendfile`).")
    timeout: PositiveDuration = Field(
        60.0, description="Time limit of waiting for a member (`proxy_read_timeout` and similar settings)."
    )


@service_kind("nginx")
class Nginx(FileGateway):
    """Nginx, as a load balancer or a file server."""

    summary: ClassVar[str] = "nginx as gateway and balancer or for files; needs apt-get install nginx-light"

    kind: Literal["nginx"]
    settings: NginxSettings = Field(default_factory=NginxSettings, description="Settings of nginx.")


class HaproxySettings(FileModel):
    """Balancing, limits of connections and time limits of HAProxy."""

    policy: Literal["round_robin", "random", "least_busy", "by_client"] = Field(
        "round_robin",
        description=(
            "Policy of the balancer; the values are HAProxy's `roundrobin`, `random(1)`, `leastconn` and "
            "`source` (`balance`)."
        ),
    )
    sticky: bool = Field(
        False,
        description="Whether a cookie keeps each client at the member of its first request (`cookie ... insert`).",
    )
    threads: int = Field(1, ge=1, le=64, description="Number of threads (`nbthread`).")
    max_connections: int = Field(
        2000, ge=1, le=1000000, description="Largest number of concurrent connections of clients (`maxconn`)."
    )
    member_connections: int | None = Field(
        None,
        ge=1,
        le=1000000,
        description=(
            "Largest number of concurrent requests per member (`maxconn` of the server); further requests "
            "wait. Default: no limit."
        ),
    )
    keep_alive: bool = Field(
        True,
        description="Whether connections of clients stay open after a response; `false` sets `option httpclose`.",
    )
    keep_alive_timeout: PositiveDuration = Field(
        10.0, description="Time that an idle connection of a client stays open (`timeout http-keep-alive`)."
    )
    health_check: PositiveDuration | None = Field(
        None,
        description=(
            "Interval of health checks of each member (`check inter`). After two failed checks a member "
            "gets no requests until a check succeeds, and failed connections go to another member "
            "(`option redispatch`). Default: no checks."
        ),
    )
    queue_timeout: PositiveDuration = Field(
        5.0, description="Longest time that a request waits for a member (`timeout queue`)."
    )
    timeout: PositiveDuration = Field(
        60.0, description="Time limit of inactive connections (`timeout client` and `timeout server`)."
    )


@service_kind("haproxy")
class Haproxy(Gateway):
    """HAProxy, as a load balancer."""

    summary: ClassVar[str] = "HAProxy as balancer; needs apt-get install haproxy"

    kind: Literal["haproxy"]
    members: Members = Field(
        min_length=1,
        max_length=64,
        description=(
            "Names of the services to forward requests to; each of their addresses is a member of the load balancer."
        ),
    )
    settings: HaproxySettings = Field(default_factory=HaproxySettings, description="Settings of HAProxy.")


class RedisSettings(FileModel):
    """Limit of memory, threads and persistence of Redis."""

    max_memory: Size = Field(0, description="Memory limit for data (`maxmemory`); `0 B` means no limit.")
    eviction: Literal[
        "noeviction",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] = Field(
        "noeviction", description="Policy that chooses the keys to evict if the memory is full (`maxmemory-policy`)."
    )
    threads: int = Field(1, ge=1, le=128, description="Number of threads for network input and output (`io-threads`).")
    max_clients: int = Field(
        10000, ge=1, le=1000000, description="Largest number of concurrent clients (`maxclients`)."
    )
    append_only: bool = Field(
        False, description="Whether the server writes each change to a log on the disk (`appendonly`)."
    )
    append_sync: Literal["always", "everysec", "no"] = Field(
        "everysec",
        description=(
            "Time of flushing the log to the disk: at each change, every second, or as the operating "
            "system decides (`appendfsync`)."
        ),
    )
    databases: int = Field(16, ge=1, le=10000, description="Number of logical databases (`databases`).")


@service_kind("redis")
class Redis(Released):
    """Redis server that Towtank starts, empty at the start of each run."""

    summary: ClassVar[str] = "private Redis, empty for every run; needs apt-get install redis-server"
    serves_http: ClassVar[bool] = False

    kind: Literal["redis"]
    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    password: Word | None = Field(
        None, description="Password of the server (`requirepass`); default: generated for each run."
    )
    settings: RedisSettings = Field(default_factory=RedisSettings, description="Settings of Redis.")


class OpenldapSettings(FileModel):
    """Settings of slapd, the server of OpenLDAP."""

    threads: int = Field(16, ge=2, le=1024, description="Number of threads for operations (`threads`).")
    max_size: Size = Field(2**30, ge=2**20, description="Largest size of the mdb database (`maxsize`).")
    sync: bool = Field(
        True, description="Whether the server flushes writes to the disk before it responds; `false` sets `dbnosync`."
    )
    indexes: list[Literal["uid", "cn", "sn", "mail", "employeeNumber"]] = Field(
        ["uid"], description="Attributes that have an equality index."
    )
    size_limit: int = Field(
        500, ge=1, le=10**9, description="Largest number of entries that a search returns (`sizelimit`)."
    )
    idle_timeout: Duration = Field(
        0.0,
        description="Time after which idle connections are closed (`idletimeout`); whole seconds, `0 s` means never.",
    )

    @model_validator(mode="after")
    def _whole(self) -> OpenldapSettings:
        if self.idle_timeout != int(self.idle_timeout):
            raise ValueError(f"must have an idle_timeout in whole seconds, got {self.idle_timeout:g} s instead")
        return self


class DirectoryPopulation(FileModel):
    """Users in the directory before the first run."""

    users: int = Field(
        1000, ge=1, le=1000000, description="Number of user entries below `ou=people,dc=example,dc=org`."
    )
    seed: int = Field(
        1, ge=0, description="Seed of the random generator; the same seed gives the same users and passwords."
    )


@service_kind("openldap")
class Openldap(Service):
    """LDAP server `slapd` of OpenLDAP with generated users."""

    summary: ClassVar[str] = "OpenLDAP with users from a seed; needs apt-get install slapd ldap-utils"
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "ldap"

    kind: Literal["openldap"]
    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    password: Word | None = Field(
        None, description="Password of `cn=admin,dc=example,dc=org`; default: generated for each run."
    )
    settings: OpenldapSettings = Field(default_factory=OpenldapSettings, description="Settings of OpenLDAP.")
    population: DirectoryPopulation = Field(
        default_factory=DirectoryPopulation, description="Users that the directory contains before a run."
    )
