"""Solves models whose classes have transactions. A user runs one transaction at a time. After each pause, the user
chooses the next transaction at random, with its share as the probability.

Users switch between transactions, so a transaction has no fixed number of users. A product-form network whose jobs
change their class is solved as one chain with the mean demand of the mix [1]_. The results of each transaction are then
computed from the results of the chain. `chained` makes the chain for the engine; `spread` splits the answer by
transaction.

References
----------
.. [1] F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, "Open, closed, and mixed networks of queues with
    different classes of customers", Journal of the ACM 22(2), 248-260, 1975, doi:10.1145/321879.321887.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from towtank.model.engine_model import EngineModel, JobClass, Service, Station, Transaction, Variation
from towtank.model.solved import SolvedClass, SolvedNetwork, SolvedStation

# Disciplines at which jobs wait in a queue. The mean wait is equal for all transactions.
_IN_TURN = ("fcfs", "priority")


def chained(document: EngineModel) -> EngineModel:
    """Return a model for the engine, with one job class (a chain) instead of the transactions of each class.

    Notes
    -----
    With shares p_t, visits v_t and think times Z_t of the transactions t, the chain makes V = sum p_t v_t visits to
    each station and has the think time sum p_t Z_t. Its service time is the mean over the visits, with the variation of
    the mixture.
    """
    shares = {job_class.name: job_class.transactions for job_class in document.classes if job_class.transactions}
    mixed = document.chain_by_transaction
    stations = []
    for station in document.stations:
        services = [service for service in station.services if service.job_class not in mixed]
        services += [made for name, each in shares.items() if (made := _mixed(station, name, each)) is not None]
        stations.append(replace(station, at_once=None, services=services))
    return replace(document, classes=[_chain(job_class) for job_class in document.classes], stations=stations)


def _chain(job_class: JobClass) -> JobClass:
    ones, own = job_class.transactions, job_class.think_time_s
    if not ones:
        return job_class
    think = sum(each.share * (own if each.think_time_s is None else each.think_time_s) for each in ones)
    return replace(job_class, transactions=(), think_time_s=think)


def _mixed(station: Station, name: str, ones: Sequence[Transaction]) -> Service | None:
    """Return the visits, the mean service time and its variation over all transactions of a chain at a station; None if
    no transaction of the chain visits the station.
    """
    services = station.service_by_class
    parts = [(each.share, service) for each in ones if (service := services.get(each.name)) is not None]
    weights = [share * service.visits_or_one for share, service in parts]
    visits = sum(weights)
    if visits <= 0:
        return None
    mean = sum(weight * service.service_time_s for weight, (_, service) in zip(weights, parts, strict=True)) / visits
    square = sum(
        weight * service.service_time_s**2 * (1 + service.variation.squared)
        for weight, (_, service) in zip(weights, parts, strict=True)
    )
    first = parts[0][1]
    alike = all(
        service.service_time_s == first.service_time_s and service.variation == first.variation for _, service in parts
    )
    scv = square / visits / mean**2 - 1 if mean > 0 else 1.0
    # Rounding errors must not make the variance negative.
    variation = first.variation if alike else Variation(scv=max(scv, 0.0))
    return Service(name, visits, mean, variation, first.priority)


def spread(document: EngineModel, chain: EngineModel, answer: SolvedNetwork) -> SolvedNetwork:
    """Return the engine's answer for the chain of a model (`chained`), with the results of each transaction added.

    Notes
    -----
    R and D are the residence time and the demand of the chain at a station. R_t and D_t are those of transaction t,
    which has v_t visits and service time s_t. If jobs share the station, or no job waits, the residence time of each
    transaction is proportional to its demand: R_t = D_t R / D. If jobs wait in a queue, each visit has the same mean
    wait W: R_t = v_t (s_t + W).

    If at most T jobs share the m servers at the same time and further jobs wait, R has two parts. With Q jobs and
    utilization U, the mean number of waiting jobs is about (Q - m U) U^(T - m), since the probabilities of M/M/m fall
    by the factor U with each job. The waiting part of R is divided among the transactions in proportion to visits, the
    rest in proportion to demands.

    Time that no station explains, such as waiting for a pool, is equal for all transactions.
    """
    if not document.chain_by_transaction:
        return answer
    times: dict[str, dict[str, float]] = {name: {} for name in answer.stations}
    classes, chains = {}, chain.station_by_name
    for job_class in document.classes:
        figures = answer.classes.get(job_class.name)
        if not job_class.transactions or figures is None:
            continue
        for station in document.stations:
            solved = answer.stations[station.name]
            residence = solved.residence_time_s.get(job_class.name)
            service = chains[station.name].service_of(job_class.name)
            if residence is not None and service is not None:
                times[station.name] |= _residences(station, service, job_class.transactions, residence, solved)
        classes[job_class.name] = {"transactions": _answers(job_class, figures, answer, times)}
    by_station = {name: {"residence_time_by_transaction_s": each} for name, each in times.items()}
    return answer.with_results({"classes": classes, "stations": by_station})


def _residences(
    station: Station, chain: Service, ones: Sequence[Transaction], residence: float, solved: SolvedStation
) -> dict[str, float]:
    mean, visits = chain.service_time_s, chain.visits_or_one
    waiting = _waiting(station, mean, residence / visits, solved)
    found, services = {}, station.service_by_class
    for each in ones:
        service = services.get(each.name)
        if service is not None:
            # Outside of the queue, processor sharing slows all transactions by the same factor.
            shared = (residence / visits - waiting) * (service.service_time_s / mean if mean > 0 else 1.0)
            found[each.name] = service.visits_or_one * (shared + waiting)
    return found


def _waiting(station: Station, mean: float, residence: float, solved: SolvedStation) -> float:
    """Return the time that a visit to a station waits in the queue, which is equal for all transactions. [s]"""
    if station.discipline in _IN_TURN and not station.rates:
        return max(0.0, residence - mean)
    at_once, servers, present, used = station.at_once, station.servers, solved.queue_length, solved.utilization
    if at_once is None or station.discipline != "ps" or not present:
        return 0.0
    beyond = max(0.0, present - servers * used) * used ** max(0, at_once - servers)
    return residence * beyond / present


def _answers(
    job_class: JobClass, figures: SolvedClass, answer: SolvedNetwork, times: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float | None]]:
    name, rate, whole = job_class.name, figures.throughput_per_s, figures.response_time_s
    unexplained = None
    if whole is not None:
        unexplained = whole - sum(each.residence_time_s.get(name) or 0.0 for each in answer.stations.values())
    found = {}
    for each in job_class.transactions:
        own = [station.get(each.name, 0.0) for station in times.values()]
        response = None if unexplained is None else max(0.0, sum(own) + unexplained)
        throughput = None if rate is None else rate * each.share
        inside = None if throughput is None or response is None else throughput * response
        found[each.name] = {
            "throughput_per_s": throughput,
            "response_time_s": response,
            "users_in_system": inside,
        }
    return found
