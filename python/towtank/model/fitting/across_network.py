"""The network that is solved for a prediction across systems: stations of the bottleneck, and of all that is shared."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.drift import DRIFT
from towtank.model.fitting.network import network_throughput
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.quota_curve import QuotaCurve, others_use
from towtank.model.quota import PERIOD_S, Quota

# Rounds until throughput and what quotas spare agree, and the change of the throughput that is none. [ratio]
_ROUNDS, _AGREES = 12, 1e-4
# A host that was busy all the time had queues that its utilization does not tell.
_MOST_USED = 0.95
Json = dict[str, Any]


@dataclass(frozen=True)
class Station:
    """One station of what is predicted.

    Attributes
    ----------
    demand_s : float
        Of a transaction. [s]
    servers : int
    job_s : float
        What comes here of a transaction at once, where it comes at all. [s]
    quota : Quota or None
        Where its host has less than a CPU.
    """

    demand_s: float
    servers: int
    job_s: float
    quota: Quota | None

    @classmethod
    def of(cls, work_s: float, cpus: float, period_s: float, among: int = 1, requests: float = 1.0) -> Station:
        """From the CPU time of a transaction each of whose requests goes to any of so many stations, and their CPUs.

        Requests that follow one another and meet at one station are one job there, whose work comes at once.
        """
        servers = math.ceil(cpus)
        demand = work_s * servers / cpus
        together = (1 + (requests - 1) / among) / requests
        return cls(demand / among, servers, demand * together, Quota.of_linux(cpus, period_s) if cpus < 1 else None)

    def spared_s(self, rate: float) -> float:
        """What a transaction is spared of the waiting at a slow server, at a throughput. [s]"""
        if self.quota is None:
            return 0.0
        return self.demand_s / self.job_s * float(self.quota.spared(self.job_s, rate * self.demand_s))


@dataclass(frozen=True)
class Shared:
    """A host that all servers use.

    Attributes
    ----------
    name : str
    demand_s : float
        CPU time of a transaction. [s]
    error_s : float
        Its standard error. [s]
    cpus : float
        CPUs that the host has. [1]
    cpus_then : float
        CPUs that it has in what is predicted. [1]
    utilization : float
        The highest that was measured, in [0, 1].
    period_s : float
        How often its CPU time is given anew. [s]
    """

    name: str
    demand_s: float
    error_s: float
    cpus: float
    cpus_then: float
    utilization: float
    period_s: float = PERIOD_S

    def document(self) -> Json:
        """As it stands in the prediction."""
        return {**asdict(self), "service_time_s": self.demand_s / self.cpus_then}

    def time_s(self, demand_s: float) -> float:
        """What a transaction of such a CPU time took here as it was measured, waiting for a quota included. [s]"""
        station = self.station(demand_s, self.cpus)
        if station.quota is None:
            return station.demand_s
        return station.quota.residence(station.job_s, min(self.utilization, _MOST_USED))

    def station(self, demand_s: float, cpus: float) -> Station:
        """Its station for transactions of such a CPU time, with so many CPUs."""
        return Station.of(demand_s, cpus, self.period_s)

    def draws(self, count: int, stream: np.random.Generator) -> Floats:
        """CPU times of a transaction that may be true; they may drift where the host was not seen busy. [s]"""
        relative = np.hypot(self.error_s / self.demand_s, DRIFT * (1 - min(self.utilization, 1.0)))
        return np.asarray(self.demand_s * np.exp(relative * stream.standard_normal(count)), dtype=float)


@dataclass(frozen=True)
class Growth:
    """Servers and their CPUs, as measured and as predicted; no CPUs where their hosts have none of their own. [1]"""

    servers_from: int
    servers_to: int
    cpus_from: float | None
    cpus_to: float | None
    cpu_period_s: float
    requests: float

    @classmethod
    def of(cls, asked: Json, requests: float) -> Growth:
        """As the manifest of a study asks for it, for transactions of so many requests."""
        cpus = (asked.get("cpus_from"), asked.get("cpus_to"))
        if None in cpus:
            cpus = (None, None)
        periods = asked.get("cpu_period_of_hosts_s") or {}
        period = next((float(periods[name]) for name in asked["hosts"] if name in periods), PERIOD_S)
        return cls(int(asked["servers_from"]), int(asked["servers_to"]), *cpus, period, requests)

    @property
    def fitted(self) -> int:
        """Servers of the curve: whole CPUs of all hosts that were measured."""
        return self.servers_from * math.ceil(self.cpus_from or 1.0)

    def curve(self, think_s: float) -> ClosedCurve:
        """What is fitted to what was measured."""
        if self.cpus_from is None or self.cpus_from >= 1:
            return ClosedCurve(self.fitted, think_s)
        return QuotaCurve(self.fitted, think_s, quota=Quota.of_linux(self.cpus_from, self.cpu_period_s))

    def station(self, demand_s: float) -> Station:
        """One of the stations of what is predicted, from the demand that the curve has for one of its servers."""
        if self.cpus_from is None or self.cpus_to is None:
            return Station(demand_s / self.servers_to, 1, demand_s, None)
        work = demand_s * self.cpus_from / math.ceil(self.cpus_from)
        return Station.of(work, self.cpus_to, self.cpu_period_s, self.servers_to, self.requests)


def throughputs(loads: Floats, stations: list[Station], elsewhere_s: float) -> Floats:
    """Throughput at each load. [1/s]"""
    if all(one.quota is None for one in stations):
        return _exact(loads, stations, elsewhere_s)
    found = np.empty(len(loads))
    for place, load in enumerate(np.split(loads, len(loads))):
        rate = float(_exact(load, stations, elsewhere_s)[0])
        for _ in range(_ROUNDS):
            others = others_use(float(load[0])) * rate
            spared = sum(number * one.spared_s(others) for one, number in Counter(stations).items())
            before, rate = rate, float(_exact(load, stations, elsewhere_s - spared)[0])
            if abs(rate - before) <= _AGREES * rate:
                break
        found[place] = rate
    return found


def _exact(loads: Floats, stations: list[Station], elsewhere_s: float) -> Floats:
    """Throughput of the network of slow servers at each load, between whole numbers on the line. [1/s]"""
    most = math.ceil(loads.max())
    curve = network_throughput(most, [(one.demand_s, one.servers) for one in stations], max(elsewhere_s, 1e-9))
    return np.asarray(np.interp(loads, np.arange(most + 1), np.concatenate([[0.0], curve])), dtype=float)
