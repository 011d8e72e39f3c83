"""Study files: a question, the system and the workload it is asked of, and the design of the runs that answer it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from towtank import units
from towtank.fields import Duration, FileModel, Name, PositiveDuration, Rate, Share, mapping_or_plain
from towtank.study.objectives import read_objective
from towtank.study.search import SearchLoad
from towtank.study.settle import Settle

SCHEMA = "towtank/study/1"


class EachRamp(FileModel):
    """A ramp that takes the same time for every user."""

    each: Duration = Field(description="Time from one user to the next.")


def _list_or_mapping(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<mapping>"


Ramp = Annotated[
    Annotated[EachRamp, Tag("<mapping>")] | Annotated[Duration, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]


class Stages(FileModel):
    """What a run goes through at each level of load; only `steady` counts, everything is recorded."""

    ramp_up: Ramp = Field(0.0, description="Users start one by one over this time, or `{each: 20 ms}` after another.")
    settle: Settle = Field(
        0.0, description="The system comes to rest: over this time, or `until steady, at most 5 min`."
    )
    steady: PositiveDuration = Field(description="The time that counts.")
    ramp_down: Ramp = Field(0.0, description="Users leave one by one, after the last level.")


def _level(value: object) -> object:
    """A number of users, or a rate as text."""
    if isinstance(value, str):
        if units.rate(value) <= 0:
            raise ValueError(f"must be a rate above 0, got {value!r} instead")
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"must be a whole number of users from 1, or a rate as 5 /s, got {units.shown(value)} instead")
    return value


Level = Annotated[int | str, BeforeValidator(_level)]


class Load(FileModel):
    """How much load, and how it comes."""

    kind: Literal["closed", "open"] = Field(
        "closed",
        description="`closed`: users who wait for answers; `open`: arrivals that do not wait; `find-limit`: see below.",
    )
    users: int | None = Field(None, ge=1, le=10_000_000, description="Users, where they are not a factor.")
    rate: Rate | None = Field(None, description="Arrivals, where they are not a factor.")
    levels: list[Level] | None = Field(
        None,
        min_length=1,
        description="Levels of load that every run goes through one after the other, in place of a factor.",
    )
    arrivals: Literal["constant", "poisson"] = Field("poisson", description="How arrivals of open load come.")
    users_at_most: int = Field(10_000, ge=1, le=10_000_000, description="Users that open load may have.")
    backlog_at_most: int = Field(
        1_000_000, ge=0, description="Arrivals that may wait for a user; further ones are not started."
    )
    stages: Stages = Field(description="What a run goes through.")


class FindLimit(SearchLoad):
    """A load that is raised by stages until the system fails, then brought back to its limit."""

    arrivals: Literal["constant", "poisson"] = Field("poisson", description="How arrivals come, where `of` is `rate`.")
    users_at_most: int = Field(10_000, ge=1, le=10_000_000, description="Users that open load may have.")
    backlog_at_most: int = Field(
        1_000_000, ge=0, description="Arrivals that may wait for a user; further ones are not started."
    )
    stages: Stages = Field(description="What every plateau goes through; `ramp_down` once, at the end.")


def _kind_of_load(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "<search>" if kind == "find-limit" else "<levels>"


AnyLoad = Annotated[
    Annotated[Load, Tag("<levels>")] | Annotated[FindLimit, Tag("<search>")],
    Discriminator(_kind_of_load),
]


class PinnedCpus(FileModel):
    """CPUs by role."""

    system: list[Annotated[int, Field(ge=0)]] = Field(min_length=1, description="CPUs of the system under test.")
    generator: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, description="CPUs of generator, probe and conductor."
    )


Pinning = Annotated[
    Annotated[PinnedCpus, Tag("<mapping>")] | Annotated[Literal["auto", "off"], Tag("<plain>")],
    Discriminator(mapping_or_plain),
]


class Limits(FileModel):
    """What a run must keep to for its result to count."""

    errors: Share = Field(0.01, description="Share of transactions that may fail.")
    start_lag_p99: Duration = Field(0.01, description="99th percentile of how late requests may leave.")
    interference: Share = Field(0.10, description="Share of the system's CPUs that other programs may use.")


Overrides = dict[str, Any]
Levels = Annotated[
    Annotated[list[Any], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[str, Overrides], Field(min_length=1), Tag("<mapping>")],
    Discriminator(_list_or_mapping),
]


def _objective(value: object) -> object:
    """Check the text of an objective; it is read again where it is used."""
    if not isinstance(value, str):
        raise ValueError(f"must be an objective as 'p95 of search < 1 s', got {units.shown(value)} instead")
    read_objective(value)
    return value


class StudyFile(FileModel):
    """A study."""

    schema_: Literal["towtank/study/1"] = Field(alias="schema", description="The format of the file.")
    name: Name = Field(description="Name of the study; results folders are named after it.")
    title: str = Field("", description="One line about it.")
    question: str = Field("", description="What it is to answer.")
    expect: str = Field("", description="What is expected, and why.")
    system: str = Field(min_length=1, description="The system file, relative to this one.")
    workload: str = Field(min_length=1, description="The workload file, relative to this one.")
    seed: int = Field(1, ge=0, lt=2**63, description="Of the order of runs and of everything random in them.")
    repetitions: int = Field(1, ge=1, le=1000, description="Runs of every combination of levels.")
    order: Literal["random", "given"] = Field(
        "random",
        description="`random` shuffles the runs of each repetition; `given` takes the levels as written.",
    )
    factors: dict[Name, Levels] = Field(
        default_factory=dict,
        description="What is varied: `users` or `rate` as lists; others as levels, each a mapping of paths to values.",
    )
    overrides: Overrides = Field(
        default_factory=dict,
        description="Values of all runs by path: `services.NAME.settings.KEY`, `parameters.NAME`.",
    )
    load: AnyLoad = Field(description="Amount of load, its form, and the stages of a run.")
    pinning: Pinning = Field(
        "auto", description="`auto` keeps system and generator on different CPUs where there are two."
    )
    limits: Limits = Field(default_factory=Limits, description="What a run must keep to.")
    objectives: list[Annotated[str, BeforeValidator(_objective)]] = Field(
        default_factory=list, description="What the system should reach, as `p95 of search < 1 s`."
    )
    presets: dict[Name, dict[str, Any]] = Field(
        default_factory=dict, description="Variants by name: each has any keys of this file, laid over it."
    )

    @property
    def is_closed(self) -> bool:
        """Whether the load is users who wait for answers."""
        load = self.load
        return load.of == "users" if isinstance(load, FindLimit) else load.kind == "closed"
