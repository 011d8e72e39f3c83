"""Predicts the throughput of a system with more servers by a queueing network. Each bottleneck server and each shared
host is a station of the network.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.drift import DRIFT
from towtank.model.fitting.network import network_throughput
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.quota_curve import QuotaCurve, others_use
from towtank.model.prediction_file import PredictionAsked
from towtank.model.quota import PERIOD_S, Quota

# Throughput and the time that CPU quotas save depend on each other, so they are computed iteratively. The iteration
# ends after `_ROUNDS` rounds, or if the throughput changes by less than the share `_AGREES`. [1], [ratio]
_ROUNDS, _AGREES = 12, 1e-4
# Highest utilization for which the queue of a host is computed, since the queue is infinite at 1. Higher utilizations
# are replaced by this value. [ratio]
_MOST_USED = 0.95


@dataclass(frozen=True)
class Station:
    """Station of the predicted configuration.

    Attributes
    ----------
    demand_s : float
        Service demand of a transaction. [s]
    servers : int
        Number of servers. [1]
    job_s : float
        Service time of one visit of a transaction. [s]
    quota : Quota or None
        CPU quota of a host with less than one CPU; otherwise None.
    """

    demand_s: float
    servers: int
    job_s: float
    quota: Quota | None

    @classmethod
    def of(cls, work_s: float, cpus: float, period_s: float, among: int = 1, requests: float = 1.0) -> Station:
        """Return the station of a host, computed from the CPU time per transaction.

        The requests of a transaction are distributed over `among` stations. Consecutive requests to the same station
        count as one job, whose work is the sum of the work of these requests.
        """
        servers = math.ceil(cpus)
        demand = work_s * servers / cpus
        together = (1 + (requests - 1) / among) / requests
        return cls(demand / among, servers, demand * together, Quota.of_linux(cpus, period_s) if cpus < 1 else None)

    def spared_s(self, rate: float) -> float:
        """Return the time per transaction that a CPU quota saves at throughput `rate`, compared with a constantly
        slower server; 0 without a quota. [s]
        """
        if self.quota is None:
            return 0.0
        return self.demand_s / self.job_s * float(self.quota.spared(self.job_s, rate * self.demand_s))


@dataclass(frozen=True)
class Shared:
    """Host that all bottleneck servers use together, such as a database or a gateway.

    Attributes
    ----------
    name : str
    demand_s : float
        CPU time of a transaction. [s]
    error_s : float
        Standard error of `demand_s`. [s]
    cpus : float
        CPUs of the host when it was measured. [1]
    cpus_then : float
        CPUs of the host in the predicted configuration. [1]
    utilization : float
        Highest measured utilization, in [0, 1].
    period_s : float
        Period of its CPU quota. [s]
    """

    name: str
    demand_s: float
    error_s: float
    cpus: float
    cpus_then: float
    utilization: float
    period_s: float = PERIOD_S

    def document(self) -> dict[str, object]:
        """Return this shared host, with its service time, as a JSON object for the prediction."""
        return {**asdict(self), "service_time_s": self.demand_s / self.cpus_then}

    def time_s(self, demand_s: float) -> float:
        """Return the time of a transaction at this host with its measured CPUs, waits for its quota included. [s]"""
        station = self.station(demand_s, self.cpus)
        if station.quota is None:
            return station.demand_s
        return station.quota.residence(station.job_s, min(self.utilization, _MOST_USED))

    def station(self, demand_s: float, cpus: float) -> Station:
        """Return this shared host as a station, for a CPU time per transaction and a number of CPUs."""
        return Station.of(demand_s, cpus, self.period_s)

    def draws(self, count: int, stream: np.random.Generator) -> Floats:
        """Return random CPU times per transaction. [s]

        The random variation has two causes: the standard error of `demand_s`, and a possible change of the demand up
        to full utilization. The less busy the host was, the larger the second cause is.
        """
        relative = np.hypot(self.error_s / self.demand_s, DRIFT * (1 - min(self.utilization, 1.0)))
        return np.asarray(self.demand_s * np.exp(relative * stream.standard_normal(count)), dtype=float)


@dataclass(frozen=True)
class Growth:
    """Size of the bottleneck tier in the measured (`from`) and in the predicted (`to`) configuration: servers, and CPUs
    of each server, None without a CPU limit [1]; period of the CPU quota [s]; and mean number of requests per
    transaction [1].
    """

    servers_from: int
    servers_to: int
    cpus_from: float | None
    cpus_to: float | None
    cpu_period_s: float
    requests: float

    @classmethod
    def of(cls, asked: PredictionAsked, requests: float) -> Growth:
        """Return the growth that a study asks for; `requests` is the number of requests per transaction."""
        cpus = (asked.cpus_from, asked.cpus_to)
        if None in cpus:
            cpus = (None, None)
        periods = asked.cpu_period_of_hosts_s
        period = next((periods[name] for name in asked.hosts if name in periods), PERIOD_S)
        return cls(asked.servers_from, asked.servers_to, *cpus, period, requests)

    @property
    def fitted(self) -> int:
        """Number of servers in the fitted curve: the number of CPUs of each measured host, rounded up, summed over all
        hosts. [1]
        """
        return self.servers_from * math.ceil(self.cpus_from or 1.0)

    def curve(self, think_s: float) -> ClosedCurve:
        """Return the curve of a closed system that is fitted to the measurements, with a CPU quota if a measured host
        has less than one CPU.
        """
        if self.cpus_from is None or self.cpus_from >= 1:
            return ClosedCurve(self.fitted, think_s)
        return QuotaCurve(self.fitted, think_s, quota=Quota.of_linux(self.cpus_from, self.cpu_period_s))

    def station(self, demand_s: float) -> Station:
        """Return the station of a bottleneck server in the predicted configuration, computed from the fitted demand of
        the curve.
        """
        if self.cpus_from is None or self.cpus_to is None:
            return Station(demand_s / self.servers_to, 1, demand_s, None)
        work = demand_s * self.cpus_from / math.ceil(self.cpus_from)
        return Station.of(work, self.cpus_to, self.cpu_period_s, self.servers_to, self.requests)


def throughputs(loads: Floats, stations: list[Station], elsewhere_s: float) -> Floats:
    """Return the throughput of the predicted network at each load. [1/s]"""
    if all(station.quota is None for station in stations):
        return _exact(loads, stations, elsewhere_s)
    found = np.empty(len(loads))
    for place, load in enumerate(np.split(loads, len(loads))):
        rate = float(_exact(load, stations, elsewhere_s)[0])
        for _ in range(_ROUNDS):
            others = others_use(float(load[0])) * rate
            spared = sum(number * station.spared_s(others) for station, number in Counter(stations).items())
            before, rate = rate, float(_exact(load, stations, elsewhere_s - spared)[0])
            if abs(rate - before) <= _AGREES * rate:
                break
        found[place] = rate
    return found


def _exact(loads: Floats, stations: list[Station], elsewhere_s: float) -> Floats:
    """Return the throughput of the network without CPU quotas, interpolated between whole numbers of users. [1/s]"""
    most = math.ceil(loads.max())
    curve = network_throughput(
        most, [(station.demand_s, station.servers) for station in stations], max(elsewhere_s, 1e-9)
    )
    return np.asarray(np.interp(loads, np.arange(most + 1), np.concatenate([[0.0], curve])), dtype=float)
