"""Evaluates candidates under a load: solves their models in batches and checks the objectives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from towtank.model import (
    EngineModel,
    SolvedClass,
    SolvedNetwork,
    SolvedOutcome,
    SolvedTransaction,
    StationAnswer,
    response_percentiles,
    servers_of,
    solve_models,
    stations_of,
    wait_percentiles,
)
from towtank.sizing.bounds import outside, refused_by_bounds
from towtank.sizing.factors import Factors, drawn_factors
from towtank.sizing.interval import Interval, duration_text, rate_text, share_text
from towtank.sizing.load import Load
from towtank.sizing.network import Layout, on_layouts
from towtank.sizing.question import Check, Question
from towtank.sizing.tiers import Candidate

if TYPE_CHECKING:
    from towtank.sizing.drawn import Intervals

BATCH = 2000
"""Number of models that are solved in one call of the engine; together they are a few megabytes of JSON. [1]"""
CORRECTED = "computed from the network, and corrected by measurements"
COARSE = 0.1
"""Means and throughputs are simulated if the error bound of a computed mean response time is larger than this.
Approximate solutions of product-form networks have errors of about this size. [ratio]

Percentiles may be simulated at any error bound.
"""
# Relative tolerance for rounding errors. Because of rounding errors, an objective that is met exactly could otherwise
# count as violated. [ratio]
ROUNDING = 1e-9


@dataclass(frozen=True)
class Job:
    """Candidate under a load in one scenario, as one model to solve.

    Attributes
    ----------
    lost : str or None
        Tier with lost nodes; None for the scenario without losses.
    draw : int or None
        Index of the random draw of the demands; None for the best estimate.
    demand : dict of (str, str or None) to float
        In a what-if question, factors of the service demands, by station and class. [ratio]
    boost : dict of str to int
        Factors of the number of servers, by station. [1]
    scale : dict of int to Factor
        Ratio of simulated to computed value, by the index of the objective.
    """

    candidate: Candidate
    load: Load
    lost: str | None = None
    draw: int | None = None
    demand: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    boost: Mapping[str, int] = field(default_factory=dict)
    scale: Factors = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Solution of the model of a candidate, with the value of each objective.

    Attributes
    ----------
    values : tuple of float
        Value of each objective; infinite without a steady state. [s] or [1/s]
    utilization : dict of str to float
        Utilization by station. [ratio]
    throughput, response_s, present : dict of str to float
        Results by class; `present` is the number of transactions in the system. [1/s], [s], [1]
    why_not : str
        Reason why the model has no steady state; empty if it has a steady state.
    method : str
        Method used for the percentiles.
    exact : bool
        True if the solution is exact.
    within : float
        Error bound of mean response times stated by the solution; 0 if none. [ratio]
    loss : dict of str to float
        Share of the arrivals of each class that full stations drop. [ratio]
    invalid : bool
        True if the model is invalid at any load, such as a station with more servers than its capacity for jobs.
    """

    job: Job
    values: tuple[float, ...]
    utilization: Mapping[str, float]
    stations: Mapping[str, StationAnswer]
    throughput: Mapping[str, float]
    response_s: Mapping[str, float]
    present: Mapping[str, float]
    why_not: str = ""
    method: str = ""
    exact: bool = False
    within: float = 0.0
    loss: Mapping[str, float] = field(default_factory=dict)
    invalid: bool = False

    def is_rough(self, check: Check) -> bool:
        """Return True if simulation may change the value of an objective. This is so for a percentile, and for a value
        with a large error.
        """
        return check.is_percentile or self.within > COARSE

    def used(self, question: Question, *, rough: bool = True) -> float:
        """Return the largest ratio of an objective's value to its limit. All objectives hold if this ratio is at most
        1. [ratio]

        If `rough` is False, objectives whose values a simulation may change are skipped.
        """
        ratios = [
            check.ratio(value)
            for check, value in zip(question.checks, self.values, strict=True)
            if rough or not self.is_rough(check)
        ]
        return math.inf if self.why_not else max(ratios, default=0.0)

    def too_busy(self, question: Question) -> list[str]:
        """Return the names of stations whose utilization exceeds its limit. The result is empty in scenarios with lost
        nodes, where the limit does not apply.
        """
        if self.job.lost is not None:
            return []
        limits = question.utilization
        return [name for name, used in self.utilization.items() if used > limits.get(name, 1.0) + ROUNDING]

    def met(self, question: Question) -> bool:
        """Return True if all objectives and all utilization limits hold."""
        return self.used(question) <= 1 + ROUNDING and not self.too_busy(question)

    def misses(self, question: Question, intervals: Intervals | None = None) -> list[str]:
        """Return a text for each violated objective and each exceeded utilization limit."""
        if self.why_not:
            return [self.why_not]
        used = {} if intervals is None else intervals.utilization
        missed = [
            f"{check.text}: {self.shown(question, number, intervals)}"
            for number, check in enumerate(question.checks)
            if check.ratio(self.values[number]) > 1 + ROUNDING
        ]
        return missed + [
            f"utilization of {name} would be {share_text(self.utilization[name], used.get(name))}, "
            f"more than {100 * question.utilization.get(name, 1.0):.3g} %"
            for name in self.too_busy(question)
        ]

    def interval(self, number: int, intervals: Intervals | None = None) -> Interval | None:
        """Return the 95 % interval of an objective's value. [s] or [1/s]

        The interval is taken from `intervals` if given, and otherwise from the simulation of the candidate.
        """
        if intervals is not None:
            return intervals.values[number]
        factor = self.job.scale.get(number)
        if factor is None or not math.isfinite(self.values[number]):
            return None
        unscaled = self.values[number] / factor.value
        return Interval(unscaled * factor.low, unscaled * factor.high).around(self.values[number])

    def shown(self, question: Question, number: int, intervals: Intervals | None = None) -> str:
        """Render the value of an objective, with its confidence interval if known."""
        return shown_value(question.checks[number], self.values[number], self.interval(number, intervals))

    def near_limits(self, question: Question) -> list[str]:
        """Return a text for each objective whose limit lies within the interval of the simulated value."""
        texts = []
        for number, check in enumerate(question.checks):
            known = self.interval(number)
            if known is not None and known.low <= check.objective.value <= known.high:
                where = f"the limit lies in the interval of the simulation, {self.shown(question, number)}"
                texts.append(f"{check.text}: {where}, so the objective may be missed")
        return texts

    @property
    def busiest(self) -> str:
        """Name of the station with the highest utilization in this solution."""
        return max(self.utilization, key=lambda name: self.utilization[name], default="")


