"""Combines the tiers of the study's description and of the runs, with their hosts and links.

Copies of a host, and of the services on the host, are merged under the name that the study file uses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.digging import dig
from towtank.load_level import KINDS
from towtank.report.source import Json, Results, RunResult

# Keys in the description of a service whose values are the services to which it sends requests.
_ASKS = ("members", "servers", "storage")
_NUMBERED = re.compile(r"(.+)-(\d+)")


@dataclass
class Tier:
    """Tier of a system, with all its copies.

    Attributes
    ----------
    kind : str
        Kind of service.
    cpus : list of int
        Numbers of the CPUs to which the tier is pinned.
    places : dict
        Runs in which the tier was on a host, by host; an empty list if no host was recorded.
    parts : list of str
        Names of process groups of the tier that are measured separately.
    asks : list of str
        Tiers to which this tier sends requests.
    node_of : str
        Service of which the tier is a further node; empty if the tier is no such node.
    """

    kind: str = ""
    cpus: list[int] = field(default_factory=list)
    places: dict[str, list[RunResult]] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    node_of: str = ""

    @property
    def host(self) -> str:
        """Host on which the tier ran in most runs."""
        return most(self.places)


class Written:
    """Maps names of hosts and services in runs to their names in the study file.

    A copy of a host or service has the name in the study file with a number appended, such as `app-2`.
    """

    def __init__(self, results: Results) -> None:
        system = results.study.get("system") or {}
        self._copies = {str(name): int(count) for name, count in (system.get("copies") or {}).items()}
        self._hosts = [name for name, _ in named(system.get("hosts"))]
        self._services = {
            self._one_of(name, str(service.get("host") or "")) for name, service in named(system.get("services"))
        }

    def host(self, name: str) -> str:
        """Return the name of a host in the study file."""
        found = _NUMBERED.fullmatch(name)
        if found is None:
            return name
        count = self._copies.get(found[1])
        # A host in the study file may have a name with a number, too, so only the numbers of copies are removed.
        if count is not None and (name not in self._hosts or int(found[2]) <= count):
            return found[1]
        return found[1] if name not in self._hosts and found[1] in self._hosts else name

    def _one_of(self, name: str, host: str) -> str:
        """Return the name of a service in the study file."""
        return name if self.host(host) == host else name.removesuffix(f"-{host.rpartition('-')[2]}")

    def tier(self, name: str, host: str) -> str:
        """Return the name of a tier in the study file."""
        if name.startswith("relay-"):
            return f"relay-{self.host(name.removeprefix('relay-'))}"
        if name in self._services or self.host(host) == host:
            return name
        number = host.rpartition("-")[2]
        for service in self._services:
            copy = f"{service}-{number}"
            if name == copy or name.startswith(f"{copy}-"):
                return service + name.removeprefix(copy)
        return name

    def services(self, results: Results) -> dict[str, Json]:
        """Return the services of the study's description, with copies merged."""
        found: dict[str, Json] = {}
        for name, service in named(dig(results.study, "system", "services")):
            host = str(service.get("host") or "")
            found.setdefault(self._one_of(name, host), {**service, "host": self.host(host)})
        return found

    def targets(self, results: Results) -> set[str]:
        """Return the names of the services that receive the load."""
        places = {
            name: str(service.get("host") or "") for name, service in named(dig(results.study, "system", "services"))
        }
        targets = dig(results.study, "system", "targets") or {}
        aimed = [
            str(service)
            for name, target in targets.items()
            if isinstance(target, Mapping)
            for service in target.get("services") or [target.get("service") or name]
        ]
        return {self._one_of(service, places.get(service, "")) for service in aimed}


def tiers(results: Results) -> dict[str, Tier]:
    """Return the tiers by name, combined from the study's description and from the runs."""
    written = Written(results)
    described = written.services(results)
    found: dict[str, Tier] = {}
    for name, service in described.items():
        links = [str(link) for key in _ASKS for link in _listed(service.get(key))]
        found[name] = Tier(str(service.get("kind") or ""), list(service.get("cpus") or []), asks=links)
    for run in results.runs:
        for name, recorded in (run.manifest.get("tiers") or {}).items():
            _take(found, written, run, str(name), recorded)
        for name, recorded in (run.summary.get("tiers") or {}).items():
            host = str(dig(run.manifest, "tiers", name, "host") or "")
            known = found.setdefault(written.tier(str(name), host), Tier())
            known.kind = known.kind or str(recorded.get("kind") or "")
            known.parts = list(dict.fromkeys([*known.parts, *(recorded.get("parts") or {})]))
    for name, service in described.items():
        if service["host"] and not found[name].places:
            found[name].places[str(service["host"])] = []
    _link_by_settings(described, found)
    _link_nodes(described, found)
    return found


def _take(found: dict[str, Tier], written: Written, run: RunResult, name: str, recorded: Json) -> None:
    """Add a tier of a run to the tiers of all runs."""
    host = str(recorded.get("host") or "")
    known = found.setdefault(written.tier(name, host), Tier())
    known.kind = str(recorded.get("kind") or known.kind)
    known.cpus = list(recorded.get("cpus") or known.cpus)
    runs = known.places.setdefault(written.host(host), [])
    if not runs or runs[-1] is not run:  # A run is added once, even if it has several copies of the tier.
        runs.append(run)


