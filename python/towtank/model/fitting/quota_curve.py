"""The closed curve of a bottleneck with a CPU quota, which lets work pass at full speed until a period is used up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.observations import Floats
from towtank.model.quota import Quota

# Each round brings the throughput closer by the share that the bottleneck has in a cycle, or better.
_ROUNDS = 4


def others_use(users: float) -> float:
    """Return the share of a station's utilization that an arriving user finds: that of the others, (N - 1) / N. [ratio]

    A user does not wait for itself.
    """
    return max(0.0, users - 1) / users


@dataclass
class QuotaCurve(ClosedCurve):
    """Closed curve whose servers have part of a CPU each.

    The slow server of the closed curve makes work wait that passes at full speed. What is spared of that wait at the
    utilization that results, as the other users make it, is taken off the time elsewhere, round after round.

    Attributes
    ----------
    quota : Quota
        Quota of each server.
    """

    quota: Quota = field(default_factory=lambda: Quota(0.5))

    name = "quota"

    def _rate(self, users: int, parameters: Floats, think_s: float, work: float, others: float) -> Floats:
        """Return the throughput of a whole number of users; shape (n_problems,). [1/s]"""
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