def shown_value(check: Check, value: float, interval: Interval | None = None) -> str:
    """Render the value of an objective."""
    if check.is_loss:
        return share_text(value, interval) if math.isfinite(value) else duration_text(value)
    return rate_text(value, interval) if check.upward else duration_text(value, interval)


def layouts_of(question: Question, job: Job) -> dict[str, Layout]:
    """Return the nodes, servers and speed of every station whose hardware differs from that of the model, by station
    name.
    """
    found: dict[str, Layout] = {}
    for tier, option in zip(question.tiers, job.candidate, strict=True):
        lost = question.file.nodes_lost if job.lost == tier.name else 0
        found |= dict.fromkeys(tier.stations, option.layout(lost))
    for name, factor in job.boost.items():
        stations = question.basis.stations
        old = found.get(name, Layout(1, servers_of(stations[name]) or 1))
        found[name] = Layout(old.nodes, old.servers * factor, old.speed)
    return found


def model_of(question: Question, job: Job) -> EngineModel:
    """Return the model to solve for a candidate under a load."""
    factors = None if job.draw is None else question.factors(job.candidate, job.draw)
    return on_layouts(question.basis.document, layouts_of(question, job), job.load.changes(job.demand), factors)


def outcomes(question: Question, jobs: Sequence[Job]) -> list[Outcome]:
    """Solve the model of every candidate and scenario in batches, on all CPUs."""
    found = []
    for batch in _batches(jobs):
        able = [job for job in batch if _nodes_left(question, job) > 0]
        models = [model_of(question, job) for job in able]
        answers = dict(zip(map(id, able), zip(models, solve_models(models), strict=True), strict=True)) if able else {}
        for job in batch:
            if id(job) in answers:
                found.append(_outcome(question, job, *answers[id(job)]))
            else:
                found.append(_nothing(question, job, f"{job.lost} has no node left"))
    return found


