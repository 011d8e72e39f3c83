"""Checks that the hosts of services exist and support these services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from towtank import yamlfile
from towtank.errors import Fault
from towtank.spelling import misnamed
from towtank.system.host_model import ExistingHost, LocalHost, NamespacesHost, SshHost

if TYPE_CHECKING:
    from towtank.system.model import SystemFile
    from towtank.system.service_model import Service


def host_faults(tree: yamlfile.Node, system: SystemFile, hosts: list[str]) -> list[Fault]:
    """Report each host and disk that a service names although it does not exist or does not support the service.
    `hosts` are the names of all hosts in the file, including those with faults.
    """
    faults = []
    for name, service in system.services.items():
        if service.host is not None and service.host not in hosts:
            faults.append(unknown_name(tree, ("services", name, "host"), "host", service.host, hosts))
        elif service.host is not None and service.host in system.hosts:
            faults += _misplaced(tree, system, name)
        faults += _misplaced_further(tree, system, name, hosts)
        faults += _names_taken(tree, system, name)
    return faults


def unknown_name(root: yamlfile.Node, path: yamlfile.Path_, what: str, got: str, known: list[str]) -> Fault:
    """Return the fault that a name is not defined in the system file; its message lists the defined names."""
    allowed = f"a {what} of this file ({', '.join(known)})" if known else f"a {what} of this file, which has none"
    return yamlfile.fault_at(root, path, misnamed(allowed, got, known))


def _misplaced(tree: yamlfile.Node, system: SystemFile, name: str) -> Iterator[Fault]:
    """Yield the faults that the host of a service cannot run the service or lacks its disk."""
    service = system.services[name]
    host = system.hosts[str(service.host)]
    at = ("services", name, "host")
    if service.starts and isinstance(host, ExistingHost):
        message = (
            f"must be a host on which Towtank can start a {service.kind}, got {service.host!r} instead, "
            "which is of provider existing"
        )
        yield yamlfile.fault_at(tree, at, message)
    if service.starts and not service.starts_remotely and isinstance(host, SshHost):
        message = f"must be a host of this machine for a {service.kind}, got {service.host!r} instead, of provider ssh"
        yield yamlfile.fault_at(tree, at, message)
    if service.needs_namespaces and not isinstance(host, NamespacesHost):
        yield yamlfile.fault_at(tree, at, _needs_namespaces(service, str(service.host)))
    disks = list(host.disks) if isinstance(host, NamespacesHost) else []
    if service.disk_used is not None and service.disk_used not in disks:
        known = f" ({', '.join(disks)})" if disks else ", which has none"
        message = misnamed(f"a disk of host {service.host}{known}", service.disk_used, disks)
        yield yamlfile.fault_at(tree, ("services", name, "disk"), message)


def _misplaced_further(tree: yamlfile.Node, system: SystemFile, name: str, hosts: list[str]) -> Iterator[Fault]:
    """Yield the faults in the further hosts of a service with several nodes, and in its disk."""
    service = system.services[name]
    for number, host in enumerate(getattr(service, "hosts", [])):
        at = ("services", name, "hosts", number)
        if host not in hosts:
            yield unknown_name(tree, at, "host", host, hosts)
            continue
        found = system.hosts.get(host)
        if service.needs_namespaces and not isinstance(found, NamespacesHost | None):
            yield yamlfile.fault_at(tree, at, _needs_namespaces(service, host))
        elif not isinstance(found, NamespacesHost | LocalHost | None):
            message = f"must be a host of this machine, where nodes share their data, got {host!r} instead"
            yield yamlfile.fault_at(tree, at, message)
    away = [host for host in dict.fromkeys(service.hosts_used) if host != service.host]
    if service.disk_used is not None and away:
        message = (
            f"must be left out if nodes run on hosts other than {service.host} ({', '.join(away)}), because these "
            f"hosts cannot access the disk, got {service.disk_used!r} instead"
        )
        yield yamlfile.fault_at(tree, ("services", name, "disk"), message)


def _needs_namespaces(service: Service, host: str) -> str:
    return f"must be a host of provider namespaces for a {service.kind}, got {host!r} instead"


def _names_taken(tree: yamlfile.Node, system: SystemFile, name: str) -> Iterator[Fault]:
    """Yield a fault for each service whose name is also the name of a process of this service."""
    for process in system.services[name].processes(name):
        if process != name and process in system.services:
            message = f"must not be the name of a process of service {name!r}, got {process!r}"
            yield yamlfile.fault_at(tree, ("services", process), message, key=True)
