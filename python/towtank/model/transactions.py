"""Transactions of a class: its users do one of them at a time, picked anew by share after every pause.

They change from transaction to transaction, so that no number of users belongs to one of them. A network of product
form whose jobs change their class is solved by its chain, which has the mean demand of the mix [1]_; what belongs to
a transaction follows from the chain's answer. `chained` makes the chain for the engine, `spread` takes its answer
apart again.

References
----------
.. [1] F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, "Open, closed, and mixed networks of queues with
       different classes of customers", Journal of the ACM 22(2), 248-260, 1975, doi:10.1145/321879.321887.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_SCV = {"deterministic": 0.0}
# Stations where all that are present share one queue of whole services: each waits the same, and works its own time.
_IN_TURN = ("fcfs", "priority")


def transactions_of(one: Json) -> list[Json]:
    """Transactions of a class of a model: `name`, `share`, `think_time_s` or None; none where it has none."""
    return list(one.get("transactions") or ())


def chain_by_transaction(document: Json) -> dict[str, str]:
    """Class of every transaction of a model."""
    return {each["name"]: one["name"] for one in document["classes"] for each in transactions_of(one)}


def squared_variation(variation: Mapping[str, Any] | None) -> float:
    """Squared coefficient of variation of a service time; 1 where nothing is said. [1]"""
    if not variation:
        return 1.0
    given = variation.get("scv")
    return float(given) if given is not None else _SCV.get(str(variation.get("distribution")), 1.0)


def chained(document: Json) -> Json:
    """A model in the engine's form with one job class in place of the transactions of each class.

    Notes
    -----
    At each station the visits of the mix are V = sum p_t v_t, the service time is the mean over the visits, and its
    variation that of the mixture. Think time is sum p_t Z_t.
    """
    shares = {one["name"]: transactions_of(one) for one in document["classes"] if transactions_of(one)}
    stations = []
    for station in document["stations"]:
        services = [one for one in station["services"] if not _belongs(one["class"], shares)]
        services += [made for name, each in shares.items() if (made := _mixed(station, name, each)) is not None]
        stations.append({key: value for key, value in station.items() if key != "at_once"} | {"services": services})
    return {**document, "classes": [_chain(one) for one in document["classes"]], "stations": stations}


def _belongs(name: str, shares: Mapping[str, list[Json]]) -> bool:
    return any(name == each["name"] for ones in shares.values() for each in ones)


def _chain(one: Json) -> Json:
    ones = transactions_of(one)
    if not ones:
        return one
    own = one["think_time_s"]
    think = sum(each["share"] * (own if each["think_time_s"] is None else each["think_time_s"]) for each in ones)
    return {**{key: value for key, value in one.items() if key != "transactions"}, "think_time_s": think}


def _mixed(station: Json, name: str, ones: list[Json]) -> Json | None:
    """Service of the chain at a station; None where none of its transactions comes there."""
    parts = [(each["share"], one) for each in ones for one in station["services"] if one["class"] == each["name"]]
    weights = [share * _visits(one) for share, one in parts]
    visits = sum(weights)
    if visits <= 0:
        return None
    mean = sum(weight * one["service_time_s"] for weight, (_, one) in zip(weights, parts, strict=True)) / visits
    square = sum(
        weight * one["service_time_s"] ** 2 * (1 + squared_variation(one["variation"]))
        for weight, (_, one) in zip(weights, parts, strict=True)
    )
    alike = len({(one["service_time_s"], str(one["variation"])) for _, one in parts}) == 1
    scv = square / visits / mean**2 - 1 if mean > 0 else 1.0
    return {
        "class": name,
        "visits": visits,
        "service_time_s": mean,
        # Rounding must not make a mixture of nothing vary less than it does.
        "variation": parts[0][1]["variation"] if alike else {"distribution": None, "scv": max(scv, 0.0)},
        "priority": parts[0][1]["priority"],
    }


def _visits(service: Json) -> float:
    return 1.0 if service["visits"] is None else float(service["visits"])


def spread(document: Json, chain: Json, answer: Json) -> Json:
    """The answer for the chains with what belongs to each transaction.

    Parameters
    ----------
    document : dict
        The model with its transactions.
    chain : dict
        `chained(document)`.
    answer : dict
        Of the engine, for the chain.

    Returns
    -------
    dict
        The answer, classes with `transactions`, stations with `residence_time_by_transaction_s`.

    Notes
    -----
    Where jobs share a station, or nobody waits, all are held up by the same factor: R_t = D_t R / D. Where they go in
    turn all wait the same for each visit: R_t = v_t (s_t + W). Where only so many share the m servers at once, T, and
    the others wait in turn, R is parted: with Q jobs and the utilization U, those beyond T are about
    (Q - m U) U^(T - m), as their numbers fall by the factor U at M/M/m; that part of R goes by visits, the rest by
    demands. Time that no station explains, as waiting for a pool, is that of the chain.
    """
    if not chain_by_transaction(document):
        return answer
    stations = {name: {**one, "residence_time_by_transaction_s": {}} for name, one in answer["stations"].items()}
    classes = dict(answer["classes"])
    chains = {one["name"]: one for one in chain["stations"]}
    for one in document["classes"]:
        ones, told = transactions_of(one), answer["classes"].get(one["name"])
        if not ones or told is None:
            continue
        for station in document["stations"]:
            residence = stations[station["name"]]["residence_time_s"].get(one["name"])
            service = next((each for each in chains[station["name"]]["services"] if each["class"] == one["name"]), None)
            if residence is not None and service is not None:
                found = _residences(station, service, ones, residence, answer["stations"][station["name"]])
                stations[station["name"]]["residence_time_by_transaction_s"] |= found
        classes[one["name"]] = {**told, "transactions": _answers(one, told, stations)}
    return {**answer, "classes": classes, "stations": stations}


def _residences(station: Json, chain: Json, ones: list[Json], residence: float, told: Json) -> dict[str, float]:
    mean, visits = chain["service_time_s"], chain["visits"]
    waiting = _waiting(station, mean, residence / visits, told)
    services = {one["class"]: one for one in station["services"]}
    found = {}
    for each in ones:
        service = services.get(each["name"])
        if service is not None:
            # What is not waited in turn is shared: everybody's time grows by one factor.
            shared = (residence / visits - waiting) * (service["service_time_s"] / mean if mean > 0 else 1.0)
            found[each["name"]] = _visits(service) * (shared + waiting)
    return found


def _waiting(station: Json, mean: float, residence: float, told: Json) -> float:
    """Time of a visit that is waited in turn, the same for all. [s]"""
    if station["discipline"] in _IN_TURN and not station["rates"]:
        return max(0.0, residence - mean)
    at_once, servers, present = station.get("at_once"), station["servers"], told["queue_length"]
    if at_once is None or station["discipline"] != "ps" or not present:
        return 0.0
    used = told["utilization"]
    beyond = max(0.0, present - servers * used) * used ** max(0, at_once - servers)
    return float(residence * beyond / present)


def _answers(one: Json, told: Json, stations: Mapping[str, Json]) -> dict[str, Json]:
    name, rate, whole = one["name"], told["throughput_per_s"], told["response_time_s"]
    unexplained = None
    if whole is not None:
        unexplained = whole - sum(each["residence_time_s"].get(name) or 0.0 for each in stations.values())
    found = {}
    for each in transactions_of(one):
        times = [station["residence_time_by_transaction_s"].get(each["name"], 0.0) for station in stations.values()]
        response = None if unexplained is None else max(0.0, sum(times) + unexplained)
        throughput = None if rate is None else rate * each["share"]
        found[each["name"]] = {
            "throughput_per_s": throughput,
            "response_time_s": response,
            "users_in_system": None if throughput is None or response is None else throughput * response,
        }
    return found
