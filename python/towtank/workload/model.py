"""Defines the schema of workload files. The module `steps` defines the steps of transactions."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationError, model_validator

from towtank.fields import PARAMETER, FileModel, Name, Share, Text, mapping_or_plain
from towtank.spelling import misnamed
from towtank.treecheck import misspelt_key
from towtank.units import shown
from towtank.workload.cookies import Cookies
from towtank.workload.durations import PositiveTimedDuration
from towtank.workload.httpfields import HeaderValue, SentHeaderName
from towtank.workload.pauses import Pause, PauseModel, read_pacing
from towtank.workload.steps import Auth, Step

SCHEMA = "towtank/workload/1"


# Largest number of connections; no machine has so many ports or file descriptors. Equal to the limit of the engine. [1]
CONNECTIONS_AT_MOST = 2**28


class Pool(FileModel):
    """Rows of data that virtual users read in a fixed or random order."""

    csv: str | None = Field(
        None,
        min_length=1,
        description=(
            "CSV file with the rows, relative to the workload file; its first line names the columns. "
            "`${system.SERVICE.NAME}` names a file of a service."
        ),
    )
    columns: list[Name] | None = Field(
        None,
        min_length=1,
        description="Names of the columns: required if `rows` are lists; with `csv`, columns that the file must have.",
    )
    rows: list[list[Text] | dict[Name, Text]] | None = Field(
        None,
        min_length=1,
        description=(
            "Rows written here instead of in a CSV file: lists in the order of `columns`, or mappings by column."
        ),
    )
    order: Literal["random", "weighted", "sequential", "unique"] | None = Field(
        None,
        description=(
            "Order in which users draw rows; default: `random`, or `weighted` if `weight` is set. "
            "`unique` uses each row once, in file order."
        ),
    )
    weight: Name | None = Field(
        None, description="Name of the column with the weights; the probability of a row is proportional to its weight."
    )

    @model_validator(mode="after")
    def _whole(self) -> Pool:
        if self.rows is not None and not all(self.rows):
            raise ValueError("must have at least one column in each row, got an empty row")
        if (self.csv is None) == (self.rows is None):
            raise ValueError("must have either csv or rows, got " + ("both" if self.csv else "neither"))
        if self.order == "weighted" and self.weight is None:
            raise ValueError(
                "must have the key weight with the name of the column of weights, got order: weighted without it"
            )
        if self.weight is not None and self.order not in {None, "weighted"}:
            raise ValueError(f"must have order: weighted if weight is given, got {self.order!r}")
        return self

    @property
    def dealt(self) -> str:
        """Order in which virtual users get the rows of the pool, in the form of the engine's plan."""
        return self.order or ("weighted" if self.weight else "random")


def _ip_address(value: str) -> str:
    try:
        zone = getattr(ipaddress.ip_address(value), "scope_id", None)
    except ValueError:
        raise ValueError(f"must be an IP address of the generator, got {shown(value)} instead") from None
    if zone is not None:
        raise ValueError(f"must be an IP address without a zone, got {shown(value)} instead")
    return value


class ConnectionPool(FileModel):
    """Pool of connections, with the number of concurrent requests on each."""

    pool: int = Field(ge=1, le=CONNECTIONS_AT_MOST, description="Number of connections to each target.")
    streams: int | None = Field(
        None,
        ge=1,
        le=2**20,
        description="Number of concurrent requests on each connection to targets that speak HTTP/2; default: 100.",
    )

    @property
    def plan(self) -> dict[str, object]:
        """Settings of this pool of connections in the form of the engine's plan (key `connections`)."""
        streams = {} if self.streams is None else {"streams": self.streams}
        return {"mode": "pool", "size": self.pool, **streams}


Placed = Annotated[str, Field(pattern=f"^{PARAMETER}$")]


def _connections(value: object) -> object:
    pool = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= CONNECTIONS_AT_MOST
    if not pool and not isinstance(value, dict | ConnectionPool) and value not in ("per_user", "new_each_time"):
        known = "per_user, new_each_time, the size of a pool above 0, or {pool: 4, streams: 100}"
        raise ValueError(misnamed(known, value, ["per_user", "new_each_time"], is_form=True))
    return value


Connections = Annotated[
    Annotated[ConnectionPool, Tag("<mapping>")] | Annotated[Literal["per_user", "new_each_time"] | int, Tag("<plain>")],
    Discriminator(mapping_or_plain),
    BeforeValidator(
        _connections, json_schema_input_type=Literal["per_user", "new_each_time"] | int | ConnectionPool | Placed
    ),
]


class Defaults(FileModel):
    """Default settings of requests; each request may override them."""

    target: Name | None = Field(
        None, description="Name of the target of requests without `target`; default: the only target of the system."
    )
    headers: dict[SentHeaderName, HeaderValue] = Field(
        default_factory=dict, description="Headers to send with every request."
    )
    auth: Auth | None = Field(None, description="User and password for Basic authentication of every request.")
    timeout: PositiveTimedDuration = Field(
        30.0, description="Time limit of a whole response; the engine enforces it within 1 ms."
    )
    connect_timeout: PositiveTimedDuration = Field(5.0, description="Time limit for establishing a connection.")
    drain: PositiveTimedDuration = Field(
        30.0, description="Time that the engine waits for outstanding responses at the end of the load."
    )
    think: Pause | None = Field(None, description="Think time of loops without `think` or `pacing`.")
    connections: Connections = Field(
        "per_user",
        description=(
            "Use of connections: `per_user`, `new_each_time` for each request, or a pool per target as a "
            "number of connections or as `{pool: 4, streams: 100}`."
        ),
    )
    sources: list[Annotated[str, AfterValidator(_ip_address)]] = Field(
        default_factory=list, description="Source IP addresses of connections, used in turn."
    )

    @property
    def plan_connections(self) -> dict[str, object]:
        """Settings of connections in the form of the engine's plan (key `connections`)."""
        mode = self.connections
        part: dict[str, object]
        if isinstance(mode, ConnectionPool):
            part = mode.plan
        else:
            part = {"mode": "pool", "size": mode} if isinstance(mode, int) else {"mode": mode}
        return {**part, "sources": self.sources} if self.sources else part


