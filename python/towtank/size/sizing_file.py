"""Sizing files: the load to carry, the objectives, the hardware to choose from, and data, memory and pools to fit."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import Duration, FileModel, Name, PositiveRate, Share, Size, mapping_or_plain, one_or_more
from towtank.model.file import Count
from towtank.size.quantities import Day, Growth, Numbers, Span
from towtank.study.objectives import read_objective
from towtank.units import shown

SCHEMA: Literal["towtank/sizing/1"] = "towtank/sizing/1"

T = TypeVar("T")
# One value for all, or a mapping from names to values.
Named = Annotated[
    Annotated[dict[Name, T], Field(min_length=1), Tag("<mapping>")] | Annotated[T, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]


def sizing_objective(value: object) -> object:
    """Check the text of an objective that a model can evaluate."""
    if not isinstance(value, str):
        raise ValueError(f"must be an objective as 'p95 < 500 ms', got {shown(value)} instead")
    found = read_objective(value)
    if found.metric not in ("mean", "p50", "p90", "p95", "p99", "p99.9", "throughput"):
        raise ValueError(f"must be about mean, p50 to p99.9 or throughput here, got {found.metric!r} instead")
    upward = found.metric == "throughput"
    if found.comparison[0] != (">" if upward else "<"):
        raise ValueError(f"must ask for {'at least' if upward else 'at most'} a value, got {value!r} instead")
    if found.users is not None or found.rate is not None or found.phase is not None or found.every_s is not None:
        raise ValueError(f"must have no 'at' and no 'in': the load of the sizing says when, got {value!r} instead")
    if found.value <= 0:
        raise ValueError(f"must have a limit above 0, got {value!r} instead")
    return value


def _headroom(value: object) -> float:
    """Parse a share that may exceed 100 %."""
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removesuffix("%").strip()
    if not text.endswith("%") or not digits.replace(".", "", 1).isdecimal() or not 0 <= float(digits) <= 1000:
        raise ValueError(f"must be a share as '20 %', from 0 % to 1000 %, got {shown(value)} instead")
    return float(digits) / 100


class HistoryFile(FileModel):
    """History of the load."""

    csv: str = Field(min_length=1, description="CSV file whose first line names the columns, relative to this one.")
    date: str = Field("date", min_length=1, description="Column of the dates, as 2026-01-31.")
    load: str = Field("users", min_length=1, description="Column of the users, or of the rates.")
    season: Literal["none", "weekly", "yearly"] = Field(
        "none", description="Season: a factor for each day of the week, or for each month."
    )


class LoadFile(FileModel):
    """Load, now and later. Values that are not given are those of the model."""

    users: Named[Count] | None = Field(None, description="Users of all closed classes together, or of each.")
    rate: Named[PositiveRate] | None = Field(None, description="Arrivals of all open classes together, or of each.")
    think: Named[Duration] | None = Field(None, description="Think time of closed classes.")
    mix: dict[Name, Share] | None = Field(
        None, min_length=1, description="Shares of the classes in the users or the rate; together 100 %."
    )
    peak: float = Field(1.0, ge=1, le=1000, description="Load in the busiest time over the load given.")
    growth: Growth | None = Field(None, description="Growth of the load.")
    growth_interval: Annotated[list[Growth], Field(min_length=2, max_length=2)] | None = Field(
        None, description="95 % interval of the growth, which contains `growth`, as [10 % / year, 30 % / year]."
    )
    horizon: Span = Field(0.0, description="Time for which the hardware must last.")
    history: HistoryFile | None = Field(None, description="Past loads that give the growth, in place of `growth`.")
    start: Day | None = Field(
        None,
        description="Day of the given load. By default today; with a history its last day, with a weekly season "
        "the busiest day of its last week.",
    )


class TierFile(FileModel):
    """Station of the model, the machines that it may run on, and their possible numbers."""

    stations: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The station of the model, one only; by default the station with the tier's name."
    )
    kind: Literal["cpu", "disk"] = Field("cpu", description="Kind of the servers of the stations.")
    cpus: Numbers | None = Field(None, description="CPUs (disks) of one node; not with `machines`.")
    nodes: Numbers = Field([1], description="Nodes behind a balancer; a service that does not scale out has 1.")
    machines: Annotated[list[Name], BeforeValidator(one_or_more), Field(min_length=1)] | None = Field(
        None, description="Machines that a node may be, those of the whole file if none."
    )
    price: Positive | None = Field(None, description="Price of one CPU (disk), without `machines`.")
    disk_size: Size | None = Field(None, description="Room on one disk, with `kind: disk`.")


class MemoryFile(FileModel):
    """Consumer of memory on every node of a tier."""

    what: str = Field(min_length=1, description="Name of the consumer, as `sessions`.")
    size: Size | None = Field(None, description="Memory for each of `per`.")
    per: Literal["node", "cpu", "user", "transaction", "connection"] = Field(
        "node", description="Unit of `size`; the nodes share users, transactions in the system and connections."
    )
    share: Share | None = Field(None, description="In place of `size`: share of the data, as of an index or a cache.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.size is None) == (self.share is None):
            raise ValueError("must have 'size' or 'share', and not both")
        return self


class DataFile(FileModel):
    """Data that must have room on disks."""

    now: Size = Field(description="Size today.")
    growth: Growth | None = Field(None, description="Growth until the horizon; that of the load if none.")
    free: Share = Field(0.2, lt=1, description="Share of the disks that stays free.")
    copies: int = Field(1, ge=1, le=100, description="Number of copies.")


class WantedPoolFile(FileModel):
    """Pool whose size is to be found."""

    holds: Annotated[list[Name], BeforeValidator(one_or_more), Field(min_length=1)] = Field(
        description="Stations that are used while a unit is held: their residence is the holding time."
    )
    wait_at_most: Duration | None = Field(
        None, gt=0, description="Mean wait for a unit; 1 % of the holding time if none."
    )


class DiskKindFile(FileModel):
    """Kind of disk, for what-if questions."""

    service_time: Duration = Field(gt=0, description="Mean time of one operation.")


class HitRatioFile(FileModel):
    """Hit ratio of a cache in memory in front of a station."""

    station: Name = Field(description="The station behind the cache.")
    memory: Annotated[list[Size], Field(min_length=2)] = Field(description="Sizes of the memory, ascending.")
    hit_ratio: Annotated[list[Share], Field(min_length=2)] = Field(description="Share of hits with each.")
    now: Size = Field(description="Memory with which the demand of the station was found.")


class SizingFile(FileModel):
    """Question for a sizing."""

    schema_: Literal["towtank/sizing/1"] = Field(SCHEMA, alias="schema", description="The format of the file.")
    title: str = Field("", description="One line about it.")
    load: LoadFile = Field(LoadFile(), description="Load, now and later.")
    objectives: list[Annotated[str, BeforeValidator(sizing_objective)]] = Field(
        [], description="Objectives at that load, as `p95 < 500 ms` or `mean of web < 200 ms`."
    )
    probability: Share = Field(0.9, gt=0, lt=1, description="Probability with which the objectives must be met.")
    headroom: Annotated[float, BeforeValidator(_headroom)] = Field(
        0.0, description="Additional load that must be carried, as `20 %`.",
        json_schema_extra={"type": "string", "examples": ["20 %"]},
    )  # fmt: skip
    utilization_at_most: Named[Share] | None = Field(
        None, description="Highest utilization of every station, or of those named, with all nodes up; 100 % if none."
    )
    nodes_lost: int = Field(
        0, ge=0, le=100, description="Nodes that any one tier of several may lose while the objectives still hold."
    )
    tiers: dict[Name, TierFile] = Field(
        {}, description="Tiers with the hardware that may be chosen; every station alone if none."
    )
    measured_on: Name | None = Field(None, description="Machine that the demands of the model come from.")
    machines: list[Name] = Field([], description="Machines that a node may be.")
    machine_files: list[str] = Field([], description="Files with machines of your own, relative to this one.")
    scale: str = Field("towtank", min_length=1, description="Scale of the ratings that compares machines.")
    memory: dict[Name, list[MemoryFile]] = Field({}, description="Consumers of memory, by tier.")
    memory_free: Share = Field(0.2, lt=1, description="Share of the memory that stays free.")
    data: DataFile | None = Field(None, description="Data on disks.")
    pools: dict[Name, WantedPoolFile] = Field({}, description="Pools whose sizes are to be found.")
    keep_alive: Duration | None = Field(
        None, description="Time that a connection of an open class stays open after its answer; users keep theirs."
    )
    uncertainty: Share | None = Field(
        None, description="Relative standard deviation of every demand, if the model has none of its own."
    )
    disk_kinds: dict[Name, DiskKindFile] = Field({}, description="Kinds of disks for what-if questions.")
    hit_ratios: dict[Name, HitRatioFile] = Field({}, description="Caches for what-if questions about memory.")
    what_if: list[str] = Field([], description="Changes to the answer, as `cpu x1.5` or `nodes app=3`.")
