"""Reads the kernel's resource limits that apply to the process of a service."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError

Read = Callable[[str], str | None]
"""Function that reads a small file on the machine of a process; returns None if the file cannot be read."""

ReadPorts = Callable[[int], str | None]
"""Function that reads the range of local ports in the network namespace of a process; returns None if this fails."""
PORTS = "/proc/sys/net/ipv4/ip_local_port_range"
_NAMES = {"open_files": "Max open files", "processes": "Max processes"}


def limits_below(guard: int, read: Read, read_ports: ReadPorts | None = None) -> dict[str, int | None]:
    """Return the soft resource limits of the command that a guard runs.

    `read` reads files of the guard's machine; `read_ports` reads the range of local ports in the network namespace of a
    process, by default that of the machine.

    Returns
    -------
    dict
        `open_files` of the process, `processes` (with threads) of its user, and `ports` for connections to one
        destination. None means no limit; limits that cannot be read are left out. [1]
    """
    children = (read(f"/proc/{guard}/task/{guard}/children") or "").split()
    if not children:
        return {}
    ports = parse_ports((read(PORTS) if read_ports is None else read_ports(int(children[0]))) or "")
    return {**parse_limits(read(f"/proc/{children[0]}/limits") or ""), **({} if ports is None else {"ports": ports})}


def parse_limits(text: str) -> dict[str, int | None]:
    """Parse the soft limits in the text of `/proc/PID/limits`.

    Examples
    --------
    >>> parse_limits("Max open files            1024                 524288               files     ")
    {'open_files': 1024}
    """
    found: dict[str, int | None] = {}
    for key, name in _NAMES.items():
        match = re.search(rf"^{name}\s+(\d+|unlimited)\s", text, re.MULTILINE)
        if match is not None:
            found[key] = int(match[1]) if match[1] != "unlimited" else None
    return found


def parse_ports(text: str) -> int | None:
    """Return the number of ports in a range from `net.ipv4.ip_local_port_range`; None if the text is no range.

    Examples
    --------
    >>> parse_ports("32768\t60999"), parse_ports("")
    (28232, None)
    """
    ends = text.split()
    return int(ends[1]) - int(ends[0]) + 1 if len(ends) == 2 and all(end.isdigit() for end in ends) else None


def ports_here(pid: int) -> str | None:
    """Read the range of local ports in the network namespace of a process on this machine; None if this fails."""
    from towtank.system.hosts.namespaces import within_network  # noqa: PLC0415 - hosts are made of processes

    try:
        if Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            return read_here(PORTS)
        return within_network(pid, lambda: read_here(PORTS))
    except (OSError, TargetError):
        return None


def read_here(path: str) -> str | None:
    """Read a small file of this machine; None if it cannot be read."""
    with suppress(OSError):
        return Path(path).read_text("utf-8", "replace")
    return None