def _batches(jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
    for first in range(0, len(jobs), BATCH):
        yield jobs[first : first + BATCH]


def _nodes_left(question: Question, job: Job) -> int:
    """Return the number of nodes that remain in the tier with lost nodes; 1 if all nodes are running. [1]"""
    lost = question.file.nodes_lost
    for tier, option in zip(question.tiers, job.candidate, strict=True):
        if tier.name == job.lost:
            return option.nodes - lost
    return 1


def _nothing(question: Question, job: Job, why: str, *, invalid: bool = False) -> Outcome:
    values = tuple(0.0 if check.upward else math.inf for check in question.checks)
    return Outcome(job, values, {}, {}, {}, {}, {}, why, invalid=invalid)


def _outcome(question: Question, job: Job, model: EngineModel, outcome: SolvedOutcome) -> Outcome:
    answer = outcome.answer
    if answer is None:
        reasons = "; ".join(f"{'.'.join(fault.path[1:2])}: {fault.message}" for fault in outcome.faults)
        # If a fault refers to a key inside a station, pool or class, the model is invalid at any load. If a fault
        # refers to a whole element, the model has no steady state.
        invalid = any(len(fault.path) != len(("stations", "name")) for fault in outcome.faults)
        return _nothing(question, job, reasons.replace("@1", ""), invalid=invalid)
    wrong = outside(answer)
    if wrong:
        return _nothing(question, job, refused_by_bounds(question, model, answer, wrong))
    stations = stations_of(answer)
    used = {name: stations[name].utilization for name in question.basis.queues if name in stations}
    figures = {name: figures_of(job_class) for name, job_class in answer.classes.items()}
    throughput = {name: each.throughput for name, each in figures.items()}
    response = {name: each.response_s for name, each in figures.items()}
    methods: dict[str, str] = {}
    values = []
    for number, check in enumerate(question.checks):
        value = _value(check, model, answer, stations, methods) * _correction(question, check, methods)
        scaled = value * (job.scale[number].value if number in job.scale else 1.0)
        values.append(scaled)
        of_classes = throughput if check.upward else response if check.objective.metric == "mean" else {}
        if check.name in of_classes:
            of_classes[check.name] = scaled
    return Outcome(
        job,
        tuple(values),
        used,
        stations,
        throughput,
        response,
        {name: each.present for name, each in figures.items()},
        method=", ".join(dict.fromkeys(methods.values())),
        exact=answer.exact,
        within=answer.approximate_within or 0.0,
        loss={name: each.loss for name, each in figures.items()},
    )


class Figures(NamedTuple):
    """Results of a class or transaction: throughput, response time, number in the system, and share of lost arrivals.

    Attributes
    ----------
    throughput : float
        [1/s]
    response_s : float
        [s]
    present : float
        Transactions in the system. [1]
    loss : float
        Share of the arrivals that full stations drop; 0 for a closed class and for a transaction. [ratio]
    """

    throughput: float
    response_s: float
    present: float
    loss: float


def figures_of(answered: SolvedTransaction) -> Figures:
    """Return the results of a class or transaction."""
    response = math.inf if answered.response_time_s is None else answered.response_time_s
    loss = answered.loss if isinstance(answered, SolvedClass) else 0.0
    return Figures(answered.throughput_per_s or 0.0, response, answered.users_in_system or 0.0, loss)


def _value(
    check: Check,
    model: EngineModel,
    answer: SolvedNetwork,
    stations: Mapping[str, StationAnswer],
    methods: dict[str, str],
) -> float:
    if check.upward and check.name is None:
        return float(sum(figures_of(job_class).throughput for job_class in answer.classes.values()))
    classes: dict[str, SolvedTransaction] = {**answer.classes}
    for job_class in answer.classes.values():
        classes |= job_class.transactions
    if check.name not in classes:
        return 0.0  # A class without load has no response time and a throughput of 0.
    name, figures = check.name, figures_of(classes[check.name])
    if check.is_loss:
        return figures.loss
    if check.upward or check.objective.metric == "mean":
        return figures.throughput if check.upward else figures.response_s
    if check.is_wait:
        percentile, methods[f"wait of {name}"] = wait_percentiles(model, stations, name)
    else:
        percentile, methods[name] = response_percentiles(model, answer, stations, name)
    return percentile(check.share)


def _correction(question: Question, check: Check, methods: dict[str, str]) -> float:
    """Return the ratio of measured to computed value of the percentile that an objective limits; 1 if the percentile
    was not measured. [ratio]
    """
    found = question.correction(check)
    if found is None:
        return 1.0
    methods[str(check.name)] = CORRECTED
    return found[0]


def worst(question: Question, found: Sequence[Outcome]) -> Outcome:
    """Return the outcome in which an objective is closest to its limit. If objectives are violated, return the outcome
    with the largest violation.
    """
    return max(found, key=lambda outcome: (not outcome.met(question), outcome.used(question)))


def grouped(jobs_by: Sequence[Sequence[Job]], question: Question) -> list[list[Outcome]]:
    """Solve groups of models in one call of the engine, and return the outcomes in the same groups."""
    flat = iter(outcomes(question, [job for group in jobs_by for job in group]))
    return [[next(flat) for _ in group] for group in jobs_by]


def under_load(
    question: Question,
    candidate: Candidate,
    load: Load,
    scales: Mapping[str | None, Factors] | None = None,
    draw: int | None = None,
    **changes: Any,
) -> list[Job]:
    """Return the models to solve for a candidate, one for each scenario.

    `scales` contains ratios of simulated to computed values, by failure scenario (the tier with lost nodes).
    """
    jobs = []
    for lost in question.scenarios(candidate):
        scale = (scales or {}).get(lost, {})
        if draw is not None:
            scale = drawn_factors(scale, question.corrections, (draw, len(question.draws)), lost)
        jobs.append(Job(candidate, load, lost, draw, scale=scale, **changes))
    return jobs
