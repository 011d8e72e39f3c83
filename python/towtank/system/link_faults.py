"""Checks the links of hosts and the host of the load generator in a system file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from towtank import yamlfile
from towtank.errors import Fault
from towtank.spelling import misnamed
from towtank.system.copies import copied_names, copies_of
from towtank.system.host_model import Link, LocalHost, NamespacesHost, Network

if TYPE_CHECKING:
    from towtank.system.model import SystemFile

# Properties that links of kind `veth` and `macvlan` do not support. Rate, delay and loss need a bridge or a relay. The
# kernel does not turn off segmentation offload (TSO) on a macvlan device (macvlan.c), and the shared network card
# calculates the checksums.
_UNFIT = {"veth": ("rate", "delay", "loss"), "macvlan": ("rate", "delay", "loss", "offloads", "checksums")}
_ENDS_OF_A_CABLE = 2
# Limits that the host of the load generator must not have, because they would slow down the generator. A run would then
# measure the generator instead of the system.
_SIZES = ("cpus", "cpu_shares", "pinned", "timeslice", "memory")


def link_faults(tree: yamlfile.Node, system: SystemFile, known: list[str]) -> list[Fault]:
    """Report faults in `network`, in `generator`, and in the links of hosts. `known` are the names of all hosts in the
    file, including those with faults.
    """
    found = [*_generator(system, known), *_link(system), *_sizes(system)]
    return [yamlfile.fault_at(tree, at, message) for at, message in found]


_Found = Iterator[tuple[tuple[str, ...], str]]


def _generator(system: SystemFile, known: list[str]) -> _Found:
    name = system.generator.host
    if name is None:
        return
    at = ("generator", "host")
    if name not in known:
        allowed = f" ({', '.join(known)})" if known else ", which has none"
        yield at, misnamed(f"a host of this file{allowed}", name, known)
        return
    host = system.hosts.get(name)
    if host is None:  # The faults of this host are reported elsewhere.
        return
    if not isinstance(host, NamespacesHost | LocalHost):
        yield at, f"must be a host of this machine, got {name!r} instead, of provider {host.provider}"
    if copies_of(system, name) is not None:
        yield at, f"must be a host without copies, got {name!r} instead"
    for key in _SIZES:
        if isinstance(host, NamespacesHost) and key in host.model_fields_set and getattr(host, key) is not None:
            message = f"must be left out on the host of the load generator ({name}), which must not be slowed down"
            yield ("hosts", name, key), f"{message}, got {_plain(getattr(host, key))} instead"


def _link(system: SystemFile) -> _Found:
    link, at = system.network.link, ("network", "link")
    if link != "veth":
        return
    names = [
        copy
        for name in system.hosts_in_use
        if isinstance(system.hosts.get(name), NamespacesHost)
        for copy in copied_names(name, copies_of(system, name))
    ]
    if len(names) != _ENDS_OF_A_CABLE:
        got = f"veth with {len(names)} ({', '.join(names)})" if names else "veth with none"
        yield at, f"must be veth only with exactly two hosts of provider namespaces in use, got {got} instead"
    elif system.generator.host not in names:
        message = "must be bridge, macvlan or tun if the load generator runs on neither host"
        yield at, f"{message} (generator.host), got veth instead"


def _sizes(system: SystemFile) -> _Found:
    link = system.network.link
    unfit = _UNFIT.get(link, ())
    parts: dict[tuple[str, ...], Link | Network] = {("network",): system.network}
    for name in system.hosts_in_use:
        host = system.hosts.get(name)
        if isinstance(host, NamespacesHost):
            parts["hosts", name, "network"] = host.network
    for at, part in parts.items():
        for key in unfit:
            value = getattr(part, key, None)
            # Offloads and checksums are on by default, and all other properties are unset. Other values were written
            # in the file.
            if value is False or (value is not True and value):
                yield (*at, key), f"must be left out with network.link {link}, got {_plain(value)} instead"


def _plain(value: object) -> str:
    """Return a value as text in base units, as in a system file."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
