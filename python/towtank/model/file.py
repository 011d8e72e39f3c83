"""Format of model files: classes of jobs, the stations they visit, pools, forks and routing."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag

from towtank import units
from towtank.fields import Duration, FileModel, Name, PositiveRate, mapping_or_plain, one_or_more
from towtank.fields import Share as Part
from towtank.model.behaviour import BalancerFile, ClassBehaviour, StationBehaviour
from towtank.model.between import MeanTime, begins_bounds

SCHEMA: Literal["towtank/model/1"] = "towtank/model/1"
COUNT_AT_MOST = 1_000_000_000
SERVERS_AT_MOST = 1_000_000

T = TypeVar("T")
# One value for all classes, or a mapping from class names to values.
PerClass = Annotated[
    Annotated[dict[Name, T], Tag("<mapping>")] | Annotated[T, Tag("<plain>")], Discriminator(mapping_or_plain)
]
Discipline = Literal["fcfs", "ps", "lcfs-pr", "delay", "priority"]
Distribution = Literal[
    "exponential", "deterministic", "erlang", "hyperexponential", "gamma", "lognormal", "uniform", "pareto"
]
ModelCount = Annotated[int, Field(ge=1, le=COUNT_AT_MOST)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


def _without_bounds(value: object) -> object:
    """Return the think time of a transaction; raise ValueError if it is given as two bounds."""
    if begins_bounds(value):
        raise ValueError(
            "must be a mean, since all think times of a class have one distribution: give the bounds as `think` of the "
            f"class, or of a class of its own, got {units.shown(value)} instead"
        )
    return value


class TransactionFile(FileModel):
    """Transaction of a closed class; users choose their next transaction at random by `share`."""

    share: Part = Field(
        description="Share of the transaction in all transactions of the class; the shares of a class add to 100 %."
    )
    think: Annotated[Duration, BeforeValidator(_without_bounds)] | None = Field(
        None, description="Mean think time after the transaction; default: `think` of the class."
    )


class ClassFile(ClassBehaviour):
    """Class of jobs: a closed class has `users`, an open class has an arrival `rate`."""

    users: ModelCount | None = Field(None, description="Number of users of a closed class; each has one job at a time.")
    think: MeanTime | None = Field(
        None, description="Mean think time between a response and the user's next job, for closed classes; default: 0."
    )
    rate: PositiveRate | None = Field(None, description="Arrival rate of an open class.")
    priority: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Priority at stations of discipline `priority`; 1 is served before 2. Default: last.",
    )
    think_distribution: Distribution | None = Field(
        None, description="Distribution of the think time; default: `exponential`."
    )
    think_scv: Number | None = Field(
        None, description="Squared coefficient of variation of the think time; default: that of the distribution."
    )
    arrival_distribution: Distribution | None = Field(
        None,
        description="Distribution of the times between arrivals; default: `exponential`, which makes Poisson arrivals.",
    )
    arrival_scv: Number | None = Field(
        None,
        description=(
            "Squared coefficient of variation of the times between arrivals; default: that of the distribution."
        ),
    )
    transactions: dict[Name, TransactionFile] = Field(
        {},
        description=(
            "Transactions of a closed class by name; a user runs one transaction at a time. Stations may set values "
            "for each transaction."
        ),
    )


class StationFile(StationBehaviour):
    """Station with one queue. The value of a key holds for all classes, or is a mapping from class names to values."""

    discipline: Discipline = Field("fcfs", description="Order of service (queueing discipline).")
    servers: int = Field(1, ge=1, le=SERVERS_AT_MOST, description="Number of identical servers of the station.")
    demand: PerClass[MeanTime] | None = Field(
        None,
        description=(
            "Service demand of a transaction: its service time over all visits; replaces `service_time` and `visits`."
        ),
    )
    visits: PerClass[Number] | None = Field(
        None,
        description="Number of visits of a transaction to the station; only together with `service_time`. Default: 1.",
    )
    service_time: PerClass[MeanTime] | None = Field(None, description="Mean service time of one visit.")
    at_once: ModelCount | None = Field(
        None,
        description=(
            "Largest number of jobs in service at a station of discipline `ps`; further jobs wait. Only "
            "affects how the time of a class is divided among its transactions."
        ),
    )
    capacity: ModelCount | None = Field(
        None,
        description=(
            "Largest number of jobs at the station, including jobs in service; arrivals at a full station are dropped."
        ),
    )
    rates: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = Field(
        None,
        min_length=1,
        description="Service speed with 1, 2, ... jobs; the last value applies to more jobs too. Replaces `servers`.",
    )
    scv: PerClass[Number] | None = Field(
        None, description="Squared coefficient of variation of the service time; default: that of `distribution`."
    )
    distribution: PerClass[Distribution] | None = Field(
        None, description="Distribution of the service time; default: `exponential`, unless `scv` is set."
    )
    priority: list[Name] | None = Field(
        None,
        description=(
            "Names of the classes at this station, from the highest priority to the lowest; default: "
            "order of `priority` of the classes."
        ),
    )
    preemptive: bool = Field(
        False, description="True if a job of higher priority interrupts service at stations of discipline `priority`."
    )


class PoolFile(FileModel):
    """Pool of units (threads, connections, a lock). A transaction holds a unit while it visits stations."""

    size: ModelCount = Field(
        description="Number of units in the pool, for example threads or connections; a lock has 1."
    )
    holds: Annotated[list[Name], BeforeValidator(one_or_more)] = Field(
        description="Names of the stations and inner pools that a job visits while it holds a unit."
    )
    classes: list[Name] = Field([], description="Names of the classes that need a unit; default: all classes.")


Branch = Annotated[list[Name], BeforeValidator(one_or_more)]


class ForkFile(FileModel):
    """Branches of a transaction that run at the same time; the transaction continues when all are complete."""

    branches: list[Branch] = Field(
        description=(
            "Branches that run at the same time; each branch is a station, another fork (only simulation uses it), or "
            "a list of them."
        )
    )
    classes: list[Name] = Field([], description="Names of the classes that fork; default: all classes.")


class FittedFile(FileModel):
    """Measurements that a model was fitted to. Solving uses their confidence intervals; sizing also uses the measured
    range of loads.
    """

    source: str = Field("", description="Results that the model was fitted to.")
    users: Annotated[list[float], Field(min_length=2, max_length=2)] = Field(
        description="Lowest and highest number of users in the measurements."
    )
    throughput: PositiveRate = Field(description="Highest measured throughput.")
    verdict: Literal["supported", "doubtful"] = Field(
        description="Whether the measured points support the fitted curve."
    )
    held_out_error: float | None = Field(
        None,
        description=(
            "Predicted throughput divided by measured throughput, minus 1, at the highest load, which the "
            "fit did not use."
        ),
    )
    held_out_interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="95 % interval of `held_out_error`; default: unknown."
    )
    limit: Literal["station", "asserted", "none", "other"] | None = Field(
        None,
        description=(
            "What limits the measured load: a `station` of the model, a station that the user `asserted` to "
            "be the limit, `none`, or something `other` that more servers may not improve. Default: "
            "unknown."
        ),
    )
    limit_why: str = Field("", description="Evidence for the value of `limit`.")
    kind: Literal["curve", "network"] = Field(
        "curve",
        description="Kind of the fit: a `curve` of throughput, or a `network` with measurements of every station.",
    )
    percentiles: dict[Name, Annotated[list[Number], Field(min_length=3, max_length=3)]] = Field(
        {},
        description=(
            "Measured divided by computed 95th percentile, by class or transaction: mean, smallest and largest ratio."
        ),
    )
    tails: dict[Name, dict[str, Annotated[list[Number], Field(min_length=3, max_length=3)]]] = Field(
        {},
        description=(
            "Measured divided by computed percentiles, by class or transaction, then by percentile (`p50`, "
            "`p99`): mean, smallest and largest ratio."
        ),
    )
    draws: dict[Name, list[Number]] = Field(
        {},
        description=(
            "Demand of each station in every bootstrap replicate, divided by the demand of the station in the file."
        ),
    )


class ModelFile(FileModel):
    """Queueing network: classes of jobs, and the stations that they visit."""

    schema_: Literal["towtank/model/1"] = Field(
        SCHEMA, alias="schema", description="Name and version of the file format."
    )
    name: str | None = Field(None, description="Name of the model.")
    title: str | None = Field(None, description="Description of the model in one line.")
    classes: dict[Name, ClassFile] = Field(
        min_length=1, description="Classes of jobs by name; a class is closed (`users`) or open (`rate`)."
    )
    stations: dict[Name, StationFile] = Field(
        min_length=1, description="Stations by name, in the order in which jobs visit them."
    )
    pools: dict[Name, PoolFile] = Field(
        {},
        description="Pools of units (threads, connections, locks) that jobs hold while they visit stations, by name.",
    )
    forks: dict[Name, ForkFile] = Field({}, description="Forks by name, with branches that run at the same time.")
    routing: dict[Name, dict[Name, dict[Name, Share]]] = Field(
        {},
        description=(
            "Routing by class: for `start` and for each station, the probabilities of the next station or of `end`."
        ),
    )
    balancers: dict[Name, BalancerFile] = Field(
        {}, description="Groups of stations behind a load balancer; each visit goes to one station of the group."
    )
    fitted: FittedFile | None = Field(None, description="Measurements that a fitted model is based on.")
