"""Types of the load points in a study summary, and of the limits that they show.

Each attribute is a key of the document, as `docs/reference/summary.md` describes. Keys that older versions of Towtank
did not write have defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    model_validator,
)

from towtank.analysis.limits.estimate import TESTED
from towtank.analysis.statistics.estimates import NO_ESTIMATE, RUNS, Estimate
from towtank.documents import read_usable
from towtank.estimates import few_digits, interval_texts
from towtank.over_runs import Range

# Larger whole numbers may not have a value as `float`.
Number = float | Annotated[int, Field(ge=-(2**63), le=2**63)]
_LEFT_OUT = ("users", "rate", "transaction", "tier", "part")


def _estimate(found: object) -> object:
    return NO_ESTIMATE if found is None else dict(found) if isinstance(found, Mapping) else found


Measured = Annotated[Estimate, BeforeValidator(_estimate), PlainSerializer(Estimate.document)]
"""Estimate; `NO_ESTIMATE` if the document has none."""


class Part(BaseModel):
    """Part of a study summary. A malformed key gets the default of its field, and a list is read without its malformed
    objects, so that the other entries can be read.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _without_malformed_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        return read_usable(handler, data) if isinstance(data, Mapping) else handler(data)


class AtLoad(Part):
    """Load of a point or comparison: `users` [1] of a closed load, `rate` [1/s] of an open load; `load` is either."""

    users: Number | None = None
    rate: Number | None = None
    load: Number | None = None

    def document(self) -> dict[str, object]:
        """Return the values as JSON for a study summary, without a kind of load or subject that does not apply."""
        written = self.model_dump(mode="json")
        return {key: value for key, value in written.items() if value is not None or key not in _LEFT_OUT}

    @property
    def level(self) -> float:
        """Number of users [1] or arrival rate [1/s]; 0 if unknown."""
        known = (level for level in (self.users, self.rate, self.load) if level is not None)
        return float(next(known, 0.0))

    @property
    def load_in_words(self) -> str:
        """Load with its unit, as text."""
        unit = "arrivals per second" if self.users is None else "user" if self.level == 1 else "users"
        return f"{self.level:,.10g} {unit}"


class ResponseTimes(Part):
    """Statistics of the response time over all transactions of a load point. [s]"""

    mean: Measured = NO_ESTIMATE
    p50: Measured = NO_ESTIMATE
    p90: Measured = NO_ESTIMATE
    p95: Measured = NO_ESTIMATE
    p99: Measured = NO_ESTIMATE
    p99_9: Measured = Field(NO_ESTIMATE, alias="p99.9")
    max: Number | None = None

    def of(self, statistic: str) -> Estimate:
        """Return a statistic by its name, such as `mean` or `p99.9`."""
        found: Estimate = getattr(self, statistic.replace(".", "_"))
        return found


class CpuUse(Part):
    """CPU use: mean number of CPUs [1], and CPU time per transaction [s]."""

    cpus_used: Measured = NO_ESTIMATE
    cpu_demand_s: Measured = NO_ESTIMATE


class TierAtLoad(CpuUse):
    """CPU use of a tier and its parts, the CPUs that it may use [1], and their mean utilization [ratio]."""

    cpus_allotted: Number | None = None
    utilization: Number | None = None
    parts: dict[str, CpuUse] = {}


class TransactionAtLoad(Part):
    """Throughput [1/s], response times [s] and share of failures of the transactions with a name."""

    throughput_per_s: Measured = NO_ESTIMATE
    mean_s: Measured = NO_ESTIMATE
    p50_s: Measured = NO_ESTIMATE
    p90_s: Measured = NO_ESTIMATE
    p95_s: Measured = NO_ESTIMATE
    p99_s: Measured = NO_ESTIMATE
    p99_9_s: Measured = Field(NO_ESTIMATE, alias="p99.9_s")
    errors_share: Number | None = None

    def of(self, statistic: str) -> Estimate:
        """Return a statistic of the response time by its name, such as `mean` or `p99.9`. [s]"""
        found: Estimate = getattr(self, f"{statistic.replace('.', '_')}_s")
        return found

    @property
    def was_done(self) -> bool:
        """True if any transaction of this name ended in the steady stage, unlike log-ins at the start of a run."""
        return bool(self.throughput_per_s.value or self.errors_share)


