"""Simulates the percentiles of a candidate, and also its mean values if their computed values are inaccurate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from towtank.model import EXACT_PERCENTILES, SimulationSettings, SolvedClass, SolvedNetwork, simulate_models
from towtank.sizing.evaluate import Job, Outcome, model_of
from towtank.sizing.factors import Factor, Factors
from towtank.sizing.question import Check, Question
from towtank.sizing.tiers import Candidate

PRECISION = 0.02
EVENTS = 100_000_000
"""Highest number of simulated events; they take about 10 s on two CPUs. Networks without a nearly saturated station
reach the precision with far fewer events. [1]
"""
SEED = 1
RELAXATIONS = 24.0
"""Smallest length of the measured part of a simulation, in relaxation times of the network. The simulator uses the same
value. [1]
"""
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Simulated:
    """Simulation of a candidate in one failure scenario: by the index of the objective, simulated values with 95 %
    intervals [s] or [1/s], and ratios of simulated to computed values. If the measured part is `too_short`, the result
    contains warnings of the simulator but no values.
    """

    values: Mapping[int, float]
    intervals: Mapping[int, tuple[float, float]]
    scale: Factors
    doubts: tuple[str, ...] = ()
    too_short: bool = False


def simulate(question: Question, outcome: Outcome) -> Simulated | None:
    """Simulate a candidate in the failure scenario of an outcome; return None if no objective needs a simulation, or if
    the model has no steady state.
    """
    checks = {number: check for number, check in _open(question, outcome).items() if _has_figures(outcome, check)}
    if not checks or outcome.why_not:
        return None
    settings = SimulationSettings(precision=PRECISION, events=EVENTS, seed=SEED)
    simulated = simulate_models([model_of(question, outcome.job)], settings)
    answer = simulated.answers[0] if simulated.answers else None
    if answer is None or not answer.steady:
        return None
    if _is_short(answer):
        return Simulated({}, {}, {}, answer.warnings, too_short=True)
    values, intervals, scale = {}, {}, {}
    for number, check in checks.items():
        value, low, high = _figure(answer.classes, check)
        if not value or low is None or high is None:
            # A simulated percentile without an interval is no better than the computed percentile, so the computed
            # percentile is kept.
            continue
        values[number] = value
        intervals[number] = (low, high)
        old = outcome.job.scale[number].value if number in outcome.job.scale else 1.0
        scale[number] = Factor(*(each * old / outcome.values[number] for each in (value, low, high)))
    return Simulated(values, intervals, scale, answer.warnings)


def _is_short(answer: SolvedNetwork) -> bool:
    """Return True if a simulation is too short or violates Little's law, so that its intervals may be too narrow."""
    measured = None if answer.simulation is None else answer.simulation.measured_relaxations
    few = measured is not None and measured < RELAXATIONS * (1 - _ROUNDING)
    return few or any(each.little is not None and not each.little.holds for each in answer.classes.values())


def _open(question: Question, outcome: Outcome) -> dict[int, Check]:
    """Return the objectives, by index, whose value a simulation may change and no measurement corrects."""
    return {
        number: check
        for number, check in enumerate(question.checks)
        if outcome.is_rough(check)
        and question.correction(check) is None
        and not check.is_wait
        and not (check.is_percentile and outcome.method == EXACT_PERCENTILES)
    }


def _has_figures(outcome: Outcome, check: Check) -> bool:
    """Return True if the simulator provides the value of an objective. It provides the total throughput, and the values
    of classes that have a response time.
    """
    return check.name in outcome.response_s or check.name is None


def _figure(classes: Mapping[str, SolvedClass], check: Check) -> tuple[float | None, float | None, float | None]:
    """Return the simulated value of an objective, and the lower and upper end of its interval; None for each number
    that is unavailable. [s] or [1/s]
    """
    metric = check.objective.metric
    if check.is_percentile:
        job_class = classes[str(check.name)]
        return job_class.response_time_percentiles_s.get(metric), *job_class.ends(metric)
    if check.is_loss:
        return _loss(classes[str(check.name)])
    chosen = list(classes.values()) if check.name is None else [classes[check.name]]
    values = [each.throughput_per_s if check.upward else each.response_time_s for each in chosen]
    ends = [each.ends("throughput_per_s" if check.upward else "response_time_s") for each in chosen]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    numbers = [value for value in values if value is not None]
    if len(known) < len(ends) or len(numbers) < len(values):
        return None, None, None
    # The errors of the throughputs of several classes are correlated. The sum of the lower ends and the sum of the
    # upper ends therefore enclose the interval of the total throughput.
    return sum(numbers), sum(low for low, _ in known), sum(high for _, high in known)


def _loss(job_class: SolvedClass) -> tuple[float | None, float | None, float | None]:
    """Return the simulated share of lost arrivals of a class, and the ends of its interval; three times None if the
    interval is unavailable. [ratio]
    """
    low, high = job_class.ends("dropped_per_s")
    if low is None or high is None:
        return None, None, None
    loss = job_class.loss
    come = (job_class.throughput_per_s or 0.0) / (1 - loss) if loss < 1 else math.inf
    return loss, low / come, high / come


def needs_simulation(question: Question, outcome: Outcome) -> bool:
    """Return True if an objective has a value that a simulation may change and no measurement corrects."""
    return bool(_open(question, outcome))


def job_with(candidate: Candidate, question: Question, lost: str | None, found: Simulated | None) -> Job:
    """Return the model to solve for a failure scenario, with the ratios of simulated to computed values."""
    return Job(candidate, question.load, lost, scale=found.scale if found else {})