def _link_by_settings(described: dict[str, Json], found: dict[str, Tier]) -> None:
    """Link each service to the services that its settings name, by their name or kind (`database: postgresql`)."""
    kinds = {tier.kind: name for name, tier in found.items()}
    for name, service in described.items():
        for value in (service.get("settings") or {}).values():
            other = (value if value in found else kinds.get(value)) if isinstance(value, str) else None
            if other and other != name and other not in found[name].asks:
                found[name].asks.append(other)


def _link_nodes(described: dict[str, Json], found: dict[str, Tier]) -> None:
    """Link each further node of a service, such as `database-2`, like its first node.

    Nodes that the study's description contains are already linked.
    """
    for name, tier in found.items():
        numbered = _NUMBERED.fullmatch(name)
        first = found.get(numbered[1]) if numbered and name not in described and numbered[1] in described else None
        if numbered is None or first is None or first.kind != tier.kind:
            continue
        tier.asks, tier.node_of = list(first.asks), numbered[1]
        for other in found.values():
            if numbered[1] in other.asks:
                other.asks.append(name)


def entries(results: Results, found: Mapping[str, Tier]) -> list[str]:
    """Return the tiers that receive the load: the targets of the study; without targets, the tiers to which no tier
    sends requests.
    """
    aimed = Written(results).targets(results)
    asked = {link for tier in found.values() for link in tier.asks}
    met = [name for name, tier in found.items() if name in aimed or tier.node_of in aimed]
    return met or [name for name in found if name not in asked] or list(found)[:1]


def copies(results: Results) -> dict[str, list[int]]:
    """Return the distinct numbers of copies of each host over all runs; if no run recorded hosts, the number in the
    study file.
    """
    written = Written(results)
    found: dict[str, set[int]] = {}
    for run in results.runs:
        names = [str(name) for name in run.manifest.get("hosts") or {}]
        for host, number in Counter(written.host(name) for name in names).items():
            found.setdefault(host, set()).add(number)
    if not found:
        described = [name for name, _ in named(dig(results.study, "system", "hosts"))]
        found = {name: {number} for name, number in Counter(written.host(name) for name in described).items()}
    return {host: sorted(numbers) for host, numbers in found.items()}


def times(numbers: Iterable[int]) -> str:
    """Render numbers of copies, such as `× 2 or 6`; empty for a single copy."""
    shown = [f"{number:,}" for number in numbers]
    if shown in ([], ["1"]):
        return ""
    return f"× {', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else f"× {shown[0]}"


def generator_places(results: Results) -> dict[str, list[RunResult]]:
    """Return the runs in which the load generator was on a host, by host; the key is empty for runs without a host."""
    written = Written(results)
    found: dict[str, list[RunResult]] = {}
    for run in results.runs:
        if run.manifest.get("tiers"):
            found.setdefault(written.host(str(run.manifest.get("generator_host") or "")), []).append(run)
    return found or {written.host(str(dig(results.study, "system", "generator", "host") or "")): []}


def is_this_machine(results: Results, host: str) -> bool:
    """Return True if a host of the study is the machine on which Towtank runs."""
    written = Written(results)
    descriptions = [*named(dig(results.study, "system", "hosts"))]
    descriptions += [pair for run in results.runs for pair in named(run.manifest.get("hosts"))]
    return all(
        description.get("provider") in (None, "local")
        for name, description in descriptions
        if written.host(name) == host
    )


def links(results: Results) -> list[str]:
    """Return the distinct kinds of network links between hosts, such as `veth`."""
    pairs = [
        str(host["link"])
        for run in results.runs
        for host in (run.manifest.get("hosts") or {}).values()
        if isinstance(host, Mapping) and host.get("link")
    ]
    parts = [host for _, host in named(dig(results.study, "system", "hosts")) if host.get("provider") == "namespaces"]
    described = dig(results.study, "system", "network", "link")
    return list(dict.fromkeys(pairs)) or ([str(described)] if parts and described else [])


def most(places: Mapping[str, list[RunResult]]) -> str:
    """Return the host with the most runs; of several such hosts, the first."""
    return max(places, key=lambda place: len(places[place]), default="")


def when(places: Mapping[str, list[RunResult]], place: str) -> str:
    """Render the factor levels that distinguish the runs on a host from those on other hosts; `some runs` if none
    do.
    """
    others = [run for other, runs in places.items() if other != place for run in runs]
    for factor in places[place][0].factors if places[place] else ():
        here = list(dict.fromkeys(run.factors.get(factor, "") for run in places[place]))
        if factor not in KINDS and not {run.factors.get(factor, "") for run in others} & set(here):
            return f"{factor} {', '.join(here)}"
    return "some runs"


def named(services: Any) -> list[tuple[str, Json]]:
    """Return pairs of name and content of services or hosts, from a mapping or a list."""
    if isinstance(services, Mapping):
        return [(str(name), service if isinstance(service, Mapping) else {}) for name, service in services.items()]
    return [
        (str(service["name"]), service)
        for service in services or ()
        if isinstance(service, Mapping) and service.get("name")
    ]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())
