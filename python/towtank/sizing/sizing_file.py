"""Defines the format of sizing files: the load to serve, the objectives, the hardware to choose from, and the
requirements for data, memory and pools.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import Duration, FileModel, Name, PositiveRate, Share, Size, mapping_or_plain, one_or_more
from towtank.model import ModelCount
from towtank.sizing.quantities import Day, Growth, Numbers, Span
from towtank.study import PLANNED_METRICS, read_planned_objective
from towtank.units import shown

SCHEMA: Literal["towtank/sizing/1"] = "towtank/sizing/1"

T = TypeVar("T")
# A single value for all names, or a mapping from names to values.
Named = Annotated[
    Annotated[dict[Name, T], Field(min_length=1), Tag("<mapping>")] | Annotated[T, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]


def sizing_objective(value: object) -> object:
    """Check that a text is an objective that a model can evaluate; return the text."""
    if not isinstance(value, str):
        raise ValueError(f"must be an objective such as 'p95 < 500 ms', got {shown(value)} instead")
    found = read_planned_objective(value)
    if found.metric not in ("mean", "throughput", "loss") and found.metric[-1:] not in set("0123456789"):
        raise ValueError(f"must be about one of {', '.join(PLANNED_METRICS)} here, got {found.metric!r} instead")
    upward = found.metric == "throughput"
    if found.comparison[0] != (">" if upward else "<"):
        raise ValueError(f"must set {'a lower' if upward else 'an upper'} limit, got {value!r} instead")
    if found.users is not None or found.rate is not None or found.phase is not None or found.every_s is not None:
        raise ValueError(
            f"must have no 'at' and no 'in': objectives refer to the load of the sizing, got {value!r} instead"
        )
    if found.value <= 0:
        raise ValueError(f"must have a limit above 0, got {value!r} instead")
    return value


def _headroom(value: object) -> float:
    """Parse a headroom, which is a share that may exceed 100 %."""
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removesuffix("%").strip()
    if not text.endswith("%") or not digits.replace(".", "", 1).isdecimal() or not 0 <= float(digits) <= 1000:
        raise ValueError(f"must be a share such as '20 %', from 0 % to 1000 %, got {shown(value)} instead")
    return float(digits) / 100


class HistoryFile(FileModel):
    """Loads of the past, read from a CSV file."""

    csv: str = Field(
        min_length=1,
        description=(
            "CSV file with past loads; the path is relative to the sizing file. The first line of the CSV file names "
            "the columns. A file `.json` with the output of `towtank history --json` is also allowed: the load is the "
            "throughput of its results."
        ),
    )
    date: str = Field("date", min_length=1, description="Name of the column with the dates, written like 2026-01-31.")
    load: str = Field(
        "users", min_length=1, description="Name of the column with the load, in users or as an arrival rate."
    )
    season: Literal["none", "weekly", "yearly"] = Field(
        "none",
        description=(
            "Season of the load: `weekly` has one factor per day of the week, `yearly` one factor per month, "
            "`none` no factors."
        ),
    )
    trend: Literal["auto", "exponential", "linear"] = Field(
        "auto",
        description=(
            "Form of the growth: `exponential` (by a constant share each year), `linear` (by a constant amount), or "
            "`auto` for the form that fits the history better (exponential if neither is clearly better)."
        ),
    )


class ProfileFile(FileModel):
    """Shape of the load over a day, read from a CSV file."""

    csv: str = Field(
        min_length=1,
        description=(
            "CSV file with the load over a day; the path is relative to the sizing file. The first line of the CSV "
            "file names the columns."
        ),
    )
    time: str = Field(
        "time",
        min_length=1,
        description="Name of the column with the beginning of each interval of the day, written like 08:30.",
    )
    load: str = Field(
        "load",
        min_length=1,
        description=(
            "Name of the column with the load, in any unit: only the ratios between intervals count, and the interval "
            "with the highest value has the requested load."
        ),
    )


class LoadFile(FileModel):
    """Load that the hardware must serve, today and at the horizon. Omitted values are taken from the model."""

    users: Named[ModelCount] | None = Field(
        None,
        description=(
            "Number of users of all closed classes together, or of each class by name; default: those of the model."
        ),
    )
    rate: Named[PositiveRate] | None = Field(
        None,
        description="Arrival rate of all open classes together, or of each class by name; default: that of the model.",
    )
    think: Named[Duration] | None = Field(
        None, description="Think time of all closed classes, or of each class by name; default: that of the model."
    )
    mix: dict[Name, Share] | None = Field(
        None,
        min_length=1,
        description=(
            "Share of each class in all users (closed) or in the arrival rate (open). The shares add up to 100 %. "
            "Default: shares of the model."
        ),
    )
    peak: float = Field(
        1.0, ge=1, le=1000, description="Load at the busiest time, divided by the load in `users` or `rate`."
    )
    growth: Growth | None = Field(None, description="Growth rate of the load, for example `20 % / year`.")
    growth_interval: Annotated[list[Growth], Field(min_length=2, max_length=2)] | None = Field(
        None, description="95 % interval around `growth`, for example [10 % / year, 30 % / year]."
    )
    horizon: Span = Field(0.0, description="Time for which the hardware must suffice, for example `3 years`.")
    history: HistoryFile | None = Field(None, description="Past loads to estimate the growth from; replaces `growth`.")
    profile: ProfileFile | None = Field(
        None, description="Shape of the load over a day; each of its intervals gets the hardware that it needs."
    )
    start: Day | None = Field(
        None,
        description=(
            "Date to which the load applies. Default: today; with `history` its last day, or with a weekly "
            "season the busiest day of its last week."
        ),
    )


class TierFile(FileModel):
    """Tier: a station of the model, and the hardware to choose from for this station."""

    stations: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None,
        description=(
            "Name of the station of the model, in a list with one element; default: the station with the name "
            "of the tier."
        ),
    )
    kind: Literal["cpu", "disk"] = Field("cpu", description="Kind of servers at the station: `cpu` or `disk`.")
    cpus: Numbers | None = Field(None, description="Possible numbers of CPUs (or disks) per node; not with `machines`.")
    nodes: Numbers = Field(
        [1],
        description=(
            "Possible numbers of nodes behind a load balancer; use 1 for a service that cannot run on several nodes."
        ),
    )
    machines: Annotated[list[Name], BeforeValidator(one_or_more), Field(min_length=1)] | None = Field(
        None, description="Names of the machines to choose from; default: `machines` of the sizing file."
    )
    price: Positive | None = Field(None, description="Price of one CPU (or disk); excludes `machines`.")
    disk_size: Size | None = Field(None, description="Usable capacity of one disk, with `kind: disk`.")


class MemoryFile(FileModel):
    """Memory that a program or data use on every node of a tier."""

    what: str = Field(min_length=1, description="Name of the consumer of memory, for example `sessions`.")
    size: Size | None = Field(
        None, description="Memory per node, CPU, user, transaction or connection, as chosen by `per`."
    )
    per: Literal["node", "cpu", "user", "transaction", "connection"] = Field(
        "node",
        description=(
            "Quantity by which `size` is multiplied. Users, transactions in progress and connections are "
            "divided among the nodes."
        ),
    )
    share: Share | None = Field(
        None, description="Memory as a share of the data, for example for an index or a cache; replaces `size`."
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.size is None) == (self.share is None):
            raise ValueError("must have 'size' or 'share', and not both")
        return self


class DataFile(FileModel):
    """Amount, growth and copies of the data to store on disks."""

    now: Size = Field(description="Amount of data today.")
    growth: Growth | None = Field(
        None, description="Growth rate of the data until the horizon; default: growth of the load."
    )
    free: Share = Field(0.2, lt=1, description="Smallest share of the disks that must stay free.")
    copies: int = Field(1, ge=1, le=100, description="Number of copies of the data to store.")


class WantedPoolFile(FileModel):
    """Pool of units, such as connections, whose size the sizing computes."""

    holds: Annotated[list[Name], BeforeValidator(one_or_more), Field(min_length=1)] = Field(
        description=(
            "Names of the stations that a job visits while it holds a unit; the residence time there is the "
            "holding time."
        )
    )
    wait_at_most: Duration | None = Field(
        None, gt=0, description="Largest mean wait for a unit; default: 1 % of the holding time."
    )


class DiskKindFile(FileModel):
    """Type of disk to which what-if questions can refer."""

    service_time: Duration = Field(gt=0, description="Mean service time of one disk operation.")


class HitRatioFile(FileModel):
    """Hit ratio of the cache in front of a station, for several sizes of the cache's memory."""

    station: Name = Field(description="Name of the station behind the cache.")
    memory: Annotated[list[Size], Field(min_length=2)] = Field(
        description="Memory sizes of the cache, in increasing order."
    )
    hit_ratio: Annotated[list[Share], Field(min_length=2)] = Field(description="Hit ratio for each size in `memory`.")
    now: Size = Field(description="Memory size with which the demand of the station was measured.")


