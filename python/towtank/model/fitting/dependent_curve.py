"""Curve of a closed system in which the demand at the bottleneck changes linearly with the bottleneck's utilization.

A server that is idle goes to sleep. A request that arrives at a sleeping server waits until the server has woken up,
and is served with a cold cache and a slow clock. The busier the server, the fewer requests find it asleep. The
probability that a request finds the server idle is about 1 - u, so

    D(u) = D_full (1 + (r - 1) (1 - u)),        0 <= u <= 1,

Here u is the utilization of the bottleneck, D_full the demand at full utilization, and r the ratio of the demand at
zero utilization to D_full. Batching, warm caches and a clock that speeds up under load cause r > 1; contention for
caches and locks causes r < 1. Measured CPU time gives D(u) at each load level directly. As u cannot exceed 1, the
extrapolation is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.observations import Conditions, Floats, Observations

LEAST_RATIO, MOST_RATIO = 1 / 3, 4.0
"""Bounds of the ratio r. [ratio]

A ratio outside these bounds means that the demand does not follow a straight line over utilization.
"""
_STEPS = 60
_CONVERGED = 1e-11


@dataclass
class DependentCurve(ClosedCurve):
    """Curve of throughput over users, for a closed system whose demand at the bottleneck changes with
    utilization.

    Notes
    -----
    The throughput is the exact solution of the machine repairman (`ClosedCurve`) for the demand at the mean
    utilization. This utilization is the fixed point of u = X(D(u)) D(u) / m. The model file contains a station whose
    speed depends on its number of jobs (product form). For the allowed ratios r, its throughput differs by at most 2.5
    %.
    """

    name = "load-dependent"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters: demand D_full at full utilization, time O outside the bottleneck, and ratio r of the
        demand at zero utilization to D_full.
        """
        return ("bottleneck_demand_s", "other_s", "idle_ratio")

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters: times are at least 0; the ratio r lies between `LEAST_RATIO` and `MOST_RATIO`."""
        return Bounds(np.array([0.0, 0.0, LEAST_RATIO]), np.array([np.inf, np.inf, MOST_RATIO]))

    def held_up(self, parameters: Floats, others: float | None = None) -> Floats:
        """Return D_full m / (m - others) of shape (n_problems,): the demand at full utilization, with the slowdown by
        other programs. [s]
        """
        left = self.servers - (self.others if others is None else others)
        return np.asarray(np.maximum(parameters[:, 0], 1e-300) * self.servers / left, dtype=float)

    def demand_at(self, parameters: Floats, utilization: Floats) -> Floats:
        """Return the service demand D(u) at utilizations u in [0, 1]. Arrays of parameters and of utilizations are
        broadcast against each other. [s]
        """
        full = np.maximum(parameters[:, 0], 1e-300)
        return np.asarray(full * (1 + (parameters[:, 2] - 1) * (1 - utilization)), dtype=float)

    def busy(self, parameters: Floats, rate: Floats, conditions: Conditions | None = None) -> Floats:
        """Return the number of busy servers U at throughputs X of shape (n_problems, n_loads). [1]

        U solves the equation U = X D(u), where u is the utilization with U busy servers.
        """
        asked = self.usual(rate.shape[1]) if conditions is None else conditions
        full = np.maximum(parameters[:, 0, None], 1e-300) * asked.work * rate
        more = parameters[:, 2, None] - 1
        idle = 1 - asked.others / self.servers
        return np.asarray(full * (1 + more * idle) / (1 + full * more / self.servers), dtype=float)

    def _rate(self, users: int, parameters: Floats, think_s: float, work: float, others: float) -> Floats:
        if users == 0:
            return np.zeros(len(parameters))
        away, table = think_s + parameters[:, 1], self.table(users)
        # Share of the servers that other programs leave free. The demand of transactions is divided by this share.
        left = (self.servers - others) / self.servers
        slope = -work / left * np.maximum(parameters[:, 0], 1e-300) * (parameters[:, 2] - 1)
        low, high = np.zeros(len(parameters)), np.ones(len(parameters))
        at = np.full(len(parameters), 0.5)
        for _ in range(_STEPS):
            demand = work / left * self.demand_at(parameters, at)
            scaled, elasticity = table.with_slope(away / demand)
            used = 1 - left + left * scaled / self.servers
            below = used > at
            low, high = np.where(below, at, low), np.where(below, high, at)
            # `steep` is the derivative of u - h(u), where h(u) is the utilization that results from the demand at
            # utilization u. If Newton's step leaves the interval that contains the root, the interval is halved
            # instead.
            steep = 1 + (used - 1 + left) * elasticity * slope / demand
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = at - (at - used) / steep
            after = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            moved = float(np.max(np.abs(after - at)))
            at = after
            if moved <= _CONVERGED:
                break
        demand = work / left * self.demand_at(parameters, at)
        return np.asarray(table(away / demand) / demand, dtype=float)

    def starts(self, points: Observations) -> Floats:
        """Return the starting points of the closed curve, each combined with three ratios r: a growing, a constant and
        a falling demand.
        """
        plain = super().starts(points)[:, :2]
        return np.array([(*start, ratio) for start in plain for ratio in (0.8, 1.0, 1.3)])

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        """Return the demand at zero utilization, and the quantities that `ClosedCurve` derives. Here these quantities
        hold for full utilization.
        """
        return {**super().derived(parameters), "idle_demand_s": parameters[:, 0] * parameters[:, 2]}

    def rates(self, parameters: Floats) -> tuple[float, ...]:
        """Return the speeds of a load-dependent station that is equivalent to this bottleneck, with 1, 2, ... jobs. [1]

        The demand of the station is D_full. A job that finds j - 1 other jobs has the demand D(u) at the utilization
        u = min(j - 1, m) / m.
        """
        found = []
        for jobs in range(1, self.servers + 2):
            share = min(jobs - 1, self.servers) / self.servers
            demand = float(self.demand_at(parameters[None, :], np.array([share]))[0])
            found.append(min(jobs, self.servers) * float(parameters[0]) / demand)
        return tuple(found)
