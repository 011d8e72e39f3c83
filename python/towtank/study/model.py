"""Study files: a question, the system and the workload it is asked of, and the design of the runs that answer it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from towtank import units
from towtank.fields import Duration, FileModel, Name, PositiveDuration, Rate, Share, mapping_or_plain
from towtank.study.across_model import Predict
from towtank.study.claims import Claim
from towtank.study.events import Event
from towtank.study.objectives import read_objective
from towtank.study.precise import Steady, SteadyUntil
from towtank.study.search import SearchLoad
from towtank.study.settle import Settle, SettleUntil
from towtank.study.shares import Pilot

SCHEMA = "towtank/study/1"


UsersOfAll = Annotated[int, Field(ge=0, le=10_000_000)]
UsersAsked = Annotated[
    Annotated[dict[Name, UsersOfAll], Field(min_length=1), Tag("<mapping>")] | Annotated[UsersOfAll, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]
RateAsked = Annotated[
    Annotated[dict[Name, Rate], Field(min_length=1), Tag("<mapping>")] | Annotated[Rate, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]


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
    """Stages of a run at each level of load; only `steady` counts, everything is recorded."""

    ramp_up: Ramp = Field(0.0, description="Users start one by one over this time, or `{each: 20 ms}` after another.")
    settle: Settle = Field(0.0, description="Time for the system to become steady, or `until steady, at most 5 min`.")
    steady: Steady = Field(
        description="Length of the measured stage, or `until precise to 5 %, at most 1 min, at least 10 s`."
    )
    ramp_down: Ramp = Field(0.0, description="Users leave one by one, after the last level.")


def _level(value: object) -> object:
    """Check that a load level is a number of users or a rate, and return it unchanged."""
    if isinstance(value, str):
        if units.rate(value) <= 0:
            raise ValueError(f"must be a rate above 0, got {value!r} instead")
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"must be a whole number of users from 1, or a rate as 5 /s, got {units.shown(value)} instead")
    return value


Level = Annotated[int | str, BeforeValidator(_level)]


class ScheduleStage(FileModel):
    """One stage of a load whose stages are listed one by one."""

    name: str | None = Field(None, min_length=1, description="Its name; the phase if left out.")
    phase: Literal["ramp_up", "settle", "steady", "ramp_down"] = Field(
        description="Its phase; only `steady` counts, everything is recorded."
    )
    duration: Duration = Field(alias="for", description="Its length.")
    users: UsersAsked | None = Field(None, description="Users at its end, of all groups or of each by name.")
    rate: RateAsked | None = Field(
        None, description="Arrivals, of all groups or of each by name; a ramp ends there, other stages hold it."
    )

    @property
    def amount(self) -> float | dict[str, float]:
        """Users or arrival rate, in total or by group; 0 if neither is given. [1, 1/s]"""
        if self.users is not None:
            return self.users if isinstance(self.users, int) else {name: float(n) for name, n in self.users.items()}
        return 0.0 if self.rate is None else self.rate


class Trace(FileModel):
    """Arrivals whose rate follows a CSV file."""

    csv: str = Field(
        min_length=1,
        description="CSV file whose first line names the columns, relative to this one; at least two rows.",
    )
    time: str = Field(
        "time", description="The column with the instants, in increasing order; the first one is the start."
    )
    rate: str = Field("rate", description="The column with the rates; between two instants the rate moves evenly.")
    time_unit: Literal["ns", "us", "ms", "s", "min", "h", "d"] = Field("s", description="Unit of the instants.")
    rate_unit: Literal["/s", "/min", "/h", "/d"] = Field("/s", description="Unit of the rates.")
    scale: float = Field(1.0, gt=0, le=1e9, description="Every rate is multiplied by this.")
    stretch: float = Field(1.0, gt=0, le=1e9, description="Every time is multiplied by this: 0.5 takes half as long.")
    settle: Duration = Field(0.0, description="The first rate is held for so long before the trace begins.")


class Load(FileModel):
    """Amount and form of the load."""

    # A load of kind `find-limit` is read as `FindLimit`; the kind is listed here for messages and reference tables.
    kind: Literal["closed", "open", "find-limit"] = Field(
        "closed",
        description="`closed`: users who wait for answers; `open`: arrivals that do not wait; `find-limit`: see below.",
    )
    users: int | None = Field(None, ge=1, le=10_000_000, description="Users, if they are not a factor.")
    rate: Rate | None = Field(None, description="Arrivals, if they are not a factor.")
    levels: list[Level] | None = Field(
        None,
        min_length=1,
        description="Levels of load that every run goes through one after the other, in place of a factor.",
    )
    arrivals: Literal["constant", "poisson"] = Field("poisson", description="Arrival process of open load.")
    users_at_most: int = Field(
        10_000, ge=1, le=10_000_000, description="Users that open load may have: transactions in hand at once."
    )
    backlog_at_most: int = Field(
        1_000_000,
        ge=0,
        description="Arrivals that may wait for a user; further ones are not started and count as `overflow`.",
    )
    stages: Stages | None = Field(None, description="Stages of a run at each level of load.")
    pilot: Pilot | None = Field(
        None, description="The pilot run of a study whose levels of `users` are shares of the limit, as `20 %`."
    )
    schedule: list[ScheduleStage] | None = Field(
        None, min_length=1, max_length=10_000, description="The stages one by one, in place of an amount and `stages`."
    )
    trace: Trace | None = Field(
        None, description="A file that the rate of open load follows, in place of an amount and `stages`."
    )


class FindLimit(SearchLoad):
    """Load that is raised in steps until the system fails, then lowered to its limit."""

    arrivals: Literal["constant", "poisson"] = Field("poisson", description="Arrival process, if `of` is `rate`.")
    users_at_most: int = Field(10_000, ge=1, le=10_000_000, description="Users that open load may have.")
    backlog_at_most: int = Field(
        1_000_000, ge=0, description="Arrivals that may wait for a user; further ones are not started."
    )
    stages: Stages = Field(description="Stages of every plateau; `ramp_down` once, at the end.")


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
    """Limits of a run; beyond them its result does not count."""

    errors: Share = Field(0.01, description="Share of transactions that may fail.")
    start_lag_p99: Duration = Field(0.01, description="99th percentile of how late requests may leave.")
    start_lag_share: Share = Field(
        0.05, description="Share of the response time, of its mean and its p99, that may be start lag."
    )
    interference: Share = Field(0.10, description="Share of the system's CPUs that other programs may use.")
    not_attributed: Share = Field(
        0.05,
        description="Share of a machine's CPUs that neither a tier nor the generator nor an observer may use.",
    )
    storage_free: Share = Field(
        0.001,
        description="Share of the room and of the inodes of each disk of a host that must be left; `0 %` if the study "
        "looks at a full disk.",
    )
    generator_busy: Share = Field(
        0.85,
        description="Share of the time that the generator's threads may be busy; `100 %` if its end of the "
        "connection is part of the measurement. A search for the limit ends at 85 % nevertheless.",
    )


Overrides = dict[str, Any]
Levels = Annotated[
    Annotated[list[Any], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[str, Overrides], Field(min_length=1), Tag("<mapping>")],
    Discriminator(_list_or_mapping),
]


def _objective(value: object) -> object:
    """Check that the text of an objective is valid, and return it unchanged."""
    if not isinstance(value, str):
        raise ValueError(f"must be an objective as 'p95 of search < 1 s', got {units.shown(value)} instead")
    read_objective(value)
    return value


class ReadBack(FileModel):
    """Read-back after a run: users, longest time and sample."""

    users: int = Field(4, ge=1, le=1000, description="Users who read at once.")
    at_most: PositiveDuration = Field(
        600.0, description="Longest time of the read-back; the rest is then reported as unread."
    )
    sample: int | None = Field(
        None, ge=1, description="Read so many of each kind, drawn at random, in place of all of them."
    )


class StudyFile(FileModel):
    """A study."""

    schema_: Literal["towtank/study/1"] = Field(alias="schema", description="The format of the file.")
    name: Name = Field(description="Name of the study; results folders are named after it.")
    title: str = Field("", description="One line about it.")
    question: str = Field("", description="Question that the study answers.")
    expect: str = Field("", description="Expected answer, and the reason.")
    system: str = Field(min_length=1, description="The system file, relative to this one.")
    workload: str = Field(min_length=1, description="The workload file, relative to this one.")
    seed: int = Field(1, ge=0, lt=2**63, description="Seed of the order of runs and of the random generators in them.")
    repetitions: int = Field(1, ge=1, le=1000, description="Runs of every combination of levels.")
    run_to_run: Share = Field(
        0.10,
        description="Standard deviation of the system's speed from run to run that is assumed if a cell of the "
        "design has one run only. Repeated runs give it themselves.",
    )
    order: Literal["random", "given"] = Field(
        "random",
        description="`random` shuffles the runs of each repetition; `given` takes the levels as written.",
    )
    factors: dict[Name, Levels] = Field(
        default_factory=dict,
        description="Factors: `users` or `rate` as lists, users also as shares of the limit that a pilot run "
        "finds (`[20 %, 70 %]`); others as levels, each a mapping of paths to values.",
    )
    overrides: Overrides = Field(
        default_factory=dict,
        description=(
            "Values of all runs by path: `services.NAME.settings.KEY`, `hosts.NAME.KEY`, `network.KEY`, "
            "`generator.KEY`, `parameters.NAME`, `events.NAME.KEY`."
        ),
    )
    load: AnyLoad = Field(description="Amount of load, its form, and the stages of a run.")
    events: dict[Name, Event] = Field(
        default_factory=dict, description="Events of the system during the load of every run, by name."
    )
    pinning: Pinning = Field(
        "auto", description="`auto` keeps system and generator on different CPUs if the machine has at least two."
    )
    limits: Limits = Field(default_factory=Limits, description="Limits beyond which a run does not count.")
    objectives: list[Annotated[str, BeforeValidator(_objective)]] = Field(
        default_factory=list, description="Objectives of the system, as `p95 of search < 1 s`."
    )
    read_back: ReadBack = Field(
        default_factory=ReadBack,
        description="Read-back, after each run, of everything that was confirmed to users as stored.",
    )
    predict: Predict | None = Field(
        None, description="A configuration that is predicted from the runs of another before it is run."
    )
    size: str | None = Field(
        None, min_length=1, description="A sizing file, relative to this one, that the report answers from the results."
    )
    claims: list[Claim] = Field(
        default_factory=list, description="Claims of a reference about such systems, tested on this one."
    )
    presets: dict[Name, dict[str, Any]] = Field(
        default_factory=dict, description="Variants by name: each has any keys of this file, laid over it."
    )

    @property
    def is_closed(self) -> bool:
        """True if the load is closed: users wait for answers."""
        load = self.load
        return load.of == "users" if isinstance(load, FindLimit) else load.kind == "closed"

    @property
    def trace(self) -> Trace | None:
        """Trace that the load follows; None if it follows none."""
        return None if isinstance(self.load, FindLimit) else self.load.trace

    @property
    def settle(self) -> SettleUntil | float:
        """Length of the settle stages; 0 if the study has a schedule or a trace. [s]"""
        return 0.0 if self.load.stages is None else self.load.stages.settle

    @property
    def steady(self) -> SteadyUntil | float:
        """Length of the steady stages; 0 if the study has a schedule or a trace. [s]"""
        return 0.0 if self.load.stages is None else self.load.stages.steady
