"""Defines the schema of study files."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from towtank import units
from towtank.fields import Duration, FileModel, Name, PositiveDuration, Rate, Share, mapping_or_plain
from towtank.study.across_model import Predict
from towtank.study.claims import Claim
from towtank.study.events import Event
from towtank.study.objectives import read_objective
from towtank.study.precise import Steady, SteadyUntil
from towtank.study.repeat import Repeat
from towtank.study.search import SearchLoad, check_amount
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
    """Ramp with a fixed time between the starts of two users."""

    each: Duration = Field(description="Time between the starts of two successive users.")


Ramp = Annotated[
    Annotated[EachRamp, Tag("<mapping>")] | Annotated[Duration, Tag("<plain>")],
    Discriminator(mapping_or_plain),
]


class Stages(FileModel):
    """Stages of a run at each level of load. The results are computed from the stage `steady` only, although all stages
    are recorded.
    """

    ramp_up: Ramp = Field(
        0.0,
        description=(
            "Time over which users start one by one, or time between two starts, for example `{each: 20 ms}`."
        ),
    )
    settle: Settle = Field(
        0.0, description="Time for the system to become steady, for example `2 min` or `until steady, at most 5 min`."
    )
    steady: Steady = Field(
        description=(
            "Length of the measured stage, for example `5 min` or `until precise to 5 %, at most 1 min, at least 10 s`."
        )
    )
    ramp_down: Ramp = Field(0.0, description="Time over which the users leave one by one after the last level of load.")


Level = Annotated[int | str, BeforeValidator(partial(check_amount, what="a rate "))]


class ScheduleStage(FileModel):
    """Stage in the `schedule` of a load."""

    name: str | None = Field(None, min_length=1, description="Name of the stage; default: its phase.")
    phase: Literal["ramp_up", "settle", "steady", "ramp_down"] = Field(
        description="Phase of the stage; results count only `steady`, although all stages are recorded."
    )
    duration: Duration = Field(alias="for", description="Duration of the stage.")
    users: UsersAsked | None = Field(
        None, description="Number of users at the end of the stage: of all groups together, or of each group by name."
    )
    rate: RateAsked | None = Field(
        None,
        description=(
            "Arrival rate of all groups together, or of each group by name; a ramp ends at this rate, "
            "other stages hold it."
        ),
    )

    @property
    def amount(self) -> float | dict[str, float]:
        """Number of users or arrival rate of the stage, in total or by group; 0 if neither is given. [1, 1/s]"""
        if self.users is not None:
            return self.users if isinstance(self.users, int) else {name: float(n) for name, n in self.users.items()}
        return 0.0 if self.rate is None else self.rate


class Trace(FileModel):
    """Open load whose arrival rate follows a CSV file."""

    csv: str = Field(
        min_length=1,
        description=(
            "CSV file with the arrival rates; the path is relative to the study file. The first line of the CSV file "
            "names the columns; two or more rows follow."
        ),
    )
    time: str = Field(
        "time", description="Name of the column with the times, in increasing order; the first time is the start."
    )
    rate: str = Field(
        "rate", description="Name of the column with the arrival rates; between two times, the rate changes linearly."
    )
    time_unit: Literal["ns", "us", "ms", "s", "min", "h", "d"] = Field(
        "s", description="Unit of the times in the file."
    )
    rate_unit: Literal["/s", "/min", "/h", "/d"] = Field("/s", description="Unit of the rates in the file.")
    scale: float = Field(1.0, gt=0, le=1e9, description="Factor to multiply all rates by.")
    stretch: float = Field(1.0, gt=0, le=1e9, description="Factor to multiply all times by: 0.5 halves the duration.")
    settle: Duration = Field(0.0, description="Time to hold the first rate before the trace begins.")


class Load(FileModel):
    """Kind and amount of the load."""

    # Loads of kind `find-limit` use the model `FindLimit`. This list contains the kind only for messages and reference
    # tables.
    kind: Literal["closed", "open", "find-limit"] = Field(
        "closed",
        description=(
            "Kind of load: `closed` has users who wait for responses, `open` has arrivals that do not "
            "wait, `find-limit` searches for the highest load that the system can serve."
        ),
    )
    users: int | None = Field(None, ge=1, le=10_000_000, description="Number of users, if `users` is not a factor.")
    rate: Rate | None = Field(None, description="Arrival rate, if `rate` is not a factor.")
    levels: list[Level] | None = Field(
        None,
        min_length=1,
        description="Levels of load, in users or as rates, that each run goes through in order; replaces a factor.",
    )
    arrivals: Literal["constant", "poisson"] = Field("poisson", description="Arrival process of open load.")
    users_at_most: int = Field(
        10_000,
        ge=1,
        le=10_000_000,
        description="Largest number of transactions of open load that may be in progress at the same time.",
    )
    backlog_at_most: int = Field(
        1_000_000,
        ge=0,
        description=(
            "Largest number of arrivals that wait for a user; further arrivals are not started and count as `overflow`."
        ),
    )
    stages: Stages | None = Field(None, description="Durations of the stages of a run at each level of load.")
    pilot: Pilot | None = Field(
        None,
        description=(
            "Settings of the pilot run. It finds the system's load limit if levels of `users` are shares of that "
            "limit, for example `20 %`."
        ),
    )
    schedule: list[ScheduleStage] | None = Field(
        None,
        min_length=1,
        max_length=10_000,
        description="List of all stages with their load; replaces `users` or `rate` and `stages`.",
    )
    trace: Trace | None = Field(
        None, description="CSV file that the rate of open load follows; replaces `rate` and `stages`."
    )


class FindLimit(SearchLoad):
    """Search for the load limit: the load rises in steps until a stop condition is met; further levels then narrow down
    the limit.
    """

    arrivals: Literal["constant", "poisson"] = Field("poisson", description="Arrival process, if `of` is `rate`.")
    users_at_most: int = Field(
        10_000,
        ge=1,
        le=10_000_000,
        description="Largest number of transactions of open load that may be in progress at the same time.",
    )
    backlog_at_most: int = Field(
        1_000_000,
        ge=0,
        description="Largest number of arrivals that wait for a user; further arrivals are not started.",
    )
    stages: Stages = Field(description="Durations of the stages of each plateau; `ramp_down` comes once, at the end.")


def _kind_of_load(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "<search>" if kind == "find-limit" else "<levels>"


AnyLoad = Annotated[
    Annotated[Load, Tag("<levels>")] | Annotated[FindLimit, Tag("<search>")],
    Discriminator(_kind_of_load),
]


class PinnedCpus(FileModel):
    """Numbers of the CPUs for the system and for the load generator."""

    system: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, description="Numbers of the CPUs for the system under test."
    )
    generator: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, description="Numbers of the CPUs for the load generator, the probe and Towtank itself."
    )


Pinning = Annotated[
    Annotated[PinnedCpus, Tag("<mapping>")] | Annotated[Literal["auto", "off"], Tag("<plain>")],
    Discriminator(mapping_or_plain),
]


class Limits(FileModel):
    """Limits of a run, for example for errors, start lag and the CPU use of other programs. A run that violates a
    limit does not count.
    """

    errors: Share = Field(0.01, description="Largest share of transactions that may fail.")
    start_lag_p99: Duration = Field(
        0.01,
        description=(
            "Largest 99th percentile of the start lag, the delay between intended and actual start of a request."
        ),
    )
    start_lag_share: Share = Field(
        0.05, description="Largest share of start lag in the response time, for its mean and for its 99th percentile."
    )
    interference: Share = Field(0.10, description="Largest share of the system's CPUs that other programs may use.")
    not_attributed: Share = Field(
        0.05,
        description="Largest share of a machine's CPU time that no tier, load generator or observer accounts for.",
    )
    storage_free: Share = Field(
        0.001,
        description=(
            "Smallest share of space and inodes that must stay free on each disk of a host; `0 %` for "
            "studies of full disks."
        ),
    )
    generator_busy: Share = Field(
        0.85,
        description=(
            "Largest share of time that the generator's threads may be busy; `100 %` if the generator itself is "
            "part of the measurement. A search for the limit always stops at 85 %."
        ),
    )


Overrides = dict[str, object]
Levels = Annotated[
    Annotated[list[Any], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[str, Overrides], Field(min_length=1), Tag("<mapping>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<mapping>"),
]


def _objective(value: object) -> object:
    """Check that the text of an objective is valid, and return it unchanged."""
    if not isinstance(value, str):
        raise ValueError(f"must be an objective such as 'p95 of search < 1 s', got {units.shown(value)} instead")
    read_objective(value)
    return value


class ReadBack(FileModel):
    """Settings with which stored items are read back after a run."""

    users: int = Field(4, ge=1, le=1000, description="Number of concurrent users that read back.")
    at_most: PositiveDuration = Field(
        600.0, description="Time limit of the read-back; items not read by then are reported as unread."
    )
    sample: int | None = Field(
        None, ge=1, description="Number of items of each kind to read back, drawn at random; default: all items."
    )


class StudyFile(FileModel):
    """Study: a question, and the runs of a system and a workload that answer the question."""

    schema_: Literal["towtank/study/1"] = Field(alias="schema", description="Name and version of the file format.")
    name: Name = Field(description="Name of the study; names of results folders begin with it.")
    title: str = Field("", description="Description of the study in one line.")
    question: str = Field("", description="Question that the study answers.")
    expect: str = Field("", description="Expected answer to the question, with the reason.")
    system: str = Field(min_length=1, description="System file, relative to the study file.")
    workload: str = Field(min_length=1, description="Workload file, relative to the study file.")
    seed: int = Field(
        1, ge=0, lt=2**63, description="Seed of the random generators: order of runs, and random choices in each run."
    )
    repetitions: int = Field(1, ge=1, le=1000, description="Number of runs of each combination of levels.")
    repeat: Repeat | None = Field(
        None,
        description=(
            "Rule in place of `repetitions`: `until decided, at most 8, within 10 min` repeats all runs until every "
            "claim and objective is confirmed or refuted."
        ),
    )
    run_to_run: Share = Field(
        0.10,
        description=(
            "Relative standard deviation of the system's speed between runs, assumed for combinations of "
            "levels with a single run."
        ),
    )
    order: Literal["random", "given"] = Field(
        "random",
        description=(
            "Order of the runs: `random` shuffles the runs of each repetition, `given` keeps the order of the file."
        ),
    )
    factors: dict[Name, Levels] = Field(
        default_factory=dict,
        description=(
            "Factors by name. `users` and `rate` are lists; levels of `users` can be shares of the limit that a "
            "pilot run finds (`[20 %, 70 %]`). Other factors map named levels to values by path."
        ),
    )
    overrides: Overrides = Field(
        default_factory=dict,
        description=(
            "Values to change in all runs, by path: `services.NAME.settings.KEY`, `hosts.NAME.KEY`, "
            "`network.KEY`, `generator.KEY`, `parameters.NAME`, `events.NAME.KEY`."
        ),
    )
    load: AnyLoad = Field(description="Kind and amount of the load, and the stages of a run.")
    events: dict[Name, Event] = Field(
        default_factory=dict,
        description="Events during the load of each run, by name, for example failures of services.",
    )
    pinning: Pinning = Field(
        "auto",
        description=(
            "CPUs for system and generator: `auto` separates them on a machine with at least two CPUs, `off` "
            "disables pinning, `{system, generator}` lists CPUs."
        ),
    )
    limits: Limits = Field(
        default_factory=Limits, description="Limits for valid results; a run that exceeds a limit does not count."
    )
    objectives: list[Annotated[str, BeforeValidator(_objective)]] = Field(
        default_factory=list, description="Objectives of the system, for example `p95 of search < 1 s`."
    )
    read_back: ReadBack = Field(
        default_factory=ReadBack,
        description=(
            "Settings of the read-back: after each run, Towtank reads all items that the system confirmed as stored."
        ),
    )
    predict: Predict | None = Field(
        None, description="Prediction of a configuration, made before its runs, from the runs of another configuration."
    )
    size: str | None = Field(
        None,
        min_length=1,
        description=(
            "Sizing file, relative to the study file; the report adds the sizing, computed from the measured results."
        ),
    )
    claims: list[Claim] = Field(
        default_factory=list, description="Claims of a reference about comparable systems, which the study tests."
    )
    presets: dict[Name, Overrides] = Field(
        default_factory=dict,
        description="Variants of the study by name; the keys in a variant replace those of the study.",
    )

    @property
    def is_closed(self) -> bool:
        """True if the load is closed: each user sends the next request only after the response to the previous one."""
        load = self.load
        return load.of == "users" if isinstance(load, FindLimit) else load.kind == "closed"

    @property
    def blocks(self) -> int:
        """Largest number of runs of each combination of levels. [1]"""
        return self.repetitions if self.repeat is None else self.repeat.at_most

    @property
    def trace(self) -> Trace | None:
        """Trace that the arrival rate follows; None if the load does not follow a trace."""
        return None if isinstance(self.load, FindLimit) else self.load.trace

    @property
    def settle(self) -> SettleUntil | float:
        """Length of the settle stages, or the condition that ends them; 0 for a schedule or a trace. [s]"""
        return 0.0 if self.load.stages is None else self.load.stages.settle

    @property
    def steady(self) -> SteadyUntil | float:
        """Length of the steady stages, or the condition that ends them; 0 for a schedule or a trace. [s]"""
        return 0.0 if self.load.stages is None else self.load.stages.steady
