"""A model on other hardware: its stations in nodes, with other servers, speeds and demands, under another load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.model.stations import NODE, rates_with
from towtank.model.transactions import chain_by_transaction, transactions_of

Json = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """What one station stands on.

    Attributes
    ----------
    nodes : int
        Equal nodes behind a balancer that sends every visit to one of them with the same probability. [1]
    servers : int
        Of each node. [1]
    speed : float
        Of a server, over that of the model. [ratio]
    """

    nodes: int
    servers: int
    speed: float = 1.0


@dataclass(frozen=True)
class Changes:
    """Another load, and demands that differ from those of the model.

    Attributes
    ----------
    users, rate, think_s : dict of str to number
        By class; that of the model where a class is missing, and no such class where it is 0. Think times of
        transactions, too. [1], [1/s], [s]
    demand : dict of (str, str or None) to float
        Factor of the demand by station and class or transaction; None is every class. [ratio]
    shares : dict of str to dict of str to float
        By class, the shares of its transactions, where they are others. [ratio]
    """

    users: Mapping[str, int] = field(default_factory=dict)
    rate: Mapping[str, float] = field(default_factory=dict)
    think_s: Mapping[str, float] = field(default_factory=dict)
    demand: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def on_layouts(
    document: Json, layouts: Mapping[str, Layout], changes: Changes, factors: Mapping[str, float] | None = None
) -> Json:
    """A model in the engine's form with its stations on other hardware.

    Parameters
    ----------
    document : dict
        The model.
    layouts : dict of str to Layout
        By station; the others stay as they are.
    changes : Changes
    factors : dict of str to float, optional
        Factors of demands by station, one draw of what is not known for sure. [ratio]

    Notes
    -----
    A station in n nodes becomes n stations of which each gets one n-th of the visits: what a balancer that knows
    nothing of the queues does. One station with all servers is what an ideal balancer could reach at most.
    """
    gone = {name for loads in (changes.users, changes.rate) for name, amount in loads.items() if amount == 0}
    chains = chain_by_transaction(document)
    names: dict[str, list[str]] = {}
    stations = []
    for one in document["stations"]:
        name = one["name"]
        layout = layouts.get(name)
        shares = _services(one, layout, changes, (factors or {}).get(name, 1.0))
        shares = [each for each in shares if each["class"] not in gone and chains.get(each["class"]) not in gone]
        nodes = 1 if layout is None else layout.nodes
        names[name] = [name] if nodes == 1 else [f"{name}{NODE}{number}" for number in range(1, nodes + 1)]
        stations += [{**one, **_strength(one, layout), "name": node, "services": shares} for node in names[name]]
    classes = [_load(one, changes) for one in document["classes"] if one["name"] not in gone]
    whole = {**document, "classes": classes, "stations": [one for one in stations if one["services"]]}
    spread = any(len(nodes) > 1 for nodes in names.values())
    return _with_nodes(whole, names, layouts) if spread else whole


def _strength(station: Json, layout: Layout | None) -> Json:
    """Servers of a node, or its rates where the speed depends on the jobs."""
    if layout is None:
        return {}
    if station["rates"]:
        return {"rates": rates_with(station["rates"], layout.servers)}
    found: Json = {"servers": layout.servers}
    if station.get("at_once"):
        # As many for each server as before.
        found["at_once"] = max(layout.servers, round(station["at_once"] * layout.servers / station["servers"]))
    return found


def _services(station: Json, layout: Layout | None, changes: Changes, factor: float) -> list[Json]:
    speed, nodes = (1.0, 1) if layout is None else (layout.speed, layout.nodes)
    rows = []
    for one in station["services"]:
        times = factor / speed
        for key in ((station["name"], None), (station["name"], one["class"])):
            times *= changes.demand.get(key, 1.0)
        visits = one.get("visits")
        share = visits if nodes == 1 else (1.0 if visits is None else visits) / nodes
        rows.append({**one, "service_time_s": one["service_time_s"] * times, "visits": share})
    return rows


def _load(one: Json, changes: Changes) -> Json:
    name = one["name"]
    if one.get("users"):
        found = {
            **one,
            "users": changes.users.get(name, one["users"]),
            "think_time_s": changes.think_s.get(name, one["think_time_s"]),
        }
        return found | _mixed(one, changes) if transactions_of(one) else found
    return {**one, "arrival_rate_per_s": changes.rate.get(name, one["arrival_rate_per_s"])}


def _mixed(one: Json, changes: Changes) -> Json:
    """Transactions of a class with other shares and think times."""
    shares = changes.shares.get(one["name"], {})
    return {
        "transactions": [
            {
                **each,
                "share": shares.get(each["name"], each["share"]),
                "think_time_s": changes.think_s.get(each["name"], each["think_time_s"]),
            }
            for each in transactions_of(one)
        ]
    }


def _with_nodes(document: Json, names: Mapping[str, list[str]], layouts: Mapping[str, Layout]) -> Json:
    """Pools and branches that name a station name all its nodes; a pool has its size on every node."""

    def spread(each: list[str]) -> list[str]:
        return [node for name in each for node in names.get(name, [name])]

    def most(each: list[str]) -> int:
        return max((layouts[name].nodes for name in each if name in layouts), default=1)

    return {
        **document,
        "pools": [
            {**one, "size": one["size"] * most(one["holds"]), "holds": spread(one["holds"])}
            for one in document["pools"]
        ],
        "forks": [{**one, "branches": [spread(branch) for branch in one["branches"]]} for one in document["forks"]],
    }