class Connections(Part):
    """Waits for a connection of the generator's pool, by statistic; None without a pool. [s] or [ratio]"""

    wait_time_s: dict[str, Number | None] | None = None


class OfRuns(Part):
    """Smallest and largest value of single runs: shares of failures, percentiles [s], shares of the parts in the CPU
    use of their tier, and waits for a connection.
    """

    errors_share: Range | None = None
    response_time_s: dict[str, Range | None] = {}
    parts: dict[str, dict[str, Range | None]] = {}
    wait_time_s: dict[str, Range | None] = {}

    @property
    def p95_s(self) -> Range | None:
        """Smallest and largest 95th percentile of the response time. [s]"""
        return self.response_time_s.get("p95")


class LoadPoint(AtLoad):
    """Load level of a configuration, with values combined over its runs.

    Attributes
    ----------
    stage : str or None
        Names of the analysed stages, if the runs have several load levels.
    runs, verdicts : tuple of str
        Names of the runs, and their verdicts.
    throughput_per_s, disk_read_bytes_per_s, disk_write_bytes_per_s : Estimate
        Successful transactions [1/s], and bytes read from and written to disks [B/s].
    errors_share : float or None
        Share of failed transactions. [ratio]
    status_codes : dict of str to dict of str to int
        Complete HTTP responses, by transaction and status code; None if not recorded.
    think_time_s : float or None
        Mean think time of a transaction. [s]
    pace_s, rested_page_s : float or None
        CPU time of a fixed amount of work, and of an access to a page of memory that was last used a second ago. [s]
    not_attributed : dict of str to CpuUse
        CPU use of processes that belong to no tier, by machine.
    """

    stage: str | None = None
    runs: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    throughput_per_s: Measured = NO_ESTIMATE
    response_time_s: ResponseTimes = ResponseTimes()
    tiers: dict[str, TierAtLoad] = {}
    not_attributed: dict[str, CpuUse] = {}
    transactions: dict[str, TransactionAtLoad] = {}
    disk_read_bytes_per_s: Measured = NO_ESTIMATE
    disk_write_bytes_per_s: Measured = NO_ESTIMATE
    errors_share: Number | None = None
    status_codes: dict[str, dict[str, int]] | None = None
    of_runs: OfRuns | None = None
    think_time_s: Number | None = None
    elasticity: dict[str, float] | None = None
    pace_s: Number | None = None
    rested_page_s: Number | None = None
    connections: Connections = Connections()

    @property
    def state(self) -> str:
        """`suspect` if the point includes a suspect run, `invalid` if it includes neither a valid nor a suspect run,
        otherwise `valid`.
        """
        if "suspect" in self.verdicts:
            return "suspect"
        return "valid" if "valid" in self.verdicts else "invalid"

    @property
    def is_usable(self) -> bool:
        """True if the point includes a run that is not invalid."""
        return self.state != "invalid"

    @property
    def suspect_runs(self) -> list[str]:
        """Names of the suspect runs."""
        return [run for run, verdict in zip(self.runs, self.verdicts, strict=False) if verdict == "suspect"]

    def response_s(self, statistic: str, transaction: str | None = None) -> Estimate:
        """Return a statistic of the response time of all transactions, or of those with a name; without a value if it
        was not measured. [s]
        """
        if transaction is None:
            return self.response_time_s.of(statistic)
        return self.transactions.get(transaction, TransactionAtLoad()).of(statistic)

    def cpus_of(self, tier: str) -> Estimate:
        """Return the number of CPUs that a tier used; without a value if the point does not have the tier. [1]"""
        return self.tiers.get(tier, TierAtLoad()).cpus_used

    def cpus_of_no_tier(self, machine: str) -> Estimate:
        """Return the number of CPUs that processes of no tier used; without a value if not observed. [1]"""
        return self.not_attributed.get(machine, CpuUse()).cpus_used

    @property
    def ranges(self) -> OfRuns:
        """Ranges over the runs; empty for a single run."""
        return self.of_runs or OfRuns()

    @property
    def load_in_words(self) -> str:
        """Load with its unit as text. If a run has several load levels, the analysed stage follows."""
        return f"{super().load_in_words} (stage {self.stage})" if self.stage else super().load_in_words


