"""Model files: classes of jobs, the stations they visit, pools, forks, routing."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag

from towtank.fields import Duration, FileModel, Name, PositiveRate, mapping_or_plain, one_or_more
from towtank.fields import Share as Part
from towtank.model.behaviour import BalancerFile, ClassBehaviour, StationBehaviour

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
Count = Annotated[int, Field(ge=1, le=COUNT_AT_MOST)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class TransactionFile(FileModel):
    """A transaction of a closed class, picked by share whenever a user begins another one."""

    share: Part = Field(description="Share of all that the users of the class do; the shares make 100 % together.")
    think: Duration | None = Field(None, description="Mean pause after it; that of the class if left out.")


class ClassFile(ClassBehaviour):
    """A class of jobs: closed with `users`, open with `rate`."""

    users: Count | None = Field(None, description="Users of a closed class, each with one job at a time.")
    think: Duration | None = Field(
        None, description="Mean pause of a user between an answer and the next job; closed only, 0 if left out."
    )
    rate: PositiveRate | None = Field(None, description="Arrival rate of an open class.")
    priority: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Rank at stations of discipline `priority`: 1 goes before 2; last if none.",
    )
    think_distribution: Distribution | None = Field(None, description="Form of the think time; `exponential` if none.")
    think_scv: Number | None = Field(None, description="Squared coefficient of variation of the think time.")
    arrival_distribution: Distribution | None = Field(
        None, description="Form of the times between arrivals; `exponential` makes Poisson arrivals."
    )
    arrival_scv: Number | None = Field(None, description="Squared coefficient of variation of times between arrivals.")
    transactions: dict[Name, TransactionFile] = Field(
        {},
        description="Transactions that users of a closed class make, one at a time; stations may have values for each.",
    )


class StationFile(StationBehaviour):
    """A place of service with one queue. Values by class are a mapping, or one value for all classes."""

    discipline: Discipline = Field("fcfs", description="Order of service.")
    servers: int = Field(1, ge=1, le=SERVERS_AT_MOST, description="Number of equal servers.")
    demand: PerClass[Duration] | None = Field(
        None, description="Service demand of a transaction, over all its visits; in place of `service_time`."
    )
    visits: PerClass[Number] | None = Field(
        None, description="Visits of a transaction, with `service_time`; 1 if none."
    )
    service_time: PerClass[Duration] | None = Field(None, description="Service time of one visit.")
    at_once: Count | None = Field(
        None,
        description="At discipline `ps`: most jobs that share the servers, the others wait in turn. Sets how the time "
        "here is divided among the transactions of a class, and changes nothing for the class as a whole.",
    )
    capacity: Count | None = Field(
        None, description="Most jobs here, those in service included; arrivals at a full station are dropped."
    )
    rates: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = Field(
        None, min_length=1, description="Speed with 1, 2, ... jobs, the last one for more; in place of `servers`."
    )
    scv: PerClass[Number] | None = Field(
        None, description="Squared coefficient of variation of the service time; that of its distribution if none."
    )
    distribution: PerClass[Distribution] | None = Field(
        None, description="Form of the service time; `exponential` if `scv` is not given either."
    )
    priority: list[Name] | None = Field(
        None, description="Classes in the order they go here, the first first; that of the classes' ranks if none."
    )
    preemptive: bool = Field(False, description="At discipline `priority`: whether better ranks interrupt.")


class PoolFile(FileModel):
    """Threads, connections, a lock: what a transaction holds while it is served elsewhere."""

    size: Count = Field(description="Number of units; 1 is a lock.")
    holds: Annotated[list[Name], BeforeValidator(one_or_more)] = Field(
        description="Stations and inner pools that are used while a unit is held."
    )
    classes: list[Name] = Field([], description="Classes that need a unit; all if none.")


Branch = Annotated[list[Name], BeforeValidator(one_or_more)]


class ForkFile(FileModel):
    """Parts of a transaction that are done at the same time; it goes on when all are done."""

    branches: list[Branch] = Field(description="Each branch is a station or a list of stations.")
    classes: list[Name] = Field([], description="Classes that fork; all if none.")


class FittedFile(FileModel):
    """Measurements behind a fitted model. Solving takes its intervals from them, sizing also its range."""

    source: str = Field("", description="Results that were fitted.")
    users: Annotated[list[float], Field(min_length=2, max_length=2)] = Field(
        description="Lowest and highest number of users measured."
    )
    throughput: PositiveRate = Field(description="Highest throughput measured.")
    verdict: Literal["supported", "doubtful"] = Field(description="Degree to which the points support the curve.")
    held_out_error: float | None = Field(
        None, description="Predicted over measured throughput, less 1, at the highest load, left out of the fit."
    )
    held_out_interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="95 % interval of `held_out_error`; not known if left out."
    )
    limit: Literal["station", "asserted", "none", "other"] | None = Field(
        None,
        description="Limit of the measured load: a `station` of the model, a station that the user `asserted` to be "
        "the limit, `none`, or something `other`, which more servers may not raise; not known if left out.",
    )
    limit_why: str = Field("", description="The evidence of `limit`.")
    kind: Literal["curve", "network"] = Field(
        "curve", description="`curve`: fitted to throughput; `network`: with every station measured."
    )
    percentiles: dict[Name, Annotated[list[Number], Field(min_length=3, max_length=3)]] = Field(
        {},
        description="By class or transaction, measured over computed 95th percentile: mean, least, largest.",
    )
    tails: dict[Name, dict[str, Annotated[list[Number], Field(min_length=3, max_length=3)]]] = Field(
        {},
        description="The same ratios for other measured percentiles: by class or transaction, then by `p50`, `p99`.",
    )
    draws: dict[Name, list[Number]] = Field(
        {}, description="By station, ratio of its demand in each replicate of the bootstrap to its demand in the file."
    )


class ModelFile(FileModel):
    """A queueing network."""

    schema_: Literal["towtank/model/1"] = Field(SCHEMA, alias="schema", description="The format of the file.")
    name: str | None = Field(None, description="Name of the model.")
    title: str | None = Field(None, description="One line about it.")
    classes: dict[Name, ClassFile] = Field(min_length=1, description="Classes of jobs.")
    stations: dict[Name, StationFile] = Field(min_length=1, description="Stations, in the order in which jobs come.")
    pools: dict[Name, PoolFile] = Field({}, description="Pools over stations.")
    forks: dict[Name, ForkFile] = Field({}, description="Parts of transactions that go on at the same time.")
    routing: dict[Name, dict[Name, dict[Name, Share]]] = Field(
        {}, description="By class: from `start` and from each station, the probabilities of the next station, or `end`."
    )
    balancers: dict[Name, BalancerFile] = Field(
        {}, description="Groups of stations of which one is chosen for a visit."
    )
    fitted: FittedFile | None = Field(None, description="Measurements behind the numbers of a fitted model.")
