"""Evaluates a candidate in every random draw of the uncertain quantities.

The uncertain quantities are service demands, machine speeds, percentiles and growth. The draws give the intervals of
all results, and the probability that the candidate meets all objectives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from towtank.sizing.evaluate import Job, Outcome, grouped, under_load
from towtank.sizing.factors import Factors
from towtank.sizing.interval import Interval, between, share_between
from towtank.sizing.question import Question
from towtank.sizing.tiers import Candidate


@dataclass(frozen=True)
class Intervals:
    """Confidence intervals of the results of a candidate in one scenario.

    Attributes
    ----------
    values : tuple of Interval
        Interval of the value of each objective. [s] or [1/s]
    utilization : dict of str to Interval
        Utilization by station. [ratio]
    throughput, response_s, present : dict of str to Interval
        Results by class; `present` is the number of transactions in the system. [1/s], [s], [1]
    """

    values: tuple[Interval, ...]
    utilization: Mapping[str, Interval]
    throughput: Mapping[str, Interval]
    response_s: Mapping[str, Interval]
    present: Mapping[str, Interval]


@dataclass(frozen=True)
class Draws:
    """Solutions of a candidate in every random draw of the uncertain quantities.

    Attributes
    ----------
    groups : tuple of tuple of Outcome
        For each draw, the outcomes in all failure scenarios.
    """

    groups: tuple[tuple[Outcome, ...], ...]

    def met(self, question: Question) -> int:
        """Return the number of random draws in which every objective is met. [1]"""
        return sum(all(outcome.met(question) for outcome in group) for group in self.groups)

    def summary(self, question: Question) -> Summary:
        """Return the probability that the candidate meets its objectives, and the intervals of its results. The summary
        does not contain the solutions of single random draws.
        """
        scenarios = zip(*self.groups, strict=True)
        return Summary(
            self.met(question), len(self.groups), {each[0].job.lost: intervals_of(each) for each in scenarios}
        )

    def interval(self, value: Callable[[Sequence[Outcome]], float]) -> Interval:
        """Return the interval of a quantity over the random draws. In a draw without a steady state, the quantity is
        infinite.
        """
        return between(math.inf if any(outcome.why_not for outcome in group) else value(group) for group in self.groups)


@dataclass(frozen=True)
class Summary:
    """Probability that a candidate meets its objectives, and intervals of its results.

    Attributes
    ----------
    met : int
        Number of random draws that meet every objective. [1]
    draws : int
        Number of all random draws. [1]
    scenarios : dict of (str or None) to Intervals
        Intervals by failure scenario: the key is the tier with lost nodes, or None for all nodes running.
    """

    met: int
    draws: int
    scenarios: Mapping[str | None, Intervals]

    @property
    def probability(self) -> float:
        """Share of the random draws in which every objective is met. [ratio]"""
        return self.met / self.draws

    @property
    def probability_interval(self) -> Interval:
        """Confidence interval of the probability, which is uncertain because the number of draws is limited. [ratio]"""
        return share_between(self.met, self.draws)


def drawn(question: Question, candidate: Candidate, scales: Mapping[str | None, Factors] | None = None) -> Draws | None:
    """Solve a candidate for every random draw of uncertain inputs; None if no input is uncertain.

    `scales` contains the ratios of simulated to computed percentiles and means.
    """
    if not question.draws:
        return None
    return solved_draws(
        question,
        [
            under_load(question, candidate, question.drawn_load(draw, question.load), scales, draw)
            for draw in range(len(question.draws))
        ],
    )


def solved_draws(question: Question, groups: Sequence[Sequence[Job]]) -> Draws:
    """Solve the models of every random draw in one call, and return the outcomes by draw."""
    return Draws(tuple(tuple(group) for group in grouped(groups, question)))


def intervals_of(outcomes: Sequence[Outcome]) -> Intervals:
    """Return the intervals of the results in one scenario, computed from the outcome in every random draw."""
    steady = next((outcome for outcome in outcomes if not outcome.why_not), outcomes[0])
    return Intervals(
        tuple(between(outcome.values[number] for outcome in outcomes) for number in range(len(steady.values))),
        {name: between(_used(each, name) for each in outcomes) for name in steady.utilization},
        {name: between(_rate(each, name) for each in outcomes) for name in steady.throughput},
        {name: between(_of(each, each.response_s, name) for each in outcomes) for name in steady.response_s},
        {name: between(_of(each, each.present, name) for each in outcomes) for name in steady.present},
    )


def _of(outcome: Outcome, found: Mapping[str, float], name: str) -> float:
    return math.inf if outcome.why_not else found[name]


def _used(outcome: Outcome, name: str) -> float:
    """Return the utilization of a station; 1 without a steady state, since the utilization is then unknown. [ratio]"""
    return 1.0 if outcome.why_not else outcome.utilization[name]


def _rate(outcome: Outcome, name: str) -> float:
    """Return the throughput of a class; minus infinity without a steady state, so that the interval has no lower end.
    [1/s]
    """
    return -math.inf if outcome.why_not else outcome.throughput[name]
