"""Replaces the hardware of the stations in a model, and changes the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from towtank.model import NODE_SEPARATOR, EngineModel, JobClass, Service, Station, rates_with_servers


@dataclass(frozen=True)
class Layout:
    """Hardware of one station.

    Attributes
    ----------
    nodes : int
        Number of equal nodes. A balancer sends each visit to a random node; all nodes are equally likely. [1]
    servers : int
        Servers of each node. [1]
    speed : float
        Speed of a server relative to a server of the model. [ratio]
    """

    nodes: int
    servers: int
    speed: float = 1.0


@dataclass(frozen=True)
class Changes:
    """Changes of load and service demands relative to the model.

    Attributes
    ----------
    users, rate, think_s : dict of str to number
        Values by class. A class that is missing keeps the model's value; 0 removes the class. Think times may also be
        given by transaction. [1], [1/s], [s]
    demand : dict of (str, str or None) to float
        Factor of the demand by station and class or transaction; None stands for every class. [ratio]
    shares : dict of str to dict of str to float
        Shares of the transactions by class, if they differ from those of the model. [ratio]
    """

    users: Mapping[str, int] = field(default_factory=dict)
    rate: Mapping[str, float] = field(default_factory=dict)
    think_s: Mapping[str, float] = field(default_factory=dict)
    demand: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def on_layouts(
    document: EngineModel, layouts: Mapping[str, Layout], changes: Changes, factors: Mapping[str, float] | None = None
) -> EngineModel:
    """Return a model for the engine, with the hardware of its stations replaced.

    Stations without a layout stay unchanged. The factors are those of the demands by station, for one random draw.
    [ratio]

    Notes
    -----
    A station on n nodes becomes n stations. Each of them gets one n-th of the visits, as from a balancer that ignores
    queue lengths. A balancer that considers queue lengths gives shorter times, at best those of a single station with
    all servers.
    """
    gone = {name for loads in (changes.users, changes.rate) for name, amount in loads.items() if amount == 0}
    chains = document.chain_by_transaction
    names: dict[str, list[str]] = {}
    stations = []
    for station in document.stations:
        name = station.name
        layout = layouts.get(name)
        shares = _services(station, layout, changes, (factors or {}).get(name, 1.0))
        shares = [each for each in shares if each.job_class not in gone and chains.get(each.job_class) not in gone]
        nodes = 1 if layout is None else layout.nodes
        names[name] = [name] if nodes == 1 else [f"{name}{NODE_SEPARATOR}{number}" for number in range(1, nodes + 1)]
        stations += [replace(_strong(station, layout), name=node, services=shares) for node in names[name]]
    classes = [_load(job_class, changes) for job_class in document.classes if job_class.name not in gone]
    whole = replace(document, classes=classes, stations=[station for station in stations if station.services])
    spread = any(len(nodes) > 1 for nodes in names.values())
    return _with_nodes(whole, names, layouts) if spread else whole


def _strong(station: Station, layout: Layout | None) -> Station:
    """Return a station with the servers of one node: their number, or the rates of a load-dependent station."""
    if layout is None:
        return station
    if station.rates:
        return replace(station, rates=rates_with_servers(station.rates, layout.servers))
    at_once = station.at_once
    if at_once:
        # The limit of concurrent jobs is proportional to the number of servers.
        at_once = max(layout.servers, round(at_once * layout.servers / station.servers))
    return replace(station, servers=layout.servers, at_once=at_once)


def _services(station: Station, layout: Layout | None, changes: Changes, factor: float) -> list[Service]:
    speed, nodes = (1.0, 1) if layout is None else (layout.speed, layout.nodes)
    rows = []
    for service in station.services:
        times = factor / speed
        for key in ((station.name, None), (station.name, service.job_class)):
            times *= changes.demand.get(key, 1.0)
        visits = service.visits if nodes == 1 else service.visits_or_one / nodes
        rows.append(replace(service, service_time_s=service.service_time_s * times, visits=visits))
    return rows


def _load(job_class: JobClass, changes: Changes) -> JobClass:
    name = job_class.name
    if not job_class.users:
        return replace(job_class, arrival_rate_per_s=changes.rate.get(name, job_class.arrival_rate_per_s))
    shares = changes.shares.get(name, {})
    return replace(
        job_class,
        users=changes.users.get(name, job_class.users),
        think_time_s=changes.think_s.get(name, job_class.think_time_s),
        transactions=[
            replace(
                each,
                share=shares.get(each.name, each.share),
                think_time_s=changes.think_s.get(each.name, each.think_time_s),
            )
            for each in job_class.transactions
        ],
    )


def _with_nodes(document: EngineModel, names: Mapping[str, list[str]], layouts: Mapping[str, Layout]) -> EngineModel:
    """Replace each station in pools and branches by all its nodes, and multiply pool sizes by the number of nodes."""

    def spread(each: Sequence[str]) -> list[str]:
        return [node for name in each for node in names.get(name, [name])]

    def most(each: Sequence[str]) -> int:
        return max((layouts[name].nodes for name in each if name in layouts), default=1)

    return replace(
        document,
        pools=[replace(pool, size=pool.size * most(pool.holds), holds=spread(pool.holds)) for pool in document.pools],
        forks=[replace(fork, branches=[spread(branch) for branch in fork.branches]) for fork in document.forks],
    )