class IdealScaling(AtLoad):
    """Line of ideal scaling: throughput per user or arrival with its interval [1/s], and the name of the method that
    determined it; the load is the lowest valid one.
    """

    per_user_per_s: Number | None
    interval: Measured = NO_ESTIMATE
    method: str = ""

    @property
    def slope(self) -> Estimate:
        """Throughput per unit of load; without an interval in summaries of older versions. [1/s]"""
        return self.interval if self.interval.value is not None else Estimate(self.per_user_per_s)


class LeavesIdeal(Part):
    """Neighbouring load levels between which throughput leaves the line of ideal scaling. [1] or [1/s]"""

    after: Number | None
    at: Number


class LimitKind(StrEnum):
    CPU = "cpu"
    """An observed tier was saturated at a load where throughput was below the line of ideal scaling."""
    ERRORS = "errors"
    """Too many transactions failed at loads above the highest valid level."""
    OVERLOAD = "overload"
    """The arrival rate of an open load exceeded the throughput, and no observed tier was saturated."""
    UNKNOWN = "unknown"
    """Throughput was significantly below the line of ideal scaling, but no observed tier was saturated. The limiting
    resource is unknown.
    """
    NONE = "none"
    """No limit was reached: throughput followed the line of ideal scaling at every level."""
    UNDECIDED = "undecided"
    """The measured load levels do not show whether the limit was reached."""


class LimitOfLevels(Part):
    """Limit of a configuration, as its load levels show it: kind and evidence, limiting tier, knee [1], and highest
    throughput [1/s]. `reached` is None if the levels are not conclusive.
    """

    kind: LimitKind
    reached: bool | None = None
    resource: str | None = None
    evidence: str = ""
    knee_users: Measured = NO_ESTIMATE
    leaves_ideal_at: LeavesIdeal | None = None
    peak_throughput_per_s: Measured = NO_ESTIMATE


class FailureOfSearch(Part):
    """Failure that determined the limit of a search."""

    kind: str | None = None
    text: str | None = None


class RunOfSearch(Part):
    """Run that made a search."""

    run: str


class FoundLimit(Part):
    """Limit that searches found: load with its interval or bracket, in users [1] or arrivals [1/s]."""

    of: str = "users"
    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    confidence: Number | None = None
    method: str = ""
    is_lower_bound: bool = False
    failure: FailureOfSearch | None = None
    runs: tuple[RunOfSearch, ...] = ()

    @property
    def reason(self) -> str:
        """Kind of the failure beyond the limit, in words."""
        kind = None if self.failure is None else self.failure.kind
        return (kind or "unknown").replace("_", " ")

    @property
    def in_words(self) -> str:
        """Limit with its unit and its interval or bracket.

        An interval with a confidence is in square brackets: `430 users [410, 450]`. The bracket of a search that no
        test confirmed is less certain, although it is usually narrower: `430 users (bracket 430 to 450, no confidence
        level)`. A lower bound is `430 users or more`.
        """
        unit = "users" if self.of == "users" else "/s"
        if self.value is None:
            return f"below {_level(self.high)} {unit}" if self.high is not None else "unknown"
        if self.high is None or self.low is None or self.is_lower_bound:
            return f"{_level(self.value)} {unit} or more"
        if not self.confidence:
            return (
                f"{_level(self.value)} {unit} (bracket {_level(self.low)} to {_level(self.high)}, no confidence level)"
            )
        shown, *ends = _texts(self.value, self.low, self.high, of_runs=self.method == RUNS)
        return f"{shown} {unit} [{', '.join(ends)}]"

    @property
    def method_in_words(self) -> str:
        """Method that found the limit, as ` (METHOD)`; empty if `in_words` states the method."""
        if not self.confidence:
            return ""
        within = " within one run" if self.method == TESTED else ""
        return f" ({self.method}, {100 * self.confidence:.0f} % confidence{within})"


def _level(value: float) -> str:
    """Render a load level with thousands separators and without an exponent."""
    return few_digits(value, 6) if abs(value) < 1e5 else f"{value:,.0f}"


def _texts(value: float, low: float, high: float, *, of_runs: bool) -> tuple[str, ...]:
    """Render a limit and both limits of its interval as numbers.

    For a single search, the limits of the interval are measured load levels, so they are not rounded.
    """
    rounded = interval_texts(value, low, high)
    chosen = tuple(_level(each) for each in (value, low, high))
    return rounded if of_runs else (chosen[0] if value in (low, high) else rounded[0], *chosen[1:])
