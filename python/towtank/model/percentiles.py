"""Computes percentiles of response times from a solved network.

The result is exact for an open class at one M/M/m station. Otherwise a gamma distribution is assumed. Its mean comes
from the solution. Its variance is the sum of the variances at the stations, as if the times at the stations were
independent. The search of `towtank size` uses this approximation, and then simulates the hardware that it found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import scipy

from towtank.model.closed_percentiles import closed_variance
from towtank.model.engine_model import EngineModel, Station
from towtank.model.solved import SolvedNetwork
from towtank.model.stations import NODE_SEPARATOR, StationAnswer, servers_of

EXACT_PERCENTILES = "exact for M/M/m"
GAMMA = "gamma distribution with the mean of the solution and the variances of the stations"


def erlang_b(servers: int, work: float) -> float:
    """Return the probability that an arrival finds all servers busy, in a system without waiting (Erlang B). [ratio]

    Parameters
    ----------
    servers : int
        m >= 1. [1]
    work : float
        Offered work a = lambda S >= 0. [erlang]

    Notes
    -----
    B(0) = 1, B(i) = a B(i-1) / (i + a B(i-1)) for i servers. All terms are positive, so the recursion is stable and
    does not overflow [1]_.

    References
    ----------
    .. [1] D. Gross, J. F. Shortle, J. M. Thompson and C. M. Harris, *Fundamentals of Queueing Theory*, 4th ed., Wiley,
           2008, section 2.5, doi:10.1002/9781118625651.
    """
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = work * blocked / (number + work * blocked)
    return blocked


def erlang_c(servers: int, work: float) -> float:
    """Return the probability that an arrival waits at M/M/m (Erlang C); 1 if the offered work exceeds the number of
    servers. [ratio]

    Examples
    --------
    >>> round(erlang_c(2, 1.0), 6)
    0.333333
    """
    if work >= servers:
        return 1.0
    blocked = erlang_b(servers, work)
    return blocked / (1 - work / servers * (1 - blocked))


def mmm_percentile(rate: float, service_s: float, servers: int, share: float) -> float:
    """Return a percentile of the response time at M/M/m, first come, first served. [s]

    Parameters
    ----------
    rate : float
        lambda, below m / S. [1/s]
    service_s : float
        S > 0. [s]
    servers : int
        m >= 1. [1]
    share : float
        Probability of the percentile, in (0, 1).

    Notes
    -----
    Service is exponential with rate mu = 1/S. With Erlang's C, the wait is 0 with probability 1 - C, and otherwise
    exponential with rate theta = m mu - lambda. So P(T > t) = (1 - C) exp(-mu t) + C (theta exp(-mu t) - mu exp(-theta
    t)) / (theta - mu), section 2.3 of Gross et al.
    """
    mu, waits = 1 / service_s, erlang_c(servers, rate * service_s)
    theta = servers * mu - rate

    def beyond(time: float) -> float:
        service = math.exp(-mu * time)
        if abs(theta - mu) < 1e-9 * mu:
            both = (1 + mu * time) * service
        else:
            both = (theta * service - mu * math.exp(-theta * time)) / (theta - mu)
        return (1 - waits) * service + waits * both

    top = service_s
    while beyond(top) > 1 - share:
        top *= 2
    return float(scipy.optimize.brentq(lambda time: beyond(time) - (1 - share), 0.0, top, xtol=1e-12 * top, rtol=1e-12))


def response_percentiles(
    model: EngineModel, answer: SolvedNetwork, stations: Mapping[str, StationAnswer], name: str
) -> tuple[Callable[[float], float], str]:
    """Return a function that computes percentiles of a class's response time [s], and the name of the method.

    In `model`, each node is a station; `stations` are those of the solution, with nodes combined. The name is that of a
    class, or of a transaction of a class.
    """
    job_class = model.class_by_name.get(name)
    if job_class is not None and job_class.transactions:
        parts = [part for part in job_class.transactions if part.share > 0]
        gammas = [(part.share, _gamma(model, answer, stations, part.name)) for part in parts]
        return lambda share: _of_mixture(gammas, share), f"{GAMMA}, of each transaction"
    visited = [each for each, station in stations.items() if station.residence_s.get(name)]
    alone = lone_queue(model, visited, name)
    if alone is not None:
        rate, service, servers, _ = alone
        return lambda share: mmm_percentile(rate, service, servers, share), EXACT_PERCENTILES
    shape, mean = _gamma(model, answer, stations, name)
    return lambda share: _of_gamma(shape, mean, share), GAMMA


def _of_gamma(shape: float, mean: float, share: float) -> float:
    """Return a percentile of a gamma distribution; the mean of the distribution if its variance is zero. [s]"""
    return mean if math.isinf(shape) else float(scipy.special.gammaincinv(shape, share)) * mean / shape


def _of_mixture(gammas: list[tuple[float, tuple[float, float]]], share: float) -> float:
    """Return a percentile of the response time of all transactions, which is a mixture of gamma distributions. [s]"""
    ends = [_of_gamma(*gamma, share) for _, gamma in gammas]
    low, high = min(ends), max(ends)
    if high - low <= 1e-12 * high:
        return high

    def beyond(time: float) -> float:
        below = sum(
            part
            * (float(time >= mean) if math.isinf(shape) else float(scipy.special.gammainc(shape, time * shape / mean)))
            for part, (shape, mean) in gammas
        )
        return below - share

    return float(scipy.optimize.brentq(beyond, low, high, xtol=1e-9 * high)) if beyond(low) < 0 < beyond(high) else high


def _gamma(
    model: EngineModel, answer: SolvedNetwork, stations: Mapping[str, StationAnswer], name: str
) -> tuple[float, float]:
    """Return the shape parameter and the mean [s] of the gamma distribution of a class's response time; the shape is
    infinite if the variance is zero.
    """
    known, mean = model.station_by_name, answer.transaction(name).response_time_s or 0.0
    nodes = Counter(each.partition(NODE_SEPARATOR)[0] for each in known)
    variance = 0.0
    for each, found in stations.items():
        if found.residence_s.get(name):
            station = known.get(each) or known[f"{each}{NODE_SEPARATOR}1"]
            closed = closed_variance(model, answer, station, found, name, nodes=nodes[each])
            variance += _variance(station, nodes[each], found, name) if closed is None else closed
    return (mean**2 / variance, mean) if mean > 0 and variance > 0 else (math.inf, mean)


def lone_queue(
    model: EngineModel, visited: list[str], name: str, *, bounded: bool = False
) -> tuple[float, float, int, int | None] | None:
    """Return arrival rate, service time, servers and capacity if the model is one class at one M/M/m station; None for
    all other models.

    If the station has several nodes, the arrival rate of one node is returned. A station with limited capacity is
    accepted only if `bounded`.
    """
    load, known = model.class_by_name.get(name), model.station_by_name
    if len(visited) != 1 or len(model.classes) != 1 or load is None or not load.arrival_rate_per_s:
        return None
    station = known.get(visited[0]) or known[f"{visited[0]}{NODE_SEPARATOR}1"]
    service = station.services[0]
    nodes = 1 if visited[0] in known else sum(each.partition(NODE_SEPARATOR)[0] == visited[0] for each in known)
    poisson = load.arrivals.distribution in (None, "exponential") and load.arrivals.squared == 1
    room = station.capacity
    plain = station.discipline == "fcfs" and not station.rates and (bounded or room is None)
    once = abs((service.visits or 1.0) * nodes - 1) < 1e-9
    held = model.pools or model.forks or model.routing
    if not (poisson and plain and once) or held or service.variation.squared != 1:
        return None
    return load.arrival_rate_per_s / nodes, service.service_time_s, station.servers, room


def _variance(station: Station, nodes: int, found: StationAnswer, name: str) -> float:
    """Return the variance of the time that a transaction spends at a station. [s^2]

    Notes
    -----
    A transaction makes v visits. Each has the mean service time s with squared coefficient of variation c, and takes
    the time r including waiting.

    - Delay: v c s^2.
    - Processor sharing: v r^2 (c + (1 + c) q/(2-q)) with q = 1 - s/r. The first term comes from the job's own size, the
      second from the jobs that share the servers. The sum is exact for M/M/1 (c = 1) [1]_.
    - First come, first served: v (c s^2 + w^2 (2/C - 1)), with the mean wait w = r - s and the probability C of a
      wait. A positive wait is assumed exponential. A transaction without service time (s = 0) may also wait.

    References
    ----------
    .. [1] E. G. Coffman, R. R. Muntz and H. Trotter, "Waiting time distributions for processor-sharing systems",
           Journal of the ACM 17(1), 123-130, 1970, doi:10.1145/321556.321568.
    """
    visits, time, scv, residence = visits_of(station, nodes, found, name)
    if station.discipline == "delay":
        return visits * scv * time**2
    if station.discipline == "ps":
        share = 1 - time / residence
        return visits * residence**2 * (scv + (1 + scv) * share / (2 - share))
    wait = residence - time
    return float(visits * (scv * time**2 + wait**2 * (2 / waiting_probability(station, found, time, wait) - 1)))


class Visits(NamedTuple):
    """Visits of a transaction to a station: their number, and the service time and residence time of a visit.

    Attributes
    ----------
    visits : float
        Visits over all nodes. [1]
    service_s : float
        Mean service time. [s]
    scv : float
        Squared coefficient of variation of the service time. [1]
    residence_s : float
        Mean time of a visit, at least the service time. [s]
    """

    visits: float
    service_s: float
    scv: float
    residence_s: float


def visits_of(station: Station, nodes: int, found: StationAnswer, name: str) -> Visits:
    """Return number and duration of the visits of a class or transaction to a station."""
    service = next(each for each in station.services if each.job_class == name)
    time, scv = service.service_time_s, service.variation.squared
    # The model states the visits to one node of a station, so they are multiplied by the number of nodes.
    visits = max(service.visits_or_one * nodes, 1e-12)
    return Visits(visits, time, scv, max(found.residence_s[name] / visits, time))


def waiting_probability(station: Station, found: StationAnswer, service_s: float, wait_s: float) -> float:
    """Return the probability that a visit waits at a first-come-first-served station. [ratio]

    The larger of two estimates is returned: Erlang's C at utilization U, and m (1 - U) W / S with the mean wait W. Both
    agree at M/M/m. If S = 0, only Erlang's C is defined.
    """
    servers, idle = servers_of(station) or 1, 1 - found.utilization
    solved = min(1.0, wait_s * servers * idle / service_s) if service_s > 0 else 0.0
    return max(erlang_c(servers, found.utilization * servers), solved, 1e-12)
