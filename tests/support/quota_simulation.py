"""Event-driven simulation of first-come-first-served stations with a CPU quota."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass


@dataclass
class QuotaServer:
    """CPU that serves jobs in order of arrival. It stops when the quota of the current period is used up.

    Attributes
    ----------
    cpus : float
        Quota, as a number of CPUs. [1]
    period_s : float
        Length of a period. [s]
    """

    cpus: float
    period_s: float
    free_s: float = 0.0
    period: int = 0
    left_s: float = -1.0

    def end(self, now_s: float, work_s: float) -> float:
        """Return the completion time of a job that arrives at `now_s` and needs `work_s` of CPU time. [s]"""
        at = max(now_s, self.free_s)
        current = int(at / self.period_s)
        if self.left_s < 0 or current > self.period:
            self.period, self.left_s = max(current, self.period), self.cpus * self.period_s
        while True:
            until = (self.period + 1) * self.period_s
            now = min(work_s, self.left_s, max(0.0, until - at))
            at, work_s, self.left_s = at + now, work_s - now, self.left_s - now
            if work_s <= 1e-14:
                self.free_s = at
                return at
            self.period += 1
            at, self.left_s = until, self.cpus * self.period_s


def open_station(cpus: float, period_s: float, work_s: float, *, rate: float, count: int, seed: int) -> float:
    """Return the mean response time of a station with a CPU quota, Poisson arrivals and exponential CPU times. [s]"""
    stream, server = random.Random(seed), QuotaServer(cpus, period_s)
    now, total = 0.0, 0.0
    for _ in range(count):
        now += stream.expovariate(rate)
        total += server.end(now, stream.expovariate(1 / work_s)) - now
    return total / count


def closed_stations(
    users: int,
    think_s: float,
    work_s: float,
    *,
    servers: list[QuotaServer],
    until_s: float,
    seed: int,
    visits: int = 1,
) -> tuple[float, float]:
    """Return throughput [1/s] and mean response time [s] of stations with CPU quotas under a closed load.

    Each transaction makes `visits` visits to random stations.
    """
    stream = random.Random(seed)
    # Each event is a tuple: time, user, number of remaining visits, start time of the transaction.
    events = [(at, user, visits, at) for user in range(users) for at in (stream.expovariate(1 / think_s),)]
    heapq.heapify(events)
    done, total, begin_s = 0, 0.0, until_s / 5
    while events[0][0] < until_s:
        now, user, left, began = events[0]
        if left > 0:
            end = stream.choice(servers).end(now, stream.expovariate(visits / work_s))
            heapq.heapreplace(events, (end, user, left - 1, began))
            continue
        if now >= begin_s:
            done, total = done + 1, total + now - began
        at = now + stream.expovariate(1 / think_s)
        heapq.heapreplace(events, (at, user, visits, at))
    return done / (until_s - begin_s), total / done
