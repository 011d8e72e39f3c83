"""Models a drift of the service demands of a network beyond the measured utilizations. The module `fitting.drift` does
so for a curve.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from towtank.model.fitting.drift import DRIFT
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.replicates import Network
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.replicates import SEED


def reached(network: Network) -> Floats:
    """Return the highest measured utilization of each station; shape (n_stations,), values in [0, 1]."""
    of = network.measured
    capacity = np.array([station.capacity for station in of.stations])
    seen = (of.levels().busy + of.others) / capacity
    return np.asarray(np.minimum(seen.max(axis=0), 1.0), dtype=float)


def utilization(network: Network, own: Floats, others: Floats) -> Floats:
    """Return the utilization of each station by transactions and by other programs together.

    `own` is the utilization by transactions [ratio], `others` the number of servers that other programs keep busy [1].
    The result has shape (n_stations,). [ratio]
    """
    capacity = np.array([station.capacity for station in network.measured.stations])
    return np.asarray(np.minimum(own + others / capacity, 1.0), dtype=float)


def drifted(network: Network, busy: Floats | None = None) -> tuple[Parameters, ...]:
    """Return the replicates with demands that drift above the highest measured utilization of each station.

    `busy` is the utilization of each station, of shape (n_stations,), for which the demands are computed; 1 by default.
    [ratio]

    Notes
    -----
    ln D(u) = ln D + g (u - u0) above the highest measured utilization u0 of the station, where g is normal with mean 0
    and standard deviation `DRIFT`; g is drawn for each station and applies to all transactions there.
    """
    asked = np.ones(len(network.measured.stations)) if busy is None else busy
    excess = np.maximum(asked - reached(network), 0.0)
    stream = np.random.default_rng(SEED + 2)
    slopes = DRIFT * stream.standard_normal((len(network.draws), len(excess)))
    return tuple(
        replace(each, demands=each.demands * np.exp(slope * excess)[:, None])
        for each, slope in zip(network.draws, slopes, strict=True)
    )
