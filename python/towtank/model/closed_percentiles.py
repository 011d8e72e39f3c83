"""Variance of the time that jobs of closed classes spend at a station, computed from a Markov chain of its queue
length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from towtank.arrays import Floats
from towtank.model.engine_model import EngineModel, Station
from towtank.model.solved import SolvedNetwork
from towtank.model.stations import StationAnswer

_FROM_OUTSIDE = 5000
"""Highest number of open-class jobs that the Markov chain of a station allows for, in addition to the users of the
closed classes. [1]
"""


def closed_variance(
    model: EngineModel, answer: SolvedNetwork, station: Station, found: StationAnswer, name: str, *, nodes: int
) -> float | None:
    """Return the variance of the time that a class or transaction spends at a station that closed classes visit. [s^2]

    A station of several nodes is one station for each node in `model` and `answer`; `station` is any of them, and
    `found` combines them. The result is None if no closed class visits the station, or if its discipline is neither
    `fcfs` nor `ps`.
    """
    alone = _repairman(model, answer, station, found, name, nodes=nodes)
    return _among_several(model, answer, station, found, name, nodes=nodes) if alone is None else alone


def repairman_moments(users: int, service_s: float, servers: int, away_s: float, scv: float = 1.0) -> tuple[
    float, float
]:  # fmt: skip
    """Return mean [s] and variance [s^2] of the time at the first-come-first-served queue of a closed system.

    Parameters
    ----------
    users : int
        N >= 1. [1]
    service_s : float
        S > 0. [s]
    servers : int
        m >= 1. [1]
    away_s : float
        Mean time between leaving the queue and returning to it, >= 0. [s]
    scv : float, default 1.0
        Squared coefficient of variation of the service times; exact with 1. [1]

    Notes
    -----
    An arriving job finds k jobs with the probability of k jobs in a system of N - 1 users, p(k) ~ (N-1)! / (N-1-k)!
    (S / away)^k / prod_i min(i, m) [1]_. It then waits for max(0, k - m + 1) service completions, each S / m apart.

    References
    ----------
    .. [1] S. S. Lavenberg and M. Reiser, "Stationary state probabilities at arrival instants for closed queueing
           networks with multiple types of customers", Journal of Applied Probability 17(4), 1048-1061, 1980.
    """
    met, weights = _met(users, service_s, servers, away_s)
    ends = np.maximum(0, met - servers + 1)
    times = service_s + ends * service_s / servers
    within = scv * (service_s**2 + ends * (service_s / servers) ** 2)
    mean = float(weights @ times)
    return mean, float(weights @ (within + times**2)) - mean**2


def _met(users: int, service_s: float, servers: int, away_s: float) -> tuple[Floats, Floats]:
    """Return the possible numbers of jobs that an arriving job finds at a queue, and the probability of each number."""
    met = np.arange(users, dtype=float)
    if away_s <= 0:
        return met, (met == users - 1).astype(float)
    logs = scipy.special.gammaln(users) - scipy.special.gammaln(users - met) + met * math.log(service_s / away_s)
    logs[1:] -= np.cumsum(np.log(np.minimum(met[1:], servers)))
    weights = np.exp(logs - logs.max())
    return met, weights / weights.sum()


def sharing_moments(users: int, service_s: float, servers: int, away_s: float, scv: float = 1.0) -> tuple[
    float, float
]:  # fmt: skip
    """Return mean [s] and variance [s^2] of the time that a job spends at the processor-sharing queue of a closed
    system.

    Parameters
    ----------
    users, service_s, servers, away_s, scv
        As in `repairman_moments`.

    Notes
    -----
    A job that shares m servers with k others is served at the speed c = min(1, m / (k + 1)). Let mu = 1 / S, and let A
    be `away_s`. The job completes at the rate c mu. Until it completes, the other jobs leave at the rate k c mu and
    arrive at the rate (N - 1 - k) / A. Let R be the generator of this chain of k, with the rate c mu subtracted from
    its diagonal. The time T(k) of the job follows from -R E[T] = 1 and -R E[T^2] = 2 E[T]; the first k is the number of
    jobs that the job finds on arrival. The result is exact for exponential service times. For other service times, the
    variance has two parts. The part caused by the job's own service time is scaled with the variation of the service
    times. The part caused by other jobs is scaled as at an open queue. Above the knee the number of other jobs hardly
    varies, so the job is served at a nearly constant speed, and only its own service time matters.
    """
    met, weights = _met(users, service_s, servers, away_s)
    speed = np.minimum(1.0, servers / (met + 1)) / service_s
    leave = met * speed
    come = (users - 1 - met) / away_s if away_s > 0 else np.zeros(users)
    if away_s <= 0:
        # If the time away is zero, a job that leaves returns at once, so the number of other jobs at the queue never
        # changes.
        leave = np.zeros(users)
    return _of_chain(weights, speed, leave, come, scv)


def _of_chain(weights: Floats, speed: Floats, leave: Floats, come: Floats, scv: float) -> tuple[float, float]:
    """Return mean [s] and variance [s^2] of the time of a job that is completed at rate `speed`, while other jobs
    arrive (`come`) and leave (`leave`).

    The arrays of rates have one element for each number 0, 1, 2, ... of other jobs [1/s]. `weights` are the
    probabilities of these numbers when the job arrives.
    """
    count = len(weights)
    bands = np.zeros((3, count))
    bands[0, 1:], bands[1], bands[2, :-1] = -come[:-1], speed + leave + come, -leave[1:]
    bands[1, -1] -= come[-1]  # At the longest queue that the chain contains, no further job arrives.
    first = scipy.linalg.solve_banded((1, 1), bands, np.ones(count))
    second = scipy.linalg.solve_banded((1, 1), bands, 2 * first)
    mean = float(weights @ first)
    others = max(0.0, float(weights @ second) - 2 * mean**2)
    return mean, scv * mean**2 + (1 + scv) / 2 * others


@dataclass(frozen=True)
class _Crowd:
    """Totals over all jobs at a station. All jobs are treated as jobs of a single kind.

    Attributes
    ----------
    users : int
        Users of the closed classes that visit the station. [1]
    rate, outside : float
        Rate of visits by all jobs, and by jobs of open classes. [1/s]
    closed : float
        Share of the jobs at the station that belong to closed classes. [ratio]
    present : float
        Mean number of jobs at the station. [1]
    work : float
        Mean number of servers that the jobs keep busy. [erlang]
    squares : float
        Sum over the kinds of jobs of visit rate times second moment of the service time. [s]
    """

    users: int
    rate: float
    outside: float
    closed: float
    present: float
    work: float
    squares: float

    @classmethod
    def of(
        cls, model: EngineModel, answer: SolvedNetwork, station: Station, found: StationAnswer, nodes: int
    ) -> _Crowd:
        users, rates, present, work, squares = 0, [0.0, 0.0], [0.0, 0.0], 0.0, 0.0
        for load in model.classes:
            closed, comes = bool(load.users), False
            for kind in [each.name for each in load.transactions] or [load.name]:
                service = station.service_of(kind)
                if service is None or not found.residence_s.get(kind):
                    continue
                rate, visits = answer.transaction(kind).throughput_per_s or 0.0, service.visits_or_one
                rates[closed] += rate * visits
                present[closed] += rate * found.residence_s[kind] / nodes
                time = service.service_time_s
                work += rate * visits * time
                squares += rate * visits * time**2 * (1 + service.variation.squared)
                comes = True
            users += load.users if load.users and comes else 0
        both = sum(present)
        return cls(users, sum(rates), rates[0], present[1] / both if both else 0.0, both, work, squares)

    def others(self, *, without: int) -> tuple[Floats, float] | None:
        """Return the arrival rate for each number of other jobs at the station, and the mean service time of all jobs;
        None if no closed class visits the station.

        `without` is 1 for a job of a closed class, because its user is not among the other users. A user who is not at
        the station stays away for the mean time that follows from Little's law. The fraction of jobs that belong to
        closed classes is assumed to be constant.
        """
        inside = self.rate - self.outside
        if not self.users or inside <= 0 or self.work <= 0:
            return None
        service = self.work / self.rate
        present = self.present * self.closed
        away = max((self.users - present) / inside, 1e-6 * service)
        others = self.users - without
        met = np.arange(others + 1 + (_FROM_OUTSIDE if self.outside else 0), dtype=float)
        return np.maximum(others - met * self.closed, 0.0) / away + self.outside, service


def _among_several(
    model: EngineModel, answer: SolvedNetwork, station: Station, found: StationAnswer, name: str, *, nodes: int
) -> float | None:
    """Return the variance of the time of a class at a station that it shares with other closed classes. [s^2]

    The result is None if no closed class visits the station, if its discipline is neither `fcfs` nor `ps`, or if the
    station has load-dependent rates or a capacity.

    All other jobs are treated as jobs of a single kind, with the mean service time of all jobs. The moments are scaled
    to the mean time of the solved model; for `fcfs`, only the moments of the wait are scaled. A job that finds k jobs
    at m servers waits for `max(0, k - m + 1)` service completions.
    """
    service = next(each for each in station.services if each.job_class == name)
    visits, time = service.visits_or_one, service.service_time_s
    in_turn = station.discipline == "fcfs"
    plain = (in_turn or station.discipline == "ps") and not station.rates and station.capacity is None
    if not plain or visits <= 0 or (time <= 0 and not in_turn):
        return None
    own = model.class_by_name[model.chain_by_transaction.get(name, name)]
    crowd = _Crowd.of(model, answer, station, found, nodes)
    others = crowd.others(without=1 if own.users else 0)
    if others is None:
        return None
    (come, their_time), servers = others, station.servers
    met = np.arange(len(come), dtype=float)
    speed = np.minimum(1.0, servers / (met + 1))
    # `weights` are the probabilities of the numbers of other jobs at the station, as an arriving job finds them.
    alone = np.minimum(met[1:], servers) / their_time
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(come[:-1], 1e-300)) - np.log(alone))])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    scv = service.variation.squared
    residence = found.residence_s[name] / (visits * nodes)
    if in_turn:
        apart, their_scv = their_time / servers, crowd.squares / crowd.rate / their_time**2 - 1
        ends = np.maximum(0.0, met - servers + 1)
        spread = _spread_of_wait(ends, weights, their_scv, apart, residence - time)
        return visits * nodes * (scv * time**2 + spread)
    mean, variance = _of_chain(weights, speed / time, met * speed / their_time, come, scv)
    return visits * nodes * variance * (residence / mean) ** 2


def _spread_of_wait(ends: Floats, weights: Floats, scv: float, apart: float, mean: float) -> float:
    """Return the variance of a wait whose mean is scaled to `mean`. [s^2]

    The wait lasts for `ends` service completions with the probabilities `weights`. To reduce the mean, every wait is
    shortened. To raise the mean, first the share of jobs that wait is increased, up to 1, and only then every wait is
    lengthened. Otherwise very improbable waits would become extremely long.
    """
    waits = ends > 0
    often = float(weights[waits].sum())
    if mean <= 0 or not often:
        return 0.0
    met = weights[waits] / often
    wait, square = float(met @ ends[waits]) * apart, float(met @ (scv * ends + ends**2)[waits]) * apart**2
    share = max(often, min(1.0, mean / wait))
    return max(share * square * (mean / (share * wait)) ** 2 - mean**2, 0.0)


def _repairman(
    model: EngineModel, answer: SolvedNetwork, station: Station, found: StationAnswer, name: str, *, nodes: int
) -> float | None:
    """Return the variance of the time at an `fcfs` or `ps` station, for a model with a single closed class. [s^2]

    The result is None for any other model or station. The time that a job spends in the rest of the network counts
    as time away from the station. The variance is scaled to the mean time of the solved model.
    """
    load = model.classes[0]
    if len(model.classes) > 1 or load.name != name or not load.users:
        return None
    service = station.services[0]
    visits, time, rate = service.visits_or_one, service.service_time_s, answer.classes[name].throughput_per_s or 0.0
    moments = {"fcfs": repairman_moments, "ps": sharing_moments}.get(station.discipline)
    plain = not station.rates and station.capacity is None
    if moments is None or not plain or visits <= 0 or rate <= 0 or not time:
        return None
    residence = found.residence_s[name] / (visits * nodes)
    away = load.users / rate / visits - residence
    scv = service.variation.squared
    mean, variance = moments(load.users, time, station.servers, away, scv)
    return visits * nodes * variance * (residence / mean) ** 2
