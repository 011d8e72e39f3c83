"""Drift of the demands of a network above the utilizations measured, as of a curve (`fitting.drift`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from towtank.model.fitting.drift import DRIFT
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.replicates import Network
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.replicates import SEED


def reached(network: Network) -> Floats:
    """Return the highest utilization of each station among the levels measured; shape (n_stations,), in [0, 1]."""
    of = network.measured
    capacity = np.array([station.capacity for station in of.stations])
    seen = (of.levels().busy + of.others) / capacity
    return np.asarray(np.minimum(seen.max(axis=0), 1.0), dtype=float)


def utilization(network: Network, own: Floats, others: Floats) -> Floats:
    """Return the utilization of each station: `own`, a ratio, plus `others`, in busy servers; shape (n_stations,)."""
    capacity = np.array([station.capacity for station in network.measured.stations])
    return np.asarray(np.minimum(own + others / capacity, 1.0), dtype=float)


def drifted(network: Network, busy: Floats | None = None) -> tuple[Parameters, ...]:
    """Return the replicates with the demands that they may have at utilizations above those measured.

    Parameters
    ----------
    network : Network
    busy : ndarray of shape (n_stations,), optional
        Utilization at which the demands are needed; all servers busy if left out. [ratio]

    Notes
    -----
    ln D(u) = ln D + g (u - u0) above the highest utilization u0 of the station, g normal about 0 with the standard
    deviation `DRIFT`, the same for all transactions at a station and drawn for each station of its own.
    """
    asked = np.ones(len(network.measured.stations)) if busy is None else busy
    excess = np.maximum(asked - reached(network), 0.0)
    stream = np.random.default_rng(SEED + 2)
    slopes = DRIFT * stream.standard_normal((len(network.draws), len(excess)))
    return tuple(
        replace(each, demands=each.demands * np.exp(slope * excess)[:, None])
        for each, slope in zip(network.draws, slopes, strict=True)
    )
