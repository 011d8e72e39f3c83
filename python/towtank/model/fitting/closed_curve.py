"""Throughput curve of a closed system of users with think times, one station with m servers, and a constant delay.

A transaction has demand S at the bottleneck, which has m servers. It spends the time O elsewhere without waiting; then
its user thinks for Z. The exact solution for N users is the machine repairman model: with j transactions at the
bottleneck,

    p(j) ~ (Z + O)^(N-j) / (N-j)!  *  S^j / prod_{i<=j} min(i, m),      X(N) = sum_j p(j) min(j, m) / S.

All terms are positive, so no digits cancel, however many users and servers there are. The product X S depends only on
the ratio (Z + O) / S. For each N it is therefore computed only once, as a spline over the logarithm of this ratio, so a
thousand bootstrap fits take hardly longer than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy

from towtank.errors import ModelError
from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.observations import Conditions, Floats, Observations

# Upper bound for the estimate of background work, as a share of the servers. Work beyond this share is attributed to
# the load. [ratio]
_MOST_BACKGROUND = 0.9
# Smallest share of the servers that background work and other programs leave for transactions. A fit that reaches this
# bound is not valid. [ratio]
_LEAST_LEFT = 0.01
_LOWEST_RATIO, _HIGHEST_RATIO = 1e-7, 1e7
# Number of knots of the spline over the logarithm of the ratio (Z + O) / S; the relative error of the spline is
# about 1e-7.
_KNOTS = 160
# Half the width of the range over which the solution sums, in square roots of the number of users. The range is
# centred on the likeliest number of transactions at the bottleneck. [1]
_WINDOW = 10.0
_MOST_CELLS = 4_000_000
MOST_USERS = 200_000
"""Highest number of users for which the curve is solved exactly. For more users, a solution takes seconds and equals
the asymptotes. [1]
"""


def scaled_throughput(users: int, servers: int, ratios: Floats) -> Floats:
    """Return the throughput of a closed system with one bottleneck, as a multiple of 1/S, where S is the service
    demand.

    Parameters
    ----------
    users : int
        N >= 0. [1]
    servers : int
        m >= 1. [1]
    ratios : ndarray of shape (n_ratios,)
        (Z + O) / S >= 0. [ratio]

    Returns
    -------
    ndarray of shape (n_ratios,)
        X S, mean number of busy servers. [1]
    """
    if users == 0:
        return np.zeros(len(ratios))
    numbers = np.arange(users + 1)
    busy = np.minimum(numbers, servers).astype(float)
    work = np.concatenate([[0.0], np.cumsum(np.log(busy[1:]))])
    away = (users - numbers).astype(float)
    fixed = -scipy.special.gammaln(away + 1.0) - work
    out = np.empty(len(ratios))
    width = min(users + 1, 2 * math.ceil(_WINDOW * math.sqrt(users)) + 1)
    rows = max(1, _MOST_CELLS // width)
    for first in range(0, len(ratios), rows):
        some = ratios[first : first + rows]
        inside = _likely(users, servers, some, width)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(away[inside] == 0, 0.0, away[inside] * np.log(some)[:, None]) + fixed[inside]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        out[first : first + rows] = np.sum(weights * busy[inside], axis=1) / weights.sum(axis=1)
    return out


def _likely(users: int, servers: int, ratios: Floats, width: int) -> npt.NDArray[np.int64]:
    """Return the numbers of transactions at the bottleneck, around the likeliest number, whose probability matters.

    Below saturation this number is binomial; above saturation the number of thinking users is Poisson. In both cases
    the standard deviation is at most the square root of the number of users.
    """
    if width > users:
        return np.broadcast_to(np.arange(users + 1), (len(ratios), users + 1))
    free = users / (1 + ratios)
    likeliest = np.where(free <= servers, free, users - ratios * servers)
    first = np.clip(np.rint(likeliest) - width // 2, 0, users + 1 - width).astype(np.int64)
    return np.asarray(first[:, None] + np.arange(width), dtype=np.int64)


class ThroughputTable:
    """Throughput of a given number of users, as a spline over the logarithm of (Z + O) / S.

    Z + O is the time outside the bottleneck, S the service demand at the bottleneck.
    """

    def __init__(self, users: int, servers: int) -> None:
        low, high = math.log(_LOWEST_RATIO), math.log(_HIGHEST_RATIO)
        bend = math.log(max(users / servers - 1, 1.0))
        narrow = 1 / math.sqrt(users)
        # The knots are the sinh of evenly spaced numbers: dense at the bend of the curve, sparse on its straight parts.
        first, last = math.asinh((low - bend) / narrow), math.asinh((high - bend) / narrow)
        self.knots = bend + narrow * np.sinh(np.linspace(first, last, _KNOTS))
        values = scaled_throughput(users, servers, np.exp(self.knots))
        self._spline = scipy.interpolate.CubicSpline(self.knots, np.log(values))

    def __call__(self, ratios: Floats) -> Floats:
        """Return the number of busy servers (throughput X times demand S) for ratios (Z + O) / S of any shape. [1]"""
        logs = np.log(np.clip(ratios, _LOWEST_RATIO, _HIGHEST_RATIO))
        return np.asarray(np.exp(self._spline(logs)), dtype=float)

    def with_slope(self, ratios: Floats) -> tuple[Floats, Floats]:
        """Return the number of busy servers X S for ratios (Z + O) / S of any shape, and its elasticity
        d log(X S) / d log(ratio), in [-1, 0].
        """
        logs = np.log(np.clip(ratios, _LOWEST_RATIO, _HIGHEST_RATIO))
        return np.asarray(np.exp(self._spline(logs)), dtype=float), np.asarray(self._spline(logs, 1), dtype=float)


@dataclass
class ClosedCurve:
    """Curve of throughput over the number of users, for a closed system with one bottleneck.

    Attributes
    ----------
    servers : int
        Number m of servers at the bottleneck. [1]
    think_s : float
        Think time Z at loads that were not measured. [s]
    with_busy : bool, default False
        True if the utilization of the bottleneck was measured too, U = b + S X. The background b is then a third
        parameter: b of the m servers are busy with other work, so transactions take m / (m - b) times as long.
    others : float, default 0
        Servers that other programs keep busy at loads that were not measured; they slow down transactions as the
        background does. [1]
    """

    servers: int
    think_s: float
    with_busy: bool = False
    others: float = 0.0
    _tables: dict[int, ThroughputTable] = field(default_factory=dict, repr=False)

    name = "closed"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters: demand S and time O outside the bottleneck; also background b if the bottleneck's
        utilization was measured.
        """
        return ("bottleneck_demand_s", "other_s", *(("background",) if self.with_busy else ()))

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters of the curve: times are not negative, and background work leaves some
        servers free.
        """
        upper = [np.inf, np.inf, *([_MOST_BACKGROUND * self.servers] if self.with_busy else [])]
        return Bounds(np.zeros(len(upper)), np.array(upper))

    def held_up(self, parameters: Floats, others: float | None = None) -> Floats:
        """Return S m / (m - b - others) of shape (n_problems,): the demand at the bottleneck, with the slowdown by
        background work and other programs. [s]
        """
        demand = np.maximum(parameters[:, 0], 1e-300)
        background = parameters[:, 2] if self.with_busy else np.zeros(len(parameters))
        left = self.servers - background - (self.others if others is None else others)
        return np.asarray(demand * self.servers / np.maximum(left, _LEAST_LEFT * self.servers), dtype=float)

    def busy(self, parameters: Floats, rate: Floats, conditions: Conditions | None = None) -> Floats:
        """Return the number of busy servers U = b + S X at throughputs X of shape (n_problems, n_loads). [1]"""
        work = 1.0 if conditions is None else conditions.work
        return np.asarray(parameters[:, 2, None] + parameters[:, 0, None] * work * rate, dtype=float)

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        """Return the throughput at each number of users, with the think time of the curve. [1/s]"""
        return self.throughput_in(parameters, load, self.usual(len(load)))

    def usual(self, count: int) -> Conditions:
        """Return the conditions (think time, mix, other programs) that are assumed at loads that were not measured."""
        return Conditions(np.full(count, self.think_s), np.ones(count), np.full(count, self.others))

    def throughput_in(self, parameters: Floats, load: Floats, conditions: Conditions) -> Floats:
        """Return the throughput at each number of users, with the think time, the transaction mix and the work of other
        programs at that load. [1/s]

        A fractional number of users, such as a mean over a window, is interpolated between the whole numbers
        around it.
        """
        columns = []
        rows = zip(load, conditions.think_s, conditions.work, conditions.others, strict=True)
        for users, think, work, others in rows:
            below = math.floor(users)
            part = users - below
            asked = (float(think), float(work), float(others))
            value = (1 - part) * self._rate(below, parameters, *asked)
            if part:
                value = value + part * self._rate(below + 1, parameters, *asked)
            columns.append(value)
        return np.stack(columns, axis=1)

    def _rate(self, users: int, parameters: Floats, think_s: float, work: float, others: float) -> Floats:
        """Return the throughput for a whole number of users, for each set of parameters; shape (n_problems,). [1/s]"""
        if users == 0:
            return np.zeros(len(parameters))
        demand = work * self.held_up(parameters, others)
        return np.asarray(self.table(users)((think_s + parameters[:, 1]) / demand) / demand, dtype=float)

    def table(self, users: int) -> ThroughputTable:
        """Return the exact throughputs for a number of users as a table, which is computed only at the first call."""
        if users > MOST_USERS:
            raise ModelError(f"closed curve: users must be at most {MOST_USERS}, got {users} instead")
        if users not in self._tables:
            self._tables[users] = ThroughputTable(users, self.servers)
        return self._tables[users]

    def response(self, parameters: Floats, load: Floats, think_s: Floats) -> Floats:
        """Return the response time R = N / X - Z at each number of users. [s]"""
        conditions = replace(self.usual(len(load)), think_s=think_s)
        return np.asarray(load / self.throughput_in(parameters, load, conditions) - think_s, dtype=float)

    def starts(self, points: Observations) -> Floats:
        """Return starting points of the fit: service time S and other time O.

        S is at most the number of servers divided by the highest throughput; O is at most the response time at the
        lowest load.
        """
        most = self.servers / float(points.throughput.max())
        cycle = float(np.max(points.load / points.throughput - points.think_s()))
        lowest = float(points.load[0] / points.throughput[0] - points.think_s()[0])
        demands = [share * most for share in (0.05, 0.3, 0.7, 0.95, 1.0)]
        spare = max(lowest, 1e-3 * cycle, 1e-3 * most)
        others = [share * spare for share in (0.01, 0.3, 0.9)]
        idle = (0.0,) if self.with_busy else ()
        return np.array([(demand, other, *idle) for demand in demands for other in others])

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        """Return the total demand D, the demand per server D_max, the throughput limit and the knee (D + Z) / D_max of
        the curve, by name.
        """
        demand, other = self.held_up(parameters), parameters[:, 1]
        largest = demand / self.servers
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "demand_s": demand + other,
                "largest_demand_s": largest,
                "limit_throughput": 1 / largest,
                "knee_load": (demand + other + self.think_s) / largest,
            }
