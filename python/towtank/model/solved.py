"""Types of the answers of the engine about a queueing network that was solved or simulated.

Attributes have the names of the keys in `towtank model solve --json` and `towtank model simulate --json`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Ends = tuple[float | None, float | None]
"""Lower and upper end of a confidence interval; None if the interval is unbounded or unknown on that side."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class SolvedPart(_Part):
    """Part of a network, with the confidence intervals of its results by name; results by class have the names
    `RESULT.CLASS`.
    """

    confidence_interval: dict[str, Ends | None] = {}

    def ends(self, name: str) -> Ends:
        """Return the ends of the confidence interval of a result; both are None if the interval is unknown."""
        return self.confidence_interval.get(name) or (None, None)


class Little(_Part):
    """Check of Little's law for a class."""

    holds: bool


class SolvedTransaction(SolvedPart):
    """Throughput [1/s], mean response time [s] and mean number in the system [1] of a transaction or class."""

    throughput_per_s: float | None
    response_time_s: float | None
    users_in_system: float | None


class SolvedClass(SolvedTransaction):
    """Results of a class of jobs; the rates of failures are in [1/s], the percentiles in [s]. Only a simulation has
    percentiles, time-outs and retries.
    """

    dropped_per_s: float | None = None
    failed_per_s: float | None = None
    timed_out_per_s: float | None = None
    retried_per_s: float | None = None
    response_time_percentiles_s: dict[str, float | None] = {}
    transactions: dict[str, SolvedTransaction] = {}
    little: Little | None = None

    @property
    def loss(self) -> float:
        """Share of the arrivals that full stations drop. [ratio]"""
        dropped = self.dropped_per_s or 0.0
        return dropped / (dropped + (self.throughput_per_s or 0.0)) if dropped > 0 else 0.0


class SolvedStation(SolvedPart):
    """Results of a station: shares [ratio], jobs at the station [1], served visits [1/s], and the time of all visits by
    class [s].
    """

    utilization: float
    queue_length: float | None
    throughput_per_s: float | None = None
    loss_probability: float | None = None
    hit_ratio: float | None = None
    availability: float | None = None
    residence_time_s: dict[str, float | None] = {}
    residence_time_by_transaction_s: dict[str, float | None] = {}
    utilization_by_class: dict[str, float | None] = {}


class SolvedPool(SolvedPart):
    """Results of a pool: utilization [ratio], units that are held and jobs that wait for a unit [1], and the mean wait
    by class [s].
    """

    utilization: float
    held: float | None
    waiting: float | None
    waiting_time_s: dict[str, float | None] = {}


class Range(_Part):
    """Theoretical bounds of a result, in its unit; None without a bound."""

    lower: float | None
    upper: float | None


class ClassBounds(SolvedPart):
    """Bounds of throughput [1/s] and response time [s] of a class, its bottleneck, and the number of users at which
    waiting begins to dominate [1].
    """

    throughput_per_s: Range
    response_time_s: Range
    bottleneck: str | None = None
    knee_users: float | None = None


class FittedModel(_Part):
    """Replicates of the fit that gave the intervals [1], and their confidence level [ratio]."""

    draws: int
    confidence: float | None = None


class SimulationRun(_Part):
    """Length and precision of a simulation. Shares are in [ratio]; `measured_relaxations` is the shortest measured part
    in relaxation times [1].
    """

    stopped: str
    replications: int
    events: int
    warm_up_share: float
    confidence: float
    precision_reached: float | None
    widest: str
    measured_relaxations: float | None = None


class SolvedNetwork(_Part):
    """Queueing network that was solved or simulated. `approximate_within` is the largest relative deviation of a mean
    response time, if the method is approximate [ratio].
    """

    classes: dict[str, SolvedClass]
    stations: dict[str, SolvedStation]
    pools: dict[str, SolvedPool] = {}
    bounds: dict[str, ClassBounds] = {}
    method: str
    exact: bool
    approximate_within: float | None = None
    steady: bool = True
    simulation: SimulationRun | None = None
    fitted: FittedModel | None = None
    warnings: tuple[str, ...] = ()

    def transaction(self, name: str) -> SolvedTransaction:
        """Return the results of a class, or of a transaction of a class; raises KeyError for any other name."""
        if name in self.classes:
            return self.classes[name]
        return {key: each for found in self.classes.values() for key, each in found.transactions.items()}[name]


class SolverFault(_Part):
    """Key of a model, by its path, that prevents a solution, and the reason."""

    path: tuple[str | int, ...]
    message: str


class SolvedOutcome(_Part):
    """Solution of a model, or the faults that prevent a solution."""

    answer: SolvedNetwork | None = None
    faults: tuple[SolverFault, ...] = ()


class ComparedResult(_Part):
    """Result of a model and of its alternative, with their difference, in the unit of the result; None if unknown."""

    first: float | None
    second: float | None
    difference: float | None
    confidence_interval: Ends | None = None
    differs: bool | None = None


class ComparedNetworks(_Part):
    """Differences between two simulated networks, by the name of the result."""

    figures: dict[str, ComparedResult]
