"""Computes percentiles of the time that a transaction waits in a queue before it is served.

The result is exact for an open class at one M/M/m station, even if its capacity is limited. Otherwise a
transaction counts as waiting if it waits at any station, and its wait is assumed to follow a gamma distribution. The
mean of this distribution comes from the solved model, its variance from the variances at the stations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import scipy

from towtank.model.engine_model import EngineModel, Station
from towtank.model.percentiles import EXACT_PERCENTILES, erlang_c, lone_queue, visits_of, waiting_probability
from towtank.model.stations import NODE_SEPARATOR, StationAnswer

IN_TURN = frozenset({"fcfs", "priority"})
"""Disciplines at which jobs wait in a queue."""
GAMMA_WAIT = "gamma distribution of the waits, with the mean of the solution and the variances of the stations"


def waits_in_turn(model: EngineModel, name: str) -> bool:
    """Return True if a class visits a station where jobs wait in a queue."""
    return any(station.discipline in IN_TURN and station.service_of(name) for station in model.stations)


def mmm_wait(rate: float, service_s: float, servers: int, share: float, room: int | None = None) -> float:
    """Return a percentile of the wait at M/M/m, or at M/M/m/K for arrivals that are not rejected. [s]

    Parameters
    ----------
    rate : float
        lambda; must be below m / S unless the number of jobs is limited. [1/s]
    service_s : float
        S > 0. [s]
    servers : int
        m >= 1. [1]
    share : float
        Probability of the percentile, in (0, 1).
    room : int, optional
        K >= m, the largest number of jobs present. [1]

    Notes
    -----
    M/M/m: P(W > t) = C exp(-(m mu - lambda) t) with Erlang's C. M/M/m/K: an arrival that finds n < K jobs waits for
    n - m + 1 exponential times of rate m mu; sections 2.3 and 2.4 of [1]_.

    References
    ----------
    .. [1] D. Gross, J. F. Shortle, J. M. Thompson and C. M. Harris, *Fundamentals of Queueing Theory*, 4th ed., Wiley,
           2008, doi:10.1002/9781118625651.

    Examples
    --------
    Calls of 180 s with an offered load of 10 erlang: 14 agents answer 80 % of the calls within 20 s.

    >>> round(mmm_wait(10 / 180, 180.0, 13, 0.8), 1), round(mmm_wait(10 / 180, 180.0, 14, 0.8), 1)
    (21.3, 0.0)
    """
    if room is None:
        beyond = erlang_c(servers, rate * service_s) / (1 - share)
        return math.log(beyond) / (servers / service_s - rate) if beyond > 1 else 0.0
    if room == servers:
        return 0.0
    steps = np.log(rate * service_s) - np.log(np.minimum(np.arange(1, room), servers))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    found = np.exp(logs - scipy.special.logsumexp(logs))[servers:]
    ahead = np.arange(1, len(found) + 1)

    def beyond_s(time: float) -> float:
        return float(found @ scipy.special.gammaincc(ahead, time * servers / service_s)) - (1 - share)

    if beyond_s(0.0) <= 0:
        return 0.0
    top = service_s
    while beyond_s(top) > 0:
        top *= 2
    return float(scipy.optimize.brentq(beyond_s, 0.0, top, xtol=1e-12 * top, rtol=1e-12))


def wait_percentiles(
    model: EngineModel, stations: Mapping[str, StationAnswer], name: str
) -> tuple[Callable[[float], float], str]:
    """Return a function that computes percentiles of the wait of a class, and the name of the method.

    In `model`, each node is a station; `stations` are those of the solution, with nodes combined.
    """
    visited = [each for each, station in stations.items() if station.residence_s.get(name)]
    alone = lone_queue(model, visited, name, bounded=True)
    if alone is not None:
        rate, service, servers, room = alone
        return lambda share: mmm_wait(rate, service, servers, share, room), EXACT_PERCENTILES
    none, mean, square = _moments(model.station_by_name, stations, name)
    if mean <= 0 or none >= 1:
        return lambda _: 0.0, GAMMA_WAIT
    mean, square = mean / (1 - none), square / (1 - none)
    variance = max(square - mean**2, 1e-12 * mean**2)
    shape = mean**2 / variance

    def percentile(share: float) -> float:
        below = (share - none) / (1 - none)
        return float(scipy.special.gammaincinv(shape, below)) * mean / shape if below > 0 else 0.0

    return percentile, GAMMA_WAIT


def _moments(
    known: Mapping[str, Station], stations: Mapping[str, StationAnswer], name: str
) -> tuple[float, float, float]:
    """Return the probability that a transaction does not wait, and the first two moments of its total wait.
    [1], [s], [s^2]
    """
    nodes = Counter(each.partition(NODE_SEPARATOR)[0] for each in known)
    none, mean, variance = 1.0, 0.0, 0.0
    for each, found in stations.items():
        station = known.get(each) or known[f"{each}{NODE_SEPARATOR}1"]
        if not found.residence_s.get(name) or station.discipline not in IN_TURN:
            continue
        visits, time, _, residence = visits_of(station, nodes[each], found, name)
        wait = residence - time
        waits = waiting_probability(station, found, time, wait)
        none *= (1 - waits) ** visits
        mean += visits * wait
        variance += visits * wait**2 * (2 / waits - 1)
    return none, mean, variance + mean**2
