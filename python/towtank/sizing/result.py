"""Result of a sizing: the types of the JSON document `towtank/size/1`. Each attribute is a key of the document, as
`docs/reference/size.md` describes; a key that is never set is left out of the document.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from towtank.model import FitAssumption
from towtank.sizing.interval import Interval, interval_document, interval_of

SCHEMA: Literal["towtank/size/1"] = "towtank/size/1"
Number = int | float
Unbounded = Annotated[Number, BeforeValidator(lambda value: math.inf if value is None else value)]
"""Number that is infinite without a steady state; JSON files have null in its place."""
Known = Annotated[Interval | None, BeforeValidator(interval_of), PlainSerializer(interval_document)]
"""95 % interval of the value next to it, in the same unit; None if unknown."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True, defer_build=True)


class ObjectiveResult(_Part):
    """Limit and value of an objective, in the unit of the objective ([s], [1/s] or [ratio]), and the value as text.
    The value is None without a steady state.
    """

    objective: str
    limit: Number
    value: Number | None
    interval: Known = None
    shown: str = ""


class ChangedObjective(ObjectiveResult):
    """Objective after a what-if change; `by` is the method that gave the value, such as `simulated`."""

    band_95: tuple[Number, Number] | None
    met: bool
    by: str


class ClassResult(_Part):
    """Throughput [1/s], response time [s] and number of transactions in the system [1] of a class."""

    throughput_per_s: Number
    throughput_interval: Known = None
    response_time_s: Unbounded
    response_time_interval: Known = None
    users_in_system: Unbounded
    users_in_system_interval: Known = None


class ChangedClass(ClassResult):
    """Class after a what-if change."""

    throughput_band_95: tuple[Number, Number] | None
    response_time_band_95: tuple[Number, Number] | None


class Busiest(_Part):
    """Busiest station and its utilization; the utilization is None without a steady state. [ratio]"""

    station: str
    utilization: Number | None
    interval: Known = None


class CandidateResult(_Part):
    """Hardware with its cost, objectives, busiest station and probability. `scenario` is the tier with lost nodes in
    the scenario of the objectives; `why_not` lists the requirements that the hardware misses.
    """

    configuration: str
    cost: Number
    objectives: tuple[ObjectiveResult, ...]
    scenario: str | None
    busiest: Busiest
    probability: Number | None
    probability_interval: Known = None
    why_not: tuple[str, ...]


class SpeedResult(_Part):
    """Speed relative to the machine of the model, with its interval. [ratio]"""

    value: Number
    low: Number
    high: Number


class TierResult(_Part):
    """Hardware of a tier: nodes with CPUs or disks [1], memory of a node [byte], and utilization by station
    [ratio].
    """

    kind: str
    nodes: int
    cpus: int
    machine: str | None
    speed: SpeedResult
    cost: Number
    memory_bytes: Number | None
    memory_interval: Known = None
    utilization: dict[str, Number | None]
    utilization_interval: dict[str, Known] = {}


class LostNodes(_Part):
    """Tier that lost nodes, and the number of lost nodes. [1]"""

    tier: str
    nodes: int


class SimulatedValue(_Part):
    """Simulated value of an objective, in its unit."""

    value: Number
    confidence_interval: tuple[Number, Number]


class ScenarioResult(_Part):
    """Solution of the model while all nodes are up (`lost` is None), or after the loss of nodes."""

    lost: LostNodes | None
    classes: dict[str, ClassResult]
    utilization: dict[str, Number]
    utilization_interval: dict[str, Known] = {}
    objectives: tuple[ObjectiveResult, ...]
    percentiles: str | None
    simulated: dict[str, SimulatedValue] | None
    exact: bool


