"""Models of a system file, with the services, hosts and targets of a system under test.

To define a kind of service, add a class here or in a similar module, and mark it with `@service_kind`. The settings of
the class are then checked when a file is read, described in the JSON Schema, and listed by `towtank list`.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from towtank import files, yamlfile
from towtank.errors import Fault, StudyError
from towtank.fields import Duration, FileModel, Name, PositiveDuration, Size, one_or_more
from towtank.system import command_model, mariadb_model, plain_models, repository_model, server_models  # noqa: F401 - register kinds
from towtank.system.command_faults import command_faults
from towtank.system.copies import copies_of, copy_faults, with_copies
from towtank.system.directory_faults import directory_faults
from towtank.system.host_faults import host_faults, unknown_name
from towtank.system.host_model import AnyHost, Generator, Network
from towtank.system.link_faults import link_faults
from towtank.system.node_models import NodesService
from towtank.system.postgresql_model import PostgresqlSettings
from towtank.system.service_model import SERVICE_KINDS, Port, Service, gateway_faults, service_kind
from towtank.system.sql_models import SqlPopulation
from towtank.system.storage_models import storage_faults
from towtank.system.watched_model import Watched
from towtank.treecheck import unknown_choice, validate_tree
from towtank.typos import as_meant
from towtank.units import shown
from towtank.workload import login_in_addresses
from towtank.yamlfile import Document

SCHEMA = "towtank/system/1"
_PORTS = {"http": 80, "https": 443}


def _http_address(value: str) -> str:
    """Check an address `http://host:port` or `https://host:port`, and add a missing port to it."""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path not in {"", "/"} or parts.query:
        raise ValueError(f"must be an address such as http://host:port, got {value!r} instead")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    login = "".join(parts.netloc.rpartition("@")[:2])
    return f"{parts.scheme}://{login}{host}:{port or _PORTS[parts.scheme]}"


def _database(value: str) -> str:
    if value not in {"sqlite", "postgresql"} and not value.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"must be sqlite, postgresql or postgresql://user@host/name, got {value!r} instead")
    return value


def _ldap(value: str) -> str:
    if "://" in value and not value.startswith(("ldap://", "ldaps://", "ldapi://")):
        raise ValueError(f"must be an address such as ldap://host:port, or a service, got {value!r} instead")
    if "@" in urlsplit(value).netloc:
        raise ValueError("must have no login: each user logs in with its own name and password")
    return value


HttpAddress = Annotated[str, AfterValidator(_http_address)]


class ContentServerSettings(FileModel):
    """Settings of the content server, with its defaults."""

    threads: int = Field(4, ge=1, le=1024, description="Number of worker threads per node.")
    database: Annotated[str, AfterValidator(_database)] = Field(
        "sqlite",
        description=(
            "Database of the content server: `sqlite`, `postgresql` for a private instance, or the "
            "address of a PostgreSQL database."
        ),
    )
    database_pool: int = Field(4, ge=1, le=1024, description="Number of connections to the database per node.")
    content_cache: Size = Field(64 * 2**20, description="Memory per node for cached content.")
    handle_cache: int = Field(256, ge=0, le=65536, description="Number of files that each node keeps open.")
    drop_index: Annotated[
        list[Literal["search_type"]],
        BeforeValidator(one_or_more, json_schema_input_type=Literal["search_type"] | list[Literal["search_type"]]),
    ] = Field(default_factory=list, description="Names of the database indexes to omit.")
    sync: bool = Field(
        True,
        description=(
            "Whether the server flushes data to the disk before it responds; with `false`, a crash may lose them."
        ),
    )
    users: str | None = Field(
        None, min_length=1, description="File of user accounts, relative to the system file; default: generated."
    )
    ldap: Annotated[str, AfterValidator(_ldap)] | None = Field(
        None,
        min_length=1,
        description="LDAP server that checks logins: name of a service of kind `openldap`, or `ldap://host:port`.",
    )
    credentials_lifetime: Duration = Field(300.0, description="Time that the server caches a verified login.")
    nodes: int = Field(
        1, ge=1, le=64, description="Number of servers (nodes) that share one database and one storage area."
    )
    port: Port = Field(
        0, description="Port of the first node; the other nodes use the ports after it. 0 chooses free ports."
    )


class Population(FileModel):
    """Data in the content server before the first run."""

    scale: float = Field(
        0.001, gt=0, le=1, description="Size of the population, as a share of the full 5.1 million documents."
    )
    seed: int = Field(
        1, ge=0, description="Seed of the random generator for the documents; the same seed gives the same documents."
    )


@service_kind("content_server")
class ContentServer(NodesService):
    """Reference content server: CMIS 1.1 Browser Binding over SQLite or PostgreSQL."""

    summary: ClassVar[str] = (
        "content server with CMIS 1.1 Browser Binding, over SQLite or PostgreSQL; comes with Towtank"
    )
    starts_remotely: ClassVar[bool] = True

    kind: Literal["content_server"]
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the data; default: the host's file system."
    )
    settings: ContentServerSettings = Field(
        default_factory=ContentServerSettings, description="Settings of the content server."
    )
    population: Population = Field(
        default_factory=Population, description="Documents that the content server contains before the first run."
    )

    @property
    def nodes(self) -> int:
        """Number of nodes of the content server."""
        return self.settings.nodes

    @property
    def outside(self) -> list[str]:
        """Addresses outside the system, including those of a database or directory that is no service of the system."""
        given = (self.settings.database, self.settings.ldap)
        return [*super().outside, *(address for address in given if address and urlsplit(address).netloc)]


@service_kind("existing")
class Existing(Service):
    """Server that already runs. Towtank sends requests to it, but does not start it, stop it or store data in it."""

    summary: ClassVar[str] = "server that already runs: Towtank only loads it, and observes it if it has metrics"

    kind: Literal["existing"]
    address: Annotated[list[HttpAddress], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])] = Field(
        min_length=1,
        description=(
            "Address `http://host:port` or `https://host:port`, or a list of addresses. A login "
            "(`http://user:password@host:port`) is sent as Basic authentication, unless a request has its own."
        ),
    )
    metrics: Annotated[str, Field(pattern="^/")] | None = Field(
        None, description="Path of the server's metrics in the Prometheus text format, for example `/metrics`."
    )
    watch: Annotated[list[Watched], BeforeValidator(one_or_more, json_schema_input_type=Watched | list[Watched])] = (
        Field(
            default_factory=list,
            max_length=16,
            description=(
                "Processes of this machine that belong to the server, besides the process that listens on its address. "
                "Each becomes a tier."
            ),
        )
    )
    exports: dict[Name, str] = Field(
        default_factory=dict,
        description="Files, relative to the system file, that the workload may use as `${system.SERVICE.NAME}`.",
    )

    @property
    def starts(self) -> bool:
        """False, because the server already runs."""
        return False

    @property
    def outside(self) -> list[str]:
        """Addresses of the server, which are outside the system."""
        return [*super().outside, *self.address]

    @model_validator(mode="after")
    def _one_scheme(self) -> Existing:
        schemes = {address.partition(":")[0] for address in self.address}
        if len(schemes) > 1:
            raise ValueError("must have addresses that are all http:// or all https://, got both")
        if len({login_in_addresses([address]) for address in self.address}) > 1:
            raise ValueError("must have the same login in every address, or no login in any")
        if self.metrics is not None and schemes == {"https"}:
            raise ValueError("must have http:// addresses if metrics are scraped, got https://")
        return self

    @property
    def has_login(self) -> bool:
        """True if the addresses of the server contain a user name and password."""
        return login_in_addresses(self.address) is not None

    @property
    def is_secure(self) -> bool:
        return self.address[0].startswith("https:")


class NullServerSettings(FileModel):
    """Settings of the null server."""

    threads: int = Field(
        1,
        ge=1,
        le=1024,
        description=(
            "Number of threads that respond to requests; each can have as many connections as a "
            "process may have open files."
        ),
    )
    ports: int = Field(
        1, ge=1, le=1024, description="Number of ports to listen on; several allow more connections than one port."
    )
    body: Size = Field(1024, description="Size of the body of each response.")
    delay: Duration = Field(0.0, description="Time from a request to its response.")
    work: Duration = Field(
        0.0, le=60, description="CPU time that the server uses for each request; its service demand is then known."
    )
    work_variation: Literal["constant", "exponential"] = Field(
        "constant", description="Distribution of the CPU time per request; `work` is its mean."
    )
    seed: int | None = Field(
        None,
        ge=0,
        lt=2**63,
        description=(
            "Seed of the random CPU times; the same seed gives the same times. Default: a different seed at each start."
        ),
    )
    port: Port = Field(
        0,
        description="Port that the server listens on, or the first of several; 0 chooses free ports.",
    )


@service_kind("null_server")
class NullServer(Service):
    """Server that responds immediately with a fixed body, to measure the load generator itself."""

    summary: ClassVar[str] = (
        "responds immediately with a fixed body, to measure the load generator itself; comes with Towtank"
    )
    starts_remotely: ClassVar[bool] = True

    kind: Literal["null_server"]
    host: Name = Field(description="Name of the host that runs the server.")
    settings: NullServerSettings = Field(default_factory=NullServerSettings, description="Settings of the responses.")


@service_kind("postgresql")
class Postgresql(Service):
    """PostgreSQL server that Towtank creates for each run."""

    summary: ClassVar[str] = (
        "private PostgreSQL, created for each run; needs the server programs (apt-get install postgresql)"
    )
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "sql"
    starts_remotely: ClassVar[bool] = True

    kind: Literal["postgresql"]
    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the data; default: the host's file system."
    )
    settings: PostgresqlSettings = Field(default_factory=PostgresqlSettings, description="Settings of PostgreSQL.")
    population: SqlPopulation | None = Field(None, description="SQL script that fills the database before a run.")


def _service(value: Any) -> Service:
    """Check an entry in the section `services` by the model of its kind."""
    if isinstance(value, Service):
        return value
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "must be a mapping")
    kind = value.get("kind")
    known = SERVICE_KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        allowed = f"of a kind among {', '.join(sorted(SERVICE_KINDS))}"
        raise ValidationError.from_exception_data("service", [unknown_choice(value, "kind", allowed, SERVICE_KINDS)])
    return known.model_validate(value)


AnyService = Annotated[SerializeAsAny[Service], PlainValidator(_service, json_schema_input_type=dict[str, object])]


_DOMAIN_AT_MOST = 253
# Pattern of domain names for which certificates can be issued, by RFC 1035. Underscores are common and also allowed.
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")


def _server_name(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        if not _DOMAIN.fullmatch(value) or len(value) > _DOMAIN_AT_MOST:
            raise ValueError(f"must be the name of a host or an IP address, got {shown(value)} instead") from None
    return value


class Tls(FileModel):
    """TLS settings of the connections to a target."""

    verify: bool = Field(True, description="Whether the engine verifies the server's certificate and host name.")
    ca: str | None = Field(
        None,
        min_length=1,
        description="PEM file of certificate authorities, relative to the system file; default: those of this machine.",
    )
    server_name: Annotated[str, Field(min_length=1), AfterValidator(_server_name)] | None = Field(
        None, description="Server name to send and to verify; default: the name in `host`."
    )
    client_certificate: str | None = Field(
        None, min_length=1, description="PEM file of the client certificate, relative to the system file."
    )
    client_key: str | None = Field(
        None, min_length=1, description="PEM file of the client's private key, relative to the system file."
    )
    resumption: bool = Field(True, description="Whether a new connection resumes an earlier TLS session.")
    versions: list[Literal["1.2", "1.3"]] = Field(
        ["1.2", "1.3"], min_length=1, description="TLS versions that the engine offers to the server."
    )

    @model_validator(mode="after")
    def _whole(self) -> Tls:
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError("must have both client_certificate and client_key, or neither")
        return self

    def plan(self, folder: Path) -> dict[str, object]:
        """Return the entry `tls` of the engine's plan. Names of files are relative to `folder`, that of the system
        file.
        """
        part = self.model_dump()
        for key in ("ca", "client_certificate", "client_key"):
            if part[key] is not None:
                part[key] = files.engine_path((folder / part[key]).absolute())
        return part


def _http(value: object) -> object:
    """Return the version of HTTP as text. YAML reads it as a number if it has no quotes."""
    versions: dict[object, str] = {1.1: "1.1", 2: "2", "1.1": "1.1", "2": "2"}
    if isinstance(value, bool) or not isinstance(value, int | float | str) or value not in versions:
        raise ValueError(f"must be 1.1 or 2, got {value!r} instead")
    return versions[value]


Http = Annotated[Literal["1.1", "2"], BeforeValidator(_http, json_schema_input_type=Literal["1.1", "2", 2] | float)]


class Target(FileModel):
    """Destination of requests, that is, the addresses of one or several services."""

    service: Name | None = Field(None, description="Name of the service that receives the requests.")
    services: list[Name] = Field(
        default_factory=list, description="Names of several equal services to use instead of `service`."
    )
    balance: Literal["round_robin", "random", "user"] | None = Field(
        None,
        description=(
            "Distribution of users over the addresses: `round_robin` and `random` choose an address for "
            "each connection, `user` one for each user. Default: `user` with `services`, otherwise "
            "`round_robin`."
        ),
    )
    host: str | None = Field(
        None, min_length=1, pattern=r"^[!-~]+$", description="Value of the `Host` header; default: the first address."
    )
    tls: Tls | None = Field(None, description="TLS settings for services with `https://` addresses.")
    http: Http = Field(
        "1.1",
        description="HTTP version: `1.1`, or `2` (with ALPN over TLS, by prior knowledge without TLS).",
    )

    @model_validator(mode="after")
    def _one_or_several(self) -> Target:
        if (self.service is None) == (not self.services):
            got = "neither" if self.service is None else "both"
            raise ValueError(f"must have either service or services, got {got}")
        if len(set(self.services)) < len(self.services):
            raise ValueError("must name each of its services once")
        return self

    @property
    def all_services(self) -> list[str]:
        """Names of the services to which the target sends requests."""
        return self.services if self.service is None else [self.service]

    @property
    def balanced(self) -> str:
        """Method that distributes users or requests over the addresses of the target."""
        return self.balance or ("user" if self.services else "round_robin")


class SystemFile(FileModel):
    """System under test: its services, and the hosts on which they run."""

    schema_: Literal["towtank/system/1"] = Field(alias="schema", description="Name and version of the file format.")
    name: Name = Field(description="Name of the system.")
    title: str = Field("", description="Description of the system in one line.")
    hosts: dict[Name, AnyHost] = Field(
        default_factory=dict,
        max_length=240,
        description="Hosts of the system by name; `provider` is the kind of machine.",
    )
    network: Network = Field(
        default_factory=Network,
        description="Virtual network between the load generator and hosts of provider `namespaces`.",
    )
    generator: Generator = Field(default_factory=Generator, description="Host of the load generator.")
    services: dict[Name, AnyService] = Field(
        min_length=1, description="Services of the system by name, such as servers and databases."
    )
    targets: dict[Name, Target] = Field(
        default_factory=dict,
        description=(
            "Names that the workload uses for destinations of requests; default: each service under its own name."
        ),
    )
    start_timeout: PositiveDuration = Field(60.0, description="Longest time that a service may take to start.")

    @property
    def hosts_in_use(self) -> list[str]:
        """Names of the hosts that run services or the load generator, in the order of the system file."""
        used = {name for service in self.services.values() for name in (service.host, *service.hosts_used) if name}
        return [name for name in self.hosts if name in used or name == self.generator.host]

    @property
    def all_targets(self) -> dict[str, Target]:
        """Targets of the system by name; by default, targets with the names of its services.

        Services with other protocols than HTTP, such as databases, are default targets only if no service uses HTTP.
        """
        if self.targets:
            return dict(self.targets)
        web = [name for name, service in self.services.items() if service.spoken == "http"]
        named = web or [name for name, service in self.services.items() if service.spoken is not None]
        return {name: Target(service=name) for name in named}

    @property
    def spoken(self) -> dict[str, str]:
        """Protocol of each target by name of the target."""
        services = {name: self.services.get(target.all_services[0]) for name, target in self.all_targets.items()}
        return {name: (service and service.spoken) or "http" for name, service in services.items()}

    def is_secure(self, target: Target) -> bool:
        return bool(getattr(self.services.get(target.all_services[0]), "is_secure", False))

    @property
    def addresses(self) -> list[str]:
        """Addresses outside the system to which Towtank, or a service of the system, sends requests or queries."""
        hosts = [
            address
            for host in self.hosts.values()
            for address in (getattr(host, "address", None), getattr(host, "metrics", None))
            if address is not None
        ]
        return hosts + [address for service in self.services.values() for address in service.outside]

    @property
    def logins(self) -> dict[str, tuple[str, str]]:
        """User and password of each target whose addresses contain them."""
        found = {name: _login_of(self.services[target.all_services[0]]) for name, target in self.all_targets.items()}
        return {name: login for name, login in found.items() if login is not None}

    def target_options(self, folder: Path) -> dict[str, dict[str, object]]:
        """Return the options of each target for the engine's plan, except its addresses and its login.

        Names of files are relative to `folder`, that of the system file.
        """
        options: dict[str, dict[str, object]] = {}
        for name, target in self.all_targets.items():
            secure = {"scheme": "https", "tls": (target.tls or Tls()).plan(folder)} if self.is_secure(target) else {}
            version = {"http": target.http} if target.http != "1.1" else {}
            options[name] = {**({"host": target.host} if target.host else {}), **secure, **version}
        return options


def _login_of(service: Service) -> tuple[str, str] | None:
    """Return the user name and password in the addresses of an existing service; None if they contain none."""
    return login_in_addresses(service.address) if isinstance(service, Existing) else None


def check_system(document: Document) -> tuple[SystemFile | None, list[Fault]]:
    """Check a system file; return its content, or None if it is unusable, and all faults."""
    return check_system_tree(document.root)


def check_system_tree(root: yamlfile.Node) -> tuple[SystemFile | None, list[Fault]]:
    """Check the content of a system file, as written or with overrides applied.

    Return the content, or None if it is unusable, and all faults. For a misspelt word, only one fault is reported,
    without faults that follow from it.
    """
    return as_meant(lambda corrected: check_system_tree_as_written(corrected.tree(root)))


def check_system_tree_as_written(root: yamlfile.Node) -> tuple[SystemFile | None, list[Fault]]:
    """Check the content of a system file. Faults that follow from a misspelt word are reported as well.

    The checks of `SystemFile` read the tree without its malformed entries, and the valid entries as written, where a
    host with copies is a single entry.
    """
    checked = validate_tree(root, SystemFile)
    system, faults, tree = checked.model, checked.faults, checked.tree
    if system is None:
        return None, faults
    hosts = _names(root, "hosts")
    services = _names(root, "services")
    faults += host_faults(tree, system, hosts)
    for name in system.targets:
        faults += _wrong_target(tree, system, name, services)
    faults += gateway_faults(tree, system.services, services)
    faults += directory_faults(tree, system.services)
    faults += storage_faults(tree, system.services, system.hosts, services)
    faults += link_faults(tree, system, hosts)
    faults += copy_faults(tree, system)
    faults += command_faults(tree, system, services)
    return system if faults else with_copies(system), sorted(set(faults))


def _wrong_target(tree: yamlfile.Node, system: SystemFile, name: str, services: list[str]) -> list[Fault]:
    """Report services of a target that do not exist, or that cannot be combined in one target."""
    target = system.targets[name]
    places: list[yamlfile.Path_] = [("service",)] if target.service else [("services", n) for n in range(240)]
    known, faults = [], []
    for place, service in zip(places, target.all_services, strict=False):
        if service not in services:
            faults.append(unknown_name(tree, ("targets", name, *place), "service", service, services))
        elif service in system.services:
            known.append((place, service))
    spoken = {service: system.services[service].spoken for _, service in known}
    for place, service in known:
        is_several = len(target.all_services) > 1 or copies_of(system, system.services[service].host) is not None
        if is_several and (spoken[service] in (None, "file") or system.services[service].kind == "sqlite"):
            message = f"must be a service that is reached over the network, got {service!r} instead"
            faults.append(yamlfile.fault_at(tree, ("targets", name, *place), message))
        elif len(logins := {_login_of(system.services[each]) for _, each in known}) > 1:
            message = f"must be a service with the same login in its address, got {len(logins)} different ones"
            faults.append(yamlfile.fault_at(tree, ("targets", name, *place), message))
        elif spoken[service] != spoken[known[0][1]]:
            message = f"must be a service with the protocol of {known[0][1]!r}, got {service!r} instead"
            faults.append(yamlfile.fault_at(tree, ("targets", name, *place), message))
    if target.tls is not None and known and not faults and not system.is_secure(target):
        message = f"must only be given for a service at https://, got the service {known[0][1]!r} instead"
        faults.append(yamlfile.fault_at(tree, ("targets", name, "tls"), message))
    return faults


def _names(root: yamlfile.Node, section: str) -> list[str]:
    """Return all names in a section of the system file, including entries with faults.

    A reference to an entry with faults is not a further fault.
    """
    node = root.child(section)
    return list(node.value) if node is not None and isinstance(node.value, dict) else []


def load_system(path: Path | str) -> SystemFile:
    """Read and check a system file.

    Raises
    ------
    StudyError
        If the file has faults; the error lists all of them.
    """
    system, faults = check_system(yamlfile.load(path))
    if faults or system is None:
        raise StudyError(faults)
    return system
