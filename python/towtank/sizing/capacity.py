"""Finds the highest load at which a candidate meets all objectives, and the bottleneck at this load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from towtank.sizing.evaluate import outcomes, under_load
from towtank.sizing.factors import Factors
from towtank.sizing.interval import Interval, between
from towtank.sizing.limit_search import Limits, nearness
from towtank.sizing.question import Question
from towtank.sizing.search import Found


@dataclass(frozen=True)
class Bottleneck:
    """Station that limits the load of a candidate.

    Attributes
    ----------
    station : str
        Station that is busiest at the load limit.
    utilization : float
        Utilization of the station at the load limit. [ratio]
    limits : Limits
        Search for the load limit, relative to the required load.
    lost : str or None
        Tier with lost nodes in the failure scenario with the lowest load limit; None if the limit is lowest with all
        nodes running.
    """

    station: str
    utilization: float
    limits: Limits = field(compare=False, repr=False)
    lost: str | None = None

    @property
    def utilization_interval(self) -> Interval | None:
        """Interval of the station's utilization at the load limit, over all random draws; None without draws.
        [ratio]
        """
        if self.limits.interval() is None:
            return None
        self.limits.narrowed()
        return between(self.limits.used(self.station, self.lost)).around(self.utilization)

    @property
    def limit(self) -> float:
        """Highest load, relative to the required load, at which all objectives hold. [1]"""
        return self.limits.best


def limits_of(question: Question, answer: Found, boost: Mapping[str, int] | None = None, near: float = 1.0) -> Limits:
    """Return the highest load at which all objectives of a candidate hold, with its interval.

    `boost` multiplies the servers of stations. Without `boost`, the solutions from which the candidate's probability
    was computed are reused.
    """
    scales: Mapping[str | None, Factors] = answer.scales
    found = Limits(question, answer.candidate, scales, near=near, changes={"boost": dict(boost or {})})
    if not boost:
        found.know(answer.drawn)
    return found


def bottlenecks(question: Question, answer: Found, count: int = 3) -> list[Bottleneck]:
    """Return up to `count` successive bottlenecks of a candidate.

    The servers of each bottleneck are doubled to find the next bottleneck. The list ends early if no objective limits
    the load.
    """
    found: list[Bottleneck] = []
    boost: dict[str, int] = {}
    for _ in range(count):
        limits = limits_of(question, answer, boost, found[-1].limit if found and found[-1].limit else 1.0)
        if math.isinf(limits.best):
            break
        load = question.load.times(max(limits.best, 1e-6))
        jobs = under_load(question, answer.candidate, load, answer.scales, boost=dict(boost))
        at = max(outcomes(question, jobs), key=lambda outcome: nearness(question, outcome))
        if not at.utilization:
            break
        name = max(at.utilization, key=lambda each: at.utilization[each] / (question.utilization.get(each, 1.0) or 1.0))
        found.append(Bottleneck(name, at.utilization[name], limits, at.job.lost))
        boost[name] = 2 * boost.get(name, 1)
    return found
