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

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_SCV = {"deterministic": 0.0, "uniform": 1 / 3}
# Disciplines at which jobs wait in a queue. The mean wait is equal for all transactions.
_IN_TURN = ("fcfs", "priority")


def transactions_of(job_class: Json) -> list[Json]:
    """Return the transactions of a class, each with `name`, `share` and `think_time_s` (or None)."""
    return list(job_class.get("transactions") or ())


def chain_by_transaction(document: Json) -> dict[str, str]:
    """Return the class of each transaction of a model, by name of the transaction."""
    return {each["name"]: job_class["name"] for job_class in document["classes"] for each in transactions_of(job_class)}


def squared_variation(variation: Mapping[str, Any] | None) -> float:
    """Return the squared coefficient of variation of a service time; 1 by default. [1]"""
    if not variation:
        return 1.0
    given = variation.get("scv")
    return float(given) if given is not None else _SCV.get(str(variation.get("distribution")), 1.0)


def chained(document: Json) -> Json:
    """Return a model for the engine, with one job class (a chain) instead of the transactions of each class.

    Notes
    -----
    With shares p_t, visits v_t and think times Z_t of the transactions t, the chain makes V = sum p_t v_t visits to
    each station and has the think time sum p_t Z_t. Its service time is the mean over the visits, with the variation of
    the mixture.
    """
    shares = {
        job_class["name"]: transactions_of(job_class) for job_class in document["classes"] if transactions_of(job_class)
    }
    mixed = {each["name"] for ones in shares.values() for each in ones}
    stations = []
    for station in document["stations"]:
        services = [service for service in station["services"] if service["class"] not in mixed]
        services += [made for name, each in shares.items() if (made := _mixed(station, name, each)) is not None]
        stations.append({key: value for key, value in station.items() if key != "at_once"} | {"services": services})
    return {**document, "classes": [_chain(job_class) for job_class in document["classes"]], "stations": stations}


def _chain(job_class: Json) -> Json:
    ones = transactions_of(job_class)
    if not ones:
        return job_class
    own = job_class["think_time_s"]
    think = sum(each["share"] * (own if each["think_time_s"] is None else each["think_time_s"]) for each in ones)
    return {**{key: value for key, value in job_class.items() if key != "transactions"}, "think_time_s": think}


def _mixed(station: Json, name: str, ones: list[Json]) -> Json | None:
    """Return the visits, the mean service time and its variation over all transactions of a chain at a station; None if
    no transaction of the chain visits the station.
    """
    parts = [
        (each["share"], service) for each in ones for service in station["services"] if service["class"] == each["name"]
    ]
    weights = [share * _visits(service) for share, service in parts]
    visits = sum(weights)
    if visits <= 0:
        return None
    mean = sum(weight * service["service_time_s"] for weight, (_, service) in zip(weights, parts, strict=True)) / visits
    square = sum(
        weight * service["service_time_s"] ** 2 * (1 + squared_variation(service["variation"]))
        for weight, (_, service) in zip(weights, parts, strict=True)
    )
    first = parts[0][1]
    alike = all(
        service["service_time_s"] == first["service_time_s"] and service["variation"] == first["variation"]
        for _, service in parts
    )
    scv = square / visits / mean**2 - 1 if mean > 0 else 1.0
    return {
        "class": name,
        "visits": visits,
        "service_time_s": mean,
        # Rounding errors must not make the variance negative.
        "variation": first["variation"] if alike else {"distribution": None, "scv": max(scv, 0.0)},
        "priority": first["priority"],
    }


def _visits(service: Json) -> float:
    return 1.0 if service["visits"] is None else float(service["visits"])


def spread(document: Json, chain: Json, answer: Json) -> Json:
    """Return the engine's answer for chains, with the figures of each transaction added.

    Parameters
    ----------
    document : dict
        The model with its transactions.
    chain : dict
        `chained(document)`.
    answer : dict
        Answer of the engine for the chain.

    Returns
    -------
    dict
        The answer; classes have the key `transactions`, and stations the key `residence_time_by_transaction_s`.

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
    if not chain_by_transaction(document):
        return answer
    stations = {
        name: {**station, "residence_time_by_transaction_s": {}} for name, station in answer["stations"].items()
    }
    classes = dict(answer["classes"])
    chains = {station["name"]: station for station in chain["stations"]}
    for job_class in document["classes"]:
        ones, figures = transactions_of(job_class), answer["classes"].get(job_class["name"])
        if not ones or figures is None:
            continue
        for station in document["stations"]:
            residence = stations[station["name"]]["residence_time_s"].get(job_class["name"])
            service = next(
                (each for each in chains[station["name"]]["services"] if each["class"] == job_class["name"]), None
            )
            if residence is not None and service is not None:
                found = _residences(station, service, ones, residence, answer["stations"][station["name"]])
                stations[station["name"]]["residence_time_by_transaction_s"] |= found
        classes[job_class["name"]] = {**figures, "transactions": _answers(job_class, figures, stations)}
    return {**answer, "classes": classes, "stations": stations}


def _residences(station: Json, chain: Json, ones: list[Json], residence: float, figures: Json) -> dict[str, float]:
    mean, visits = chain["service_time_s"], chain["visits"]
    waiting = _waiting(station, mean, residence / visits, figures)
    services = {candidate["class"]: candidate for candidate in station["services"]}
    found = {}
    for each in ones:
        service = services.get(each["name"])
        if service is not None:
            # Outside of the queue, processor sharing slows all transactions by the same factor.
            shared = (residence / visits - waiting) * (service["service_time_s"] / mean if mean > 0 else 1.0)
            found[each["name"]] = _visits(service) * (shared + waiting)
    return found


def _waiting(station: Json, mean: float, residence: float, figures: Json) -> float:
    """Return the time that a visit to a station waits in the queue, which is equal for all transactions. [s]"""
    if station["discipline"] in _IN_TURN and not station["rates"]:
        return max(0.0, residence - mean)
    at_once, servers, present = station.get("at_once"), station["servers"], figures["queue_length"]
    if at_once is None or station["discipline"] != "ps" or not present:
        return 0.0
    used = figures["utilization"]
    beyond = max(0.0, present - servers * used) * used ** max(0, at_once - servers)
    return float(residence * beyond / present)


def _answers(job_class: Json, figures: Json, stations: Mapping[str, Json]) -> dict[str, Json]:
    name, rate, whole = job_class["name"], figures["throughput_per_s"], figures["response_time_s"]
    unexplained = None
    if whole is not None:
        unexplained = whole - sum(each["residence_time_s"].get(name) or 0.0 for each in stations.values())
    found = {}
    for each in transactions_of(job_class):
        times = [station["residence_time_by_transaction_s"].get(each["name"], 0.0) for station in stations.values()]
        response = None if unexplained is None else max(0.0, sum(times) + unexplained)
        throughput = None if rate is None else rate * each["share"]
        found[each["name"]] = {
            "throughput_per_s": throughput,
            "response_time_s": response,
            "users_in_system": None if throughput is None or response is None else throughput * response,
        }
    return found
