"""Replaces a host with the key `copies`, and the services on it, by numbered hosts and services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from towtank import yamlfile
from towtank.errors import Fault
from towtank.system.host_model import COPIES_AT_MOST
from towtank.system.storage_models import Mount

if TYPE_CHECKING:
    from towtank.system.model import SystemFile
    from towtank.system.service_model import Service


def copied_names(name: str, copies: int | None) -> list[str]:
    """Return the names of the copies of a host or service; only the name itself if `copies` is None.

    Examples
    --------
    >>> copied_names("node", 3)
    ['node-1', 'node-2', 'node-3']
    >>> copied_names("node", None)
    ['node']
    """
    return [name] if copies is None else [f"{name}-{number}" for number in range(1, copies + 1)]


def host_and_service_names(root: yamlfile.Node, section: str) -> list[str] | None:
    """Return all names that the section `hosts` or `services` of a system file can have; None if the section is
    missing.

    The names include those of copies, up to the largest allowed number of copies, because a factor may change this
    number.
    """
    parts = {
        key: node.plain() if node is not None else None for key in ("hosts", section) for node in [root.child(key)]
    }
    written, hosts = parts[section], parts["hosts"]
    if not isinstance(written, dict):
        return None
    names = list(written)
    for name, part in written.items():
        host = name if section == "hosts" else part.get("host") if isinstance(part, dict) else None
        keys = hosts.get(host) if isinstance(hosts, dict) and isinstance(host, str) else None
        if isinstance(keys, dict) and keys.get("copies") is not None:
            names += copied_names(name, COPIES_AT_MOST)
    return names


def host_copies(root: yamlfile.Node) -> dict[str, int]:
    """Return the number of copies of each host with copies, by name of the host, in a valid system file."""
    node = root.child("hosts")
    written = node.plain() if node is not None else None
    hosts = written.items() if isinstance(written, dict) else ()
    return {name: part["copies"] for name, part in hosts if isinstance(part, dict) and part.get("copies") is not None}


def copies_of(system: SystemFile, host: str | None) -> int | None:
    """Return the number of copies of a host; None if its entry does not request copies."""
    return getattr(system.hosts.get(str(host)), "copies", None)


def copy_faults(tree: yamlfile.Node, system: SystemFile) -> list[Fault]:
    """Report names that copies share with other entries, and references to several copies where one is needed."""
    faults = []
    for name in system.hosts:
        made = copied_names(name, copies_of(system, name))
        if taken := [copy for copy in made if copy != name and copy in system.hosts]:
            message = f"must not be the name of a copy of host {name!r}, got {taken[0]!r}"
            faults.append(yamlfile.fault_at(tree, ("hosts", taken[0]), message, key=True))
    for name, service in system.services.items():
        made = copied_names(name, copies_of(system, service.host))
        if taken := [copy for copy in made if copy != name and copy in system.services]:
            message = f"must not be the name of a copy of service {name!r}, got {taken[0]!r}"
            faults.append(yamlfile.fault_at(tree, ("services", taken[0]), message, key=True))
        faults += _wrong_references(tree, system, name, service)
    return faults


def _wrong_references(tree: yamlfile.Node, system: SystemFile, name: str, service: Service) -> list[Fault]:
    """Report references of a service to a host or service with copies, if only one host or service is allowed."""
    nodes = list(getattr(service, "hosts", []))
    servers = list(service.servers) if isinstance(service, Mount) else []
    faults = []
    for key, hosts in (("hosts", nodes), ("host", [service.host] if nodes else [])):
        for number, host in enumerate(hosts):
            if copies_of(system, host) is not None:
                at = ("services", name, key, number) if key == "hosts" else ("services", name, key)
                message = f"must be a host without copies for a service on several hosts, got {host!r} instead"
                faults.append(yamlfile.fault_at(tree, at, message))
    for key, others in (("members", service.forwards_to), ("servers", servers)):
        for number, other in enumerate(others):
            found = system.services.get(other)
            if found is not None and copies_of(system, found.host) is not None:
                message = f"must be a service on a host without copies, got {other!r} instead"
                faults.append(yamlfile.fault_at(tree, ("services", name, key, number), message))
    return faults


def with_copies(system: SystemFile) -> SystemFile:
    """Return the system in which each copy is a separate host or service; the given system if no host has copies.

    A target of the load that is a service with copies then consists of all these copies.
    """
    if all(copies_of(system, name) is None for name in system.hosts):
        return system
    hosts = {
        copy: host if copies_of(system, name) is None else host.model_copy(update={"copies": None})
        for name, host in system.hosts.items()
        for copy in copied_names(name, copies_of(system, name))
    }
    made = {name: copied_names(name, copies_of(system, service.host)) for name, service in system.services.items()}
    services = {copied: copy for name in system.services for copied, copy in _copied(system, name, made)}
    targets = {}
    for name, target in system.all_targets.items():
        spread = [member for service in target.all_services for member in made[service]]
        is_as_written = spread == target.all_services
        targets[name] = target if is_as_written else target.model_copy(update={"service": None, "services": spread})
    return system.model_copy(update={"hosts": hosts, "services": services, "targets": targets})


def _copied(system: SystemFile, name: str, made: Mapping[str, list[str]]) -> Iterator[tuple[str, Service]]:
    """Yield name and entry of each copy of a service. Each copy uses the mount on its own host, if any."""
    service = system.services[name]
    copies = copies_of(system, service.host)
    if copies is None:
        yield name, service
        return
    storage = getattr(service, "storage", None)
    is_mount = isinstance(system.services.get(str(storage)), Mount)
    for number, place in enumerate(copied_names(str(service.host), copies)):
        there = {"storage": made[str(storage)][number]} if is_mount else {}
        yield made[name][number], service.model_copy(update={"host": place, **there})