class SizingFile(FileModel):
    """Input of a sizing: load, objectives, and hardware to choose from."""

    schema_: Literal["towtank/sizing/1"] = Field(
        SCHEMA, alias="schema", description="Name and version of the file format."
    )
    title: str = Field("", description="Description of the sizing in one line.")
    load: LoadFile = Field(LoadFile(), description="Load to serve, today and at the horizon.")
    objectives: list[Annotated[str, BeforeValidator(sizing_objective)]] = Field(
        [], description="Objectives at the load of the horizon, for example `p95 < 500 ms` or `mean of web < 200 ms`."
    )
    probability: Share = Field(
        0.9, gt=0, lt=1, description="Smallest probability with which all objectives must be met."
    )
    headroom: Annotated[float, BeforeValidator(_headroom)] = Field(
        0.0, description="Extra load that the hardware must be able to serve, for example `20 %`.",
        json_schema_extra={"type": "string", "examples": ["20 %"]},
    )  # fmt: skip
    utilization_at_most: Named[Share] | None = Field(
        None,
        description=(
            "Highest utilization of all stations, or of each station by name, while all nodes are up; default: 100 %."
        ),
    )
    nodes_lost: int = Field(
        0,
        ge=0,
        le=100,
        description=(
            "Number of nodes that any one tier may lose while the objectives are still met; only for "
            "tiers with several nodes."
        ),
    )
    tiers: dict[Name, TierFile] = Field(
        {}, description="Tiers by name, with the hardware to choose from; default: each station is a tier."
    )
    measured_on: Name | None = Field(
        None, description="Name of the machine on which the demands of the model were measured."
    )
    machines: list[Name] = Field([], description="Names of the machines to choose from, for tiers without `machines`.")
    machine_files: list[str] = Field([], description="Files with further machines, relative to the sizing file.")
    scale: str = Field(
        "towtank", min_length=1, description="Scale of the ratings that convert demands between machines."
    )
    memory: dict[Name, list[MemoryFile]] = Field(
        {}, description="Memory that each tier needs: lists of consumers, by tier."
    )
    memory_free: Share = Field(0.2, lt=1, description="Smallest share of the memory that must stay free.")
    data: DataFile | None = Field(None, description="Data to store on disks.")
    pools: dict[Name, WantedPoolFile] = Field({}, description="Pools whose sizes the sizing computes, by name.")
    keep_alive: Duration | None = Field(
        None,
        description=(
            "Time that a connection of an open class stays open after a response; users of closed classes keep "
            "their connections open."
        ),
    )
    uncertainty: Share | None = Field(
        None, description="Relative standard deviation of every demand, for models that do not state their uncertainty."
    )
    disk_kinds: dict[Name, DiskKindFile] = Field({}, description="Kinds of disks for what-if questions, by name.")
    hit_ratios: dict[Name, HitRatioFile] = Field({}, description="Caches for what-if questions about memory, by name.")
    what_if: list[str] = Field([], description="What-if changes to evaluate, for example `cpu x1.5` or `nodes app=3`.")
