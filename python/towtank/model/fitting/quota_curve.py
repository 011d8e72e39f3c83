"""Throughput curve of a closed system whose bottleneck has a CPU quota. Work runs at full speed until the quota of a
period is used up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.observations import Floats
from towtank.model.quota import Quota

# Number of iterations to find the throughput under a quota. Each iteration multiplies the error of the throughput
# by at most the bottleneck's share of the cycle time.
_ROUNDS = 4


def others_use(users: float) -> float:
    """Return the share (N - 1) / N of a station's utilization, which the other N - 1 of N users cause. [ratio]

    A user does not wait for its own requests, so only this share delays an arriving request.
    """
    return max(0.0, users - 1) / users


@dataclass
class QuotaCurve(ClosedCurve):
    """Throughput curve of a closed system in which each server is a fraction of a CPU.

    The base class models a constantly slower server, at which short work takes longer than under a quota. Therefore the
    time that the quota saves is computed from the utilization by the other users, and is subtracted from the time
    elsewhere. Both steps are repeated `_ROUNDS` times.

    Attributes
    ----------
    quota : Quota
        Quota of each server.
    """

    quota: Quota = field(default_factory=lambda: Quota(0.5))

    name = "quota"

    def _rate(self, users: int, parameters: Floats, think_s: float, work: float, others: float) -> Floats:
        """Return the throughput for a whole number of users, for each set of parameters; shape (n_problems,). [1/s]"""
        if users == 0:
            return np.zeros(len(parameters))
        demand = work * self.held_up(parameters, others)
        table, away = self.table(users), think_s + parameters[:, 1]
        rate = table(away / demand) / demand
        for _ in range(_ROUNDS):
            used = others_use(users) * rate * demand / self.servers
            spared = self.quota.spared(demand, used)
            rate = table(np.maximum(away - spared, 0.0) / demand) / demand
        return np.asarray(rate, dtype=float)
