"""Defines the base model of services in a system file, and the registry of all kinds of services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from towtank import yamlfile
from towtank.errors import Fault
from towtank.fields import FileModel, Name, one_or_more
from towtank.spelling import misnamed

ServiceT = TypeVar("ServiceT", bound="Service")

Port = Annotated[int, Field(ge=0, le=65535)]


def _page(value: str) -> str:
    """Check that a text is the URL of a page."""
    try:
        parts = urlsplit(value)
        right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right:
        raise ValueError(f"must be an address such as http://host:port/metrics, got {value!r} instead")
    return value


Page = Annotated[str, AfterValidator(_page)]


class Observe(FileModel):
    """Pages of metrics of a service, in addition to the metrics that its kind always has."""

    prometheus: Annotated[list[Page], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])] = Field(
        min_length=1,
        description="URLs of metrics in the Prometheus text format, for example `http://host:port/metrics`.",
    )


class Service(FileModel):
    """Base class of the services in a system file; each kind of service has a subclass."""

    # Description of the kind of service in `towtank list`.
    summary: ClassVar[str] = ""
    serves_http: ClassVar[bool] = True
    # Protocol other than HTTP by which virtual users can use the service, as in the key `speaks` of a step.
    driven_by: ClassVar[str | None] = None
    # True if the service can run on a machine whose files this machine cannot access.
    starts_remotely: ClassVar[bool] = False
    # False if the service is a file or folder that the load generator itself accesses; True if it is a process.
    is_process: ClassVar[bool] = True
    # True if the service can only run on a host that has a mount namespace of its own.
    needs_namespaces: ClassVar[bool] = False

    kind: str = Field(description="Kind of the service, for example `nginx` or `postgresql`.")
    host: Name | None = Field(None, description="Name of the host that runs the service.")
    observe: Observe | None = Field(None, description="Additional sources of metrics, for example exporters.")

    @property
    def outside(self) -> list[str]:
        """Addresses of servers that the service uses but that Towtank does not start."""
        return [] if self.observe is None else list(self.observe.prometheus)

    @property
    def spoken(self) -> str | None:
        """Protocol by which virtual users can use the service; None if they cannot use it."""
        return "http" if self.serves_http else self.driven_by

    @property
    def commands(self) -> list[list[str]]:
        return []

    @property
    def starts(self) -> bool:
        """True if Towtank starts the service, which then needs a host that can start services."""
        return True

    @property
    def hosts_used(self) -> list[str]:
        """Names of the hosts on which processes of the service run."""
        return [] if self.host is None else [self.host]

    @property
    def disk_used(self) -> str | None:
        """Name of the disk that the service uses on its host; None if it uses no disk."""
        return getattr(self, "disk", None)

    @property
    def has_login(self) -> bool:
        """True if the address of the service contains a user name and password."""
        return False

    @property
    def configuration(self) -> Mapping[str, object]:
        """Settings of the service, with defaults, as values for JSON."""
        settings = getattr(self, "settings", None)
        return settings.model_dump(mode="json") if isinstance(settings, FileModel) else {}

    def processes(self, name: str) -> list[str]:
        """Return the names of the processes that Towtank starts for the service, whose own name is `name`."""
        return [name] if self.starts else []

    @property
    def forwards_to(self) -> list[str]:
        """Names of the services to which this service forwards requests."""
        return []


def node_names(name: str, count: int) -> list[str]:
    """Return the names of the processes of a service with `count` processes. The first is the name of the service.

    Examples
    --------
    >>> node_names("content", 3)
    ['content', 'content-2', 'content-3']
    """
    return [name, *(f"{name}-{number}" for number in range(2, count + 1))]


SERVICE_KINDS: dict[str, type[Service]] = {}


def service_kind(kind: str) -> Callable[[type[ServiceT]], type[ServiceT]]:
    """Return a decorator that registers a class as the model of a kind of service."""

    def register(model: type[ServiceT]) -> type[ServiceT]:
        SERVICE_KINDS[kind] = model
        return model

    return register


def gateway_faults(tree: yamlfile.Node, services: Mapping[str, Service], known: list[str]) -> list[Fault]:
    """Report each member of a gateway that does not exist, does not use HTTP, or forwards requests back to the gateway.
    `known` are the names of all services in the file, including those with faults.
    """
    faults = []
    for name, service in services.items():
        for number, member in enumerate(service.forwards_to):
            if message := _wrong_member(services, known, name, member):
                # If `members` is a single name instead of a list, the fault refers to the key `members`.
                faults.append(yamlfile.fault_at(tree, ("services", name, "members", number), message))
    return faults


def _wrong_member(services: Mapping[str, Service], known: list[str], gateway: str, member: str) -> str | None:
    if member not in known:
        return misnamed(f"a service of this file ({', '.join(known)})", member, known)
    found = services.get(member)
    if found is None:  # The faults of this service are reported elsewhere.
        return None
    if found.spoken != "http" or getattr(found, "is_secure", False):
        return f"must be a service that speaks HTTP without TLS, got {member!r} instead"
    if found.has_login:
        return f"must be a service without a login in its address: a gateway does not send it, got {member!r} instead"
    if gateway in _reached(services, member):
        return f"must not lead back to {gateway!r}, got {member!r} instead"
    return None


def _reached(services: Mapping[str, Service], start: str) -> set[str]:
    """Return the services that a request to a service can reach through gateways, including the service itself."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += services[name].forwards_to if name in services else []
    return reached
