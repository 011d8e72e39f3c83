"""Combines the tiers of the study's description and of the runs, with their hosts and links.

Copies of a host, and of the services on the host, are merged under the name that the study file uses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from towtank.digging import dig
from towtank.documents import record_of
from towtank.load_level import KINDS
from towtank.report.source import Results, RunResult

_NUMBERED = re.compile(r"(.+)-(\d+)")


@dataclass(frozen=True)
class Described:
    """Service or host, as the study's description or the manifest of a run describes it.

    `members`, `servers` and `storage` are the services to which a service sends requests.
    """

    name: str
    kind: str = ""
    host: str = ""
    provider: str | None = None
    link: str = ""
    cpus: tuple[int, ...] = ()
    members: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    storage: tuple[str, ...] | str = ()
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def asks(self) -> list[str]:
        """Services to which this service sends requests."""
        return [*self.members, *self.servers, *([self.storage] if isinstance(self.storage, str) else self.storage)]


def described(parts: object) -> list[Described]:
    """Read services or hosts by their names; empty if there are none."""
    pairs = parts.items() if isinstance(parts, Mapping) else ()
    return [record_of(Described, {**(each if isinstance(each, Mapping) else {}), "name": name}) for name, each in pairs]


def hosts_of(results: Results) -> list[Described]:
    """Return the hosts in the study's description."""
    return described(dig(results.study, "system", "hosts"))


def services_of(results: Results) -> list[Described]:
    """Return the services in the study's description; each copy of a service is listed."""
    return described(dig(results.study, "system", "services"))


@dataclass
class Tier:
    """Tier of a system, with all its copies: its kind, the CPUs to which it is pinned, its process groups that are
    measured separately (`parts`), and the tiers to which it sends requests.

    `places` has the runs in which the tier was on a host, by host; an empty list if no host was recorded. `node_of` is
    the service of which the tier is a further node; empty if the tier is no such node.
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
        copies = dig(results.study, "system", "copies") or {}
        self._copies = {str(name): int(count) for name, count in copies.items()}
        self._hosts = [host.name for host in hosts_of(results)]
        self._services = {self._one_of(service.name, service.host) for service in services_of(results)}

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

    def services(self, results: Results) -> dict[str, Described]:
        """Return the services of the study's description, with copies merged."""
        found: dict[str, Described] = {}
        for service in services_of(results):
            merged = replace(service, host=self.host(service.host))
            found.setdefault(self._one_of(service.name, service.host), merged)
        return found

    def targets(self, results: Results) -> set[str]:
        """Return the names of the services that receive the load."""
        places = {service.name: service.host for service in services_of(results)}
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
    services = written.services(results)
    found = {name: Tier(service.kind, list(service.cpus), asks=service.asks) for name, service in services.items()}
    for run in results.runs:
        recorded = {tier.name: tier for tier in described(run.manifest.get("tiers"))}
        for tier in recorded.values():
            _take(found, written, run, tier)
        for name, used in run.record.tiers.items():
            host = recorded[name].host if name in recorded else ""
            known = found.setdefault(written.tier(name, host), Tier())
            known.kind = known.kind or used.kind or ""
            known.parts = list(dict.fromkeys([*known.parts, *used.parts]))
    for name, service in services.items():
        if service.host and not found[name].places:
            found[name].places[service.host] = []
    _link_by_settings(services, found)
    _link_nodes(services, found)
    return found


def _take(found: dict[str, Tier], written: Written, run: RunResult, recorded: Described) -> None:
    """Add a tier of a run to the tiers of all runs."""
    known = found.setdefault(written.tier(recorded.name, recorded.host), Tier())
    known.kind = recorded.kind or known.kind
    known.cpus = list(recorded.cpus or known.cpus)
    runs = known.places.setdefault(written.host(recorded.host), [])
    if not runs or runs[-1] is not run:  # A run is added once, even if it has several copies of the tier.
        runs.append(run)


def _link_by_settings(services: Mapping[str, Described], found: dict[str, Tier]) -> None:
    """Link each service to the services that its settings name, by their name or kind (`database: postgresql`)."""
    kinds = {tier.kind: name for name, tier in found.items()}
    for name, service in services.items():
        for value in service.settings.values():
            other = (value if value in found else kinds.get(value)) if isinstance(value, str) else None
            if other and other != name and other not in found[name].asks:
                found[name].asks.append(other)


def _link_nodes(services: Mapping[str, Described], found: dict[str, Tier]) -> None:
    """Link each further node of a service, such as `database-2`, like its first node.

    Nodes that the study's description contains are already linked.
    """
    for name, tier in found.items():
        numbered = _NUMBERED.fullmatch(name)
        first = found.get(numbered[1]) if numbered and name not in services and numbered[1] in services else None
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
        numbers = Counter(written.host(host.name) for host in hosts_of(results))
        found = {name: {number} for name, number in numbers.items()}
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
    hosts = [*hosts_of(results), *(each for run in results.runs for each in described(run.manifest.get("hosts")))]
    return all(each.provider in (None, "local") for each in hosts if written.host(each.name) == host)


def links(results: Results) -> list[str]:
    """Return the distinct kinds of network links between hosts, such as `veth`."""
    recorded = [host.link for run in results.runs for host in described(run.manifest.get("hosts")) if host.link]
    parts = [host for host in hosts_of(results) if host.provider == "namespaces"]
    planned = dig(results.study, "system", "network", "link")
    return list(dict.fromkeys(recorded)) or ([str(planned)] if parts and planned else [])


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