class AnswerResult(CandidateResult):
    """Recommended hardware. `load_at_limit` is the highest load that it serves, in `load_unit`; None without limit.
    `one_queue_bound` is the response time of each class if all nodes of a tier shared one queue. [s]
    """

    tiers: dict[str, TierResult]
    scenarios: tuple[ScenarioResult, ...]
    load_at_limit: Number | None
    load_at_limit_interval: Known = None
    load_unit: str
    headroom: Number | None
    throughput_missed: Number | None = None
    throughput_missed_interval: Known = None
    no_limit: str | None = None
    headroom_interval: Known = None
    one_queue_bound: dict[str, Number] | None = None
    one_queue_interval: dict[str, Known] | None = None


class BottleneckResult(_Part):
    """Station that limits the load, with its utilization [ratio] and the load [load_unit] at the limit. `lost` is the
    tier with lost nodes in this scenario.
    """

    station: str
    utilization: Number
    load_factor: Number
    load: Number
    lost: str | None
    utilization_interval: Known = None
    load_interval: Known = None


class PoolResult(_Part):
    """Size of a pool [1], its held units [1], and its mean wait [s]. The size is None if no size suffices."""

    size: int | None
    held: Unbounded
    first_guess: int
    wait_s: Unbounded
    wait_at_most_s: Number
    why_not: str
    size_at_best: int | None = None
    probability: Number | None = None
    simulated: bool = False
    probability_interval: Known = None
    lost: LostNodes | None = None
    held_interval: Known = None
    wait_interval: Known = None


class WhatIfResult(_Part):
    """Result of a what-if change; `refused` is the reason if there is no result. The load is in `unit`."""

    what_if: str
    refused: str | None = None
    hardware: str | None = None
    configuration: str = ""
    scenario: str | None = None
    classes: dict[str, ChangedClass] = {}
    objectives: tuple[ChangedObjective, ...] = ()
    busiest: Busiest = Busiest(station="", utilization=None)
    met: bool | None = None
    probability: Number | None = None
    probability_interval: Known = None
    why_not: tuple[str, ...] = ()
    load_at_limit: Number | None = None
    throughput_missed: Number | None = None
    no_limit: str | None = None
    load_at_limit_interval: Known = None
    unit: str = ""
    notes: tuple[str, ...] = ()


class SizedTierOfInterval(_Part):
    """Hardware of a tier in an interval of the day.

    Attributes
    ----------
    nodes, cpus : int
        Nodes, and CPUs (or disks) of each node. [1]
    utilization : float or None
        Highest utilization of a station of the tier; None if unknown. [ratio]
    """

    nodes: int
    cpus: int
    machine: str | None
    utilization: float | None


class SizedInterval(_Part):
    """Hardware that an interval of the day needs: begin and end since midnight [s], load [load_unit], hardware in words
    and by tier with its cost [cost_unit of the sizing], value of each objective in words, and probability that all
    objectives hold, None if unknown [ratio]. Without hardware, `why_not` lists the reasons why even the strongest
    hardware tried does not suffice; `tiers` is empty then, and also without load.
    """

    interval: str
    begin_s: float
    end_s: float
    load: float
    configuration: str | None
    cost: float | None
    tiers: dict[str, SizedTierOfInterval]
    objectives: tuple[str, ...]
    probability: float | None
    why_not: tuple[str, ...]


class SizedDay(_Part):
    """Hardware by interval of the day, with the sum of the costs, each multiplied by the length of its interval in
    hours, and the cost of the hardware of the busiest interval, multiplied by the length of all intervals. The sum is
    None if an interval has no answer. `load_unit` is `users` or `1/s`.
    """

    intervals: tuple[SizedInterval, ...]
    load_unit: str
    cost_hours: float | None
    cost_hours_fixed: float | None


class DateEnds(_Part):
    """First and last date of an interval; None if later than 20 years."""

    low: str | None
    high: str | None


class OtherTrend(_Part):
    """Date on which the limit is expected to be reached with the other form of growth."""

    trend: str
    expected_on: str | None


