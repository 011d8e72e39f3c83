"""Types of the answers of the engine about a queueing network that was solved or simulated.

Attributes have the names of the keys in `towtank model solve --json` and `towtank model simulate --json`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from towtank.errors import EngineError
from towtank.model.parts import KeptPart, Part

Ends = tuple[float | None, float | None]
"""Lower and upper end of a confidence interval; None if the interval is unbounded or unknown on that side."""


class SolvedPart(Part):
    """Part of a network, with the confidence intervals of its results by name; results by class have the names
    `RESULT.CLASS`.
    """

    confidence_interval: dict[str, Ends | None] = Field(default_factory=dict)

    def ends(self, name: str) -> Ends:
        """Return the ends of the confidence interval of a result; both are None if the interval is unknown."""
        return self.confidence_interval.get(name) or (None, None)


class Little(Part):
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
    response_time_percentiles_s: dict[str, float | None] = Field(default_factory=dict)
    transactions: dict[str, SolvedTransaction] = Field(default_factory=dict)
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
    residence_time_s: dict[str, float | None] = Field(default_factory=dict)
    residence_time_by_transaction_s: dict[str, float | None] = Field(default_factory=dict)
    utilization_by_class: dict[str, float | None] = Field(default_factory=dict)


class SolvedPool(SolvedPart):
    """Results of a pool: utilization [ratio], units that are held and jobs that wait for a unit [1], and the mean wait
    by class [s].
    """

    utilization: float
    held: float | None
    waiting: float | None
    waiting_time_s: dict[str, float | None] = Field(default_factory=dict)


class Range(Part):
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


class FittedModel(Part):
    """Replicates of the fit that gave the intervals [1], and their confidence level [ratio]."""

    draws: int
    confidence: float | None = None


class SimulationRun(Part):
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


class SolvedNetwork(KeptPart):
    """Queueing network that was solved or simulated. `approximate_within` is the largest relative deviation of a mean
    response time, if the method is approximate [ratio].
    """

    classes: dict[str, SolvedClass]
    stations: dict[str, SolvedStation]
    pools: dict[str, SolvedPool] = Field(default_factory=dict)
    bounds: dict[str, ClassBounds] = Field(default_factory=dict)
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

    def with_results(self, more: Mapping[str, object]) -> SolvedNetwork:
        """Return the network with further results, given as a JSON object in the form of `document`."""
        return SolvedNetwork.model_validate(_merged(self._document, more))


def _merged(document: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    """Return a JSON object with further keys at all depths; the further keys replace other values than objects."""
    found = dict(document)
    for key, value in more.items():
        old = document.get(key)
        found[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


class SolverFault(Part):
    """Key of a model, by its path, that prevents a solution, and the reason. `model` is the position of the model
    among simulated models, counted from 0.
    """

    path: tuple[str, ...]
    message: str
    model: int = 0


class SolvedOutcome(Part):
    """Solution of a model, or the faults that prevent a solution."""

    answer: SolvedNetwork | None = None
    faults: tuple[SolverFault, ...] = ()

    @property
    def solution(self) -> SolvedNetwork:
        """Solution of the model; raises EngineError if there is none."""
        if self.answer is None:
            faults = "; ".join(f"{'.'.join(fault.path)} {fault.message}" for fault in self.faults)
            raise EngineError(f"the engine refused a model: {faults}")
        return self.answer


class ComparedResult(Part):
    """Result of a model and of its alternative, with their difference, in the unit of the result; None if unknown."""

    first: float | None
    second: float | None
    difference: float | None
    confidence_interval: Ends | None = None
    differs: bool | None = None


class ComparedNetworks(KeptPart):
    """Differences between two simulated networks, by the name of the result."""

    figures: dict[str, ComparedResult]


class SimulatedOutcome(Part):
    """Simulated models, with a comparison of each further model to the first one, or the faults that prevent the
    simulation.
    """

    answers: tuple[SolvedNetwork, ...] = ()
    comparisons: tuple[ComparedNetworks, ...] = ()
    faults: tuple[SolverFault, ...] = ()