class Page(FileModel):
    """Page of an application. Its response time lasts from its first request to the end of its last response."""

    page: str = Field(min_length=1, description="Name of the page in the results.")
    steps: list[Step] = Field(
        min_length=1,
        description=(
            "Steps of the page; its response time runs from the start of the first request to the end of the last."
        ),
    )


def _page_or_step(value: Any) -> str:
    return "<page>" if isinstance(value, Page) or (isinstance(value, dict) and "page" in value) else "<step>"


def _page(value: Any) -> Any:
    """Refuse a mapping whose key is a misspelt `page`, which would otherwise be reported as an unknown step."""
    if isinstance(value, dict) and "page" not in value and "loop" not in value and "steps" in value:
        misspelt = misspelt_key(value, "must be one of the keys page, steps", ["page"])
        if misspelt is not None:
            raise ValidationError.from_exception_data("page", [misspelt])
    return value


Item = Annotated[
    Annotated[Page, Tag("<page>")] | Annotated[Step, Tag("<step>")],
    Discriminator(_page_or_step),
    BeforeValidator(_page),
]
Transaction = Annotated[list[Item], Field(min_length=1)]


# Largest weight. It is low enough for sums of weights to be exact in floating point. [1]
_WEIGHT_AT_MOST = 1_000_000_000


def _weight(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number (a weight), got {value!r} instead")
    if not 0 <= value <= _WEIGHT_AT_MOST:
        raise ValueError(f"must be a weight from 0 to {_WEIGHT_AT_MOST:,}, got {shown(value)} instead")
    return float(value)


Weight = Annotated[float, BeforeValidator(_weight, json_schema_input_type=float | Placed)]


def _some_weight(mix: dict[str, float]) -> dict[str, float]:
    if mix and not any(mix.values()):
        raise ValueError("must have a weight above 0, got none")
    return mix


class Loop(FileModel):
    """Endless loop of a user: choose a transaction at random, execute it, pause."""

    think: Pause | None = Field(None, description="Think time of a user after every transaction.")
    pacing: Annotated[Pause | None, BeforeValidator(read_pacing, json_schema_input_type=str | PauseModel)] = Field(
        None,
        description=(
            "Transaction rate of each user, for example `5 /h`, or time between the starts of two transactions."
        ),
    )
    mix: Annotated[dict[Name, Weight], Field(min_length=1), AfterValidator(_some_weight)] = Field(
        description=(
            "Transactions to choose from with their weights; the share of a transaction is its weight "
            "divided by the sum of all weights."
        )
    )


def _some(share: float) -> float:
    if share <= 0:
        raise ValueError("must be above 0 %, got 0 % instead: leave the group out")
    return share


class Group(FileModel):
    """Users with the same behaviour."""

    share: Annotated[Share, AfterValidator(_some)] = Field(
        1.0, description="Share of all users that belong to the group; the shares of all groups add to 100 %."
    )
    once: list[Name] = Field(
        default_factory=list, description="Names of the transactions that a user executes once, after its start."
    )
    loop: Loop = Field(description="Loop of transactions that each user repeats.")
    end: list[Name] = Field(
        default_factory=list, description="Names of the transactions that a user executes before it leaves."
    )
    cookies: Cookies = Field(
        default_factory=Cookies, description="Initial cookies of users, and how long users keep the cookies of servers."
    )


def _scalar(value: object) -> object:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError("must be a number or text, got another type instead")
    return value


Scalar = Annotated[str | int | float, BeforeValidator(_scalar)]


class Stored(FileModel):
    """Kind of items that users store in the system, and that Towtank reads back after the run."""

    read_back: Name = Field(
        description=(
            "Name of the transaction that reads back one stored item; the key of the item is `${stored.key}` there."
        )
    )
    absent: list[Annotated[int, Field(ge=100, le=599)]] = Field(
        default=[404, 410], min_length=1, description="HTTP statuses that mean that the stored item does not exist."
    )


class WorkloadFile(FileModel):
    """Behaviour of virtual users."""

    schema_: Literal["towtank/workload/1"] = Field(alias="schema", description="Name and version of the file format.")
    name: Name = Field(description="Name of the workload.")
    title: str = Field("", description="Description of the workload in one line.")
    parameters: dict[Name, Scalar] = Field(
        default_factory=dict, description="Values that the file uses as `${parameters.NAME}`; a study may change them."
    )
    data: dict[Name, Pool] = Field(
        default_factory=dict, description="Pools of data from which users draw rows, by name."
    )
    defaults: Defaults = Field(default_factory=Defaults, description="Default settings of all requests.")
    transactions: dict[Name, Transaction] = Field(
        min_length=1,
        description=(
            "Transactions of users, by name: each is a list of pages, or a list of steps that counts as one page."
        ),
    )
    groups: dict[Name, Group] = Field(min_length=1, description="Groups of users with the same behaviour, by name.")
    stored: dict[Name, Stored] = Field(
        default_factory=dict,
        description=(
            "Kinds of items that requests store, replace or remove, each with the transaction that reads "
            "an item back after the run."
        ),
    )

    @property
    def readers(self) -> dict[str, str]:
        """Kind of stored item that each read-back transaction reads, by name of the transaction."""
        return {stored.read_back: kind for kind, stored in self.stored.items()}
