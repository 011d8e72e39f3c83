"""Validates and describes the section `predict` of a study, which predicts a configuration from runs of a smaller
configuration.

The smaller configuration has fewer servers, or hosts with fewer CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from towtank.errors import Fault
from towtank.spelling import misnamed
from towtank.study.design import LOAD_FACTORS
from towtank.system import NamespacesHost
from towtank.yamlfile import fault_at

if TYPE_CHECKING:
    from towtank.study.study import Study
    from towtank.system import SystemFile


def across_faults(study: Study) -> Iterator[Fault]:
    """Yield the faults in the section `predict`, such as unknown names, missing levels, or a predicted configuration
    that is not larger than the measured one.
    """
    given = study.study.predict
    if given is None:
        return
    known = {factor.name: factor.levels for factor in study.factors if factor.name not in LOAD_FACTORS}
    wrong = False
    for key, place in (("from", given.from_), ("to", given.to)):
        for name, level in place.items():
            message = _unknown(name, level, known)
            wrong = wrong or message is not None
            if message is not None:
                yield fault_at(study.tree, ("predict", key, name), message, key=name not in known)
    missing = [name for name, levels in known.items() if len(levels) > 1 and name not in given.from_]
    if missing:
        yield fault_at(
            study.tree, ("predict", "from"), f"must have a level of {', '.join(missing)}, got none", key=True
        )
    services = list(study.system.services)
    if given.service not in services:
        message = misnamed(f"a service of the system ({', '.join(services)})", given.service, services)
        yield fault_at(study.tree, ("predict", "service"), message)
    elif not wrong and not missing:
        target = {**given.from_, **given.to}
        before, after = _servers(study, given.from_), _servers(study, target)
        small, big = _cpus(study, given.from_), _cpus(study, target)
        if after < before or (after == before and (small is None or big is None or big <= small)):
            had = f"{before} on {_told(small)}" if small is not None or big is not None else f"{before}"
            got = f"{after} on {_told(big)}" if small is not None or big is not None else f"{after}"
            message = (
                f"must have more servers than `from`, or hosts with more CPUs; `from` has {had}, got {got} instead"
            )
            yield fault_at(study.tree, ("predict", "to"), message, key=True)


def _told(cpus: float | None) -> str:
    return "hosts without or with different numbers of CPUs" if cpus is None else f"hosts of {cpus:g} CPUs"


def _unknown(name: str, level: str, known: dict[str, tuple[str, ...]]) -> str | None:
    if name not in known:
        return misnamed(f"a factor of the study other than the load ({', '.join(known)})", name, known)
    if level not in known[name]:
        return misnamed(f"a level of {name} ({', '.join(known[name])})", level, known[name])
    return None


def _servers(study: Study, place: dict[str, str]) -> int:
    assert study.study.predict is not None
    name = study.study.predict.service
    return len(study.system_with(place).services[name].processes(name))


def _cpus(study: Study, place: dict[str, str]) -> float | None:
    """Return the CPU limit of the predicted service's hosts; None if limits differ or one has none. [CPUs]"""
    assert study.study.predict is not None
    system = study.system_with(place)
    sizes = _sizes(system)
    given = {sizes.get(name) for name in system.services[study.study.predict.service].hosts_used}
    return given.pop() if len(given) == 1 else None


def _sizes(system: SystemFile) -> dict[str, float]:
    """Return the CPU limits of hosts by host name; hosts without a limit are omitted. [CPUs]"""
    sized = {name: host for name, host in system.hosts.items() if isinstance(host, NamespacesHost)}
    return {name: host.cpus for name, host in sized.items() if host.cpus is not None}


def _periods(system: SystemFile) -> dict[str, float]:
    """Return the periods of CPU quotas by host name; hosts without a CPU limit are omitted. [s]"""
    return {name: system.hosts[name].cpu_period for name in _sizes(system)}  # type: ignore[union-attr]


def is_prediction_source(study: Study, factors: dict[str, str]) -> bool:
    """Return True if a run with these factor levels belongs to the configuration that is measured for the
    prediction.
    """
    given = study.study.predict
    return given is not None and all(factors.get(name) == level for name, level in given.from_.items())


def describe_across(study: Study) -> dict[str, object] | None:
    """Return the section `predict` with servers, CPUs and loads, as an entry for the manifest; None if the study has
    no such section.
    """
    given = study.study.predict
    if given is None:
        return None
    target = {**given.from_, **given.to}
    service = study.system_with(given.from_).services[given.service]
    loads = {run.users or run.rate for run in study.design() if all(run.factors.get(k) == v for k, v in target.items())}
    return {
        "from": dict(given.from_),
        "to": target,
        "service": given.service,
        "hosts": list(service.hosts_used),
        "servers_from": _servers(study, given.from_),
        "servers_to": _servers(study, target),
        "cpus_from": _cpus(study, given.from_),
        "cpus_to": _cpus(study, target),
        "cpus_of_hosts": _sizes(study.system_with(target)),
        "cpu_period_of_hosts_s": _periods(study.system_with(target)),
        "loads": sorted(load for load in loads if load is not None),
    }