class DateResult(_Part):
    """Date on which the growing load, or a growing need of bytes, reaches `limit`, in `unit`. The limit and the dates
    are None if nothing limits the load, or if the limit is reached only after 20 years.

    `missed_from` is the first day, `days` [d] after the start, on which a miss is more probable than `chance` [ratio].
    """

    what: str
    otherwise: OtherTrend | None = None
    limit: Number | None
    no_limit: str | None = None
    limit_interval: Known = None
    unit: str
    missed_from: str | None
    days: int | None
    chance: Number
    expected_on: str | None
    expected_interval: DateEnds | None = None

    @model_serializer(mode="wrap")
    def _in_order(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Write the date; `unit`, `chance` and `no_limit` come first if nothing limits the load."""
        found = write(self)
        first = () if "otherwise" in found else ("what", "unit", "chance", "no_limit")
        return {key: found[key] for key in (*first, *found)}


class MeasuredRange(_Part):
    """Source of the measurements, the lowest and the highest number of users [1], and the highest throughput."""

    source: str
    users: tuple[Number, Number]
    throughput_per_s: Number


class Rest(_Part):
    """Input on which the sizing rests, its origin, and True if the probability includes its uncertainty."""

    part: str
    origin: str
    text: str
    counted: bool


class TrustResult(_Part):
    """Support of the result by measurements: measured range, error of the prediction that the fit did not use [ratio],
    assumptions and doubts. `no_interval` is the reason if values have no interval.
    """

    measured: MeasuredRange | None
    range: str
    held_out_error: Number | None
    held_out_interval: tuple[Number | None, Number | None] | None = None
    assumptions: tuple[FitAssumption, ...]
    model: str = ""
    model_why: str | None = None
    times_measured: Number | None = None
    times_measured_interval: Known = None
    verdict: str | None = None
    rests_on: tuple[Rest, ...] = ()
    no_interval: str | None = None
    no_limit_interval: str | None = None
    draws: int = 0
    counted: tuple[str, ...] = ()
    doubts: tuple[str, ...]


class StepResult(_Part):
    """Step of the calculation. `shown` is the value with its interval as text."""

    step: str
    formula: str
    values: dict[str, object] = Field(alias="with")
    value: Number
    unit: str
    source: str
    interval: Known = None
    shown: str = ""


class LoadResult(_Part):
    """Required load by class: number of users [1], arrival rate and think time."""

    users: dict[str, Number]
    rate_per_s: dict[str, Number]
    think_s: dict[str, Number]


class SearchCounts(_Part):
    """Numbers of candidates: all, dropped, skipped, solved and simulated. [1]"""

    candidates: int
    cut: int
    passed_over: int
    tried: int
    simulated: int


class SizingResult(_Part):
    """Result of a sizing. `answer` is None if no candidate meets the objectives."""

    schema_: Literal["towtank/size/1"] = Field(SCHEMA, alias="schema")
    title: str | None
    source: str
    objectives: tuple[str, ...]
    utilization_at_most: dict[str, Number]
    nodes_lost: int
    probability_asked: Number
    load: LoadResult
    load_interval: dict[str, Known] = {}
    start: str
    start_is: str
    cost_by: str
    cost_unit: str
    search: SearchCounts
    answer: AnswerResult | None
    next_cheaper: CandidateResult | None
    strongest: CandidateResult | None
    pareto: tuple[CandidateResult, ...]
    bottlenecks: tuple[BottleneckResult, ...]
    connections: Number | None
    pools: dict[str, PoolResult]
    neighbours: tuple[CandidateResult, ...] = ()
    connections_interval: Known = None
    profile: SizedDay | None = None
    what_if: tuple[WhatIfResult, ...]
    dates: tuple[DateResult, ...]
    trust: TrustResult
    steps: tuple[StepResult, ...]

    def document(self) -> dict[str, object]:
        """Return the result as a JSON object."""
        return self.model_dump(mode="json", exclude_unset=True)
