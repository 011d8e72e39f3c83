"""Describes a sizing question: the requirements, and the inputs that are the same for all candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from towtank.sizing.basis import Basis
from towtank.sizing.factors import Factor
from towtank.sizing.growth import NORMAL_95
from towtank.sizing.load import Load
from towtank.sizing.sizing_file import SizingFile
from towtank.sizing.tiers import Candidate, Cost, Tier
from towtank.study import LOSS_METRIC, WAIT_METRIC, Objective


@dataclass(frozen=True)
class Check:
    """Objective for one class or transaction.

    Attributes
    ----------
    name : str or None
        Name of the class; None for the total throughput.
    """

    objective: Objective
    name: str | None

    @property
    def upward(self) -> bool:
        """True if a larger value of the objective is better, as for throughput."""
        return self.objective.metric == "throughput"

    @property
    def is_percentile(self) -> bool:
        """True if the objective limits a percentile of the response time."""
        return self.objective.metric.startswith("p")

    @property
    def is_wait(self) -> bool:
        """True if the objective limits a percentile of the waiting time."""
        return self.objective.metric.startswith(WAIT_METRIC)

    @property
    def is_loss(self) -> bool:
        """True if the objective limits the share of arrivals that full stations drop."""
        return self.objective.metric == LOSS_METRIC

    @property
    def unit(self) -> str:
        """Unit of the objective's value: `1/s`, `ratio` or `s`."""
        return "1/s" if self.upward else "ratio" if self.is_loss else "s"

    @property
    def share(self) -> float:
        """Probability of the percentile that the objective limits, in (0, 1)."""
        return float(self.objective.metric.removeprefix(WAIT_METRIC).removeprefix("p")) / 100

    @property
    def text(self) -> str:
        """Text of the objective, with the name of the class that it concerns."""
        if self.name is None or self.objective.transaction is not None:
            return self.objective.text
        metric = WAIT_METRIC if self.is_wait else self.objective.metric
        return self.objective.text.replace(metric, f"{metric} of {self.name}", 1)

    def ratio(self, value: float) -> float:
        """Return the ratio of a value to the limit of the objective, inverted if larger values are better.

        The objective holds if the ratio is at most 1.
        """
        limit = self.objective.value
        if self.upward:
            return limit / value if value > 0 else math.inf
        return value / limit


@dataclass(frozen=True)
class Question:
    """Sizing question that every candidate must answer.

    Attributes
    ----------
    load : Load
        Load that the hardware must serve.
    utilization : dict of str to float
        Highest allowed utilization by station. [ratio]
    draws : tuple of dict of str to float
        For each random draw, the factors of the demands by station.
    speed_draws : dict of str to tuple of float
        For each machine, standard normal scores, one for each random draw.
    growth : float
        Growth factor of the load until the horizon, without season and at least 1. It is also the growth factor of data
        whose growth rate is not stated. [1]
    growth_shares : tuple of float
        For each random draw, the probability that the load is below the load of the draw; empty if the growth is not
        uncertain.
    growth_draws : tuple of float
        For each random draw, the load of the draw relative to `load`. [ratio]
    corrections : dict of int to Factor
        For each objective that limits a measured percentile, by the index of the objective: the factor 1 with an
        interval. The interval is the relative error of the ratio of measured to computed percentile.
    counted : tuple of str
        Names of the quantities that vary between random draws: `demands`, `machines`, `percentiles`, `growth`.
    """

    basis: Basis
    file: SizingFile
    load: Load
    checks: tuple[Check, ...]
    utilization: Mapping[str, float]
    tiers: tuple[Tier, ...]
    cost: Cost
    draws: tuple[Mapping[str, float], ...] = ()
    speed_draws: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    growth: float = 1.0
    growth_shares: tuple[float, ...] = ()
    growth_draws: tuple[float, ...] = ()
    corrections: Mapping[int, Factor] = field(default_factory=dict)
    counted: tuple[str, ...] = ()

    def correction(self, check: Check) -> tuple[float, float, float] | None:
        """Return the ratio of measured to computed value of an objective's percentile, and the interval of this ratio;
        None if the metric is not a percentile, or was not measured. [ratio]
        """
        return self.basis.correction(check.name, check.objective.metric) if check.is_percentile else None

    def drawn_load(self, draw: int | None, load: Load) -> Load:
        """Return a load multiplied by the growth in a random draw."""
        return load if draw is None or not self.growth_draws else load.times(self.growth_draws[draw])

    def scenarios(self, candidate: Candidate) -> list[str | None]:
        """Return the failure scenarios of a candidate: None for the scenario with all nodes running, and the name of
        each tier that must survive a loss of nodes.
        """
        lost = self.file.nodes_lost
        tiers = [tier.name for tier, option in zip(self.tiers, candidate, strict=True) if tier.scales and lost]
        return [None, *tiers]

    def factors(self, candidate: Candidate, draw: int) -> dict[str, float]:
        """Return the factor of the service demand of each station in a random draw, by station name.

        The factor varies with the error of the demands and with the error of the machine's speed.
        """
        found = dict(self.draws[draw])
        for tier, option in zip(self.tiers, candidate, strict=True):
            if option.machine is None or option.speed_high <= option.speed_low:
                continue
            width = math.log(option.speed_high / option.speed_low) / 2 / NORMAL_95
            slower = math.exp(-width * self.speed_draws[option.machine][draw])
            for name in tier.stations:
                found[name] = found.get(name, 1.0) * slower
        return found
