"""Determines which capabilities of this machine a system file needs, and which of them are missing."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.own_cpus import usable_cpus
from towtank.system.host_model import Disk, Link, NamespacesHost, Network
from towtank.system.hosts.capabilities import Capability
from towtank.units import exact_size

# Capability that each key of a host needs.
_SIZES = {
    "cpus": "cgroup cpu",
    "cpu_shares": "cgroup cpu",
    "pinned": "cgroup cpuset",
    "memory": "cgroup memory",
    "swap": "cgroup swap",
    "timeslice": "timeslice",
}
_LINKS = {"macvlan": "macvlan", "tun": "tap"}


def host_needs(part: NamespacesHost) -> Iterator[tuple[str, str]]:
    """Yield each key of a host that needs a capability of this machine, and the name of the capability."""
    for capability in ("namespaces", "ip", "bridge", "cgroup"):
        yield "provider", capability
    for key, capability in _SIZES.items():
        if getattr(part, key) is not None:
            yield key, capability
    if part.page_cache == "drop":
        yield "page_cache", "cgroup page cache"
    for name, disk in part.disks.items():
        yield from ((f"disks.{name}{key}", capability) for key, capability in _disk_needs(disk))
    yield from ((f"network.{key}", capability) for key, capability in _link_needs(part.network))


def _disk_needs(disk: Disk) -> Iterator[tuple[str, str]]:
    yield "", "loop"
    yield ".file_system", f"mkfs.{disk.file_system}"
    if disk.throttled:
        yield "", "cgroup io"


def _link_needs(link: Link | Network) -> Iterator[tuple[str, str]]:
    if link.rate is not None:
        yield "rate", "tc"
        yield "rate", "tbf"
    if not link.offloads:
        yield "offloads", "offloads"
    if not link.checksums:
        yield "checksums", "offloads"
    if isinstance(link, Link) and link.impaired:
        yield ("delay" if link.delay else "loss"), "netem or tap"


def network_needs(network: Network) -> Iterator[tuple[str, str]]:
    """Yield each key of the network or the generator's link that needs a capability, and the name of the capability."""
    if needed := _LINKS.get(network.link):
        yield "link", needed
    yield from _link_needs(network)


def lacking(where: str, needs: Iterator[tuple[str, str]], offered: dict[str, Capability]) -> list[str]:
    """Return a line for each missing capability, with the first key of the section `where` that needs it. `netem or
    tap` means that one of both capabilities suffices.
    """
    lines: dict[str, str] = {}
    for key, name in needs:
        either = [offered[alternative] for alternative in name.split(" or ")]
        if any(capability.there for capability in either):
            continue
        worst = either[-1]
        hint = f"; {worst.install}" if worst.install else ""
        lines.setdefault(
            f"{worst.lacking}{hint}", f"{where}.{key}: needs {name}, which is not available: {worst.lacking}{hint}"
        )
    return list(lines.values())


def absent_cpus(part: NamespacesHost) -> list[int]:
    """Return the CPUs to which a host is to be pinned, but which this process may not use."""
    return sorted(set(part.pinned or []) - usable_cpus())


def swap_lacking(part: NamespacesHost, present_bytes: int) -> str | None:
    """Return a message if the swap space of a host exceeds that of this machine; otherwise None.

    `present_bytes` is the swap space of this machine. If it is 0, the result is None, because missing swap space is
    reported as a missing capability. [byte]
    """
    if part.swap is None or not 0 < present_bytes < part.swap:
        return None
    least, most = exact_size(part.swap), exact_size(present_bytes)
    return f"swap: must be at most the swap space of this machine, {most}, got {least} instead"
