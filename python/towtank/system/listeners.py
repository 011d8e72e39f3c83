"""Finds the processes of this machine that listen on an address, by the socket tables of the kernel."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

Host = ipaddress.IPv4Address | ipaddress.IPv6Address
_LISTENS, _CONNECTED = "0A", "01"
_SOCKET = re.compile(r"socket:\[(\d+)\]")
# These programs relay connections to servers in containers, which are separate processes.
_RELAYS = frozenset({"docker-proxy", "rootlessport", "slirp4netns"})


def is_here(host: str) -> bool:
    """Return True if an IP address belongs to this machine, as seen from the network of this process."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except (OSError, ValueError):
        return False
    return True


def listening_root(host: str, port: int, proc: Path = Path("/proc")) -> int | None:
    """Return the process that listens on an address of this machine.

    Parameters
    ----------
    host : str
        IP address.
    port : int
        Port. [1]
    proc : Path
        Folder of the kernel's process files; tests pass recorded ones.

    Returns
    -------
    int or None
        Of several processes that share the socket (a server and its workers) the one whose parent does not. None if the
        socket, or who holds it, cannot be seen, as with a server of another user, or if it is a relay to a container.
    """
    inodes = _sockets(ipaddress.ip_address(host), port, proc)
    holders = {pid for pid in _pids(proc) if inodes & _held(proc / str(pid))} if inodes else set()
    roots = sorted(pid for pid in holders if parent(pid, proc) not in holders)
    if not roots or any(_name(pid, proc) in _RELAYS for pid in roots):
        return None
    return roots[0]


def servers_behind(root: int, proc: Path = Path("/proc")) -> set[int]:
    """Return the processes of this machine to which a server has TCP connections, directly or through others.

    Parameters
    ----------
    root : int
        The server; its children count, too.
    proc : Path
        Folder of the kernel's process files.

    Notes
    -----
    Connections through Unix sockets, and those that are opened later, are not seen.
    """
    found, ahead = {root}, [root]
    while ahead:
        tree = ahead.pop()
        inodes = {inode for pid in _pids(proc) if is_below(pid, [tree], proc) for inode in _held(proc / str(pid))}
        peers = {peer for _, peer, state, inode in _rows(proc) if state == _CONNECTED and inode in inodes}
        roots = {listening_root(str(host), port, proc) for host, port in peers if is_here(str(host))} - {None}
        new = {pid for pid in roots if pid is not None and pid != 1 and not is_below(pid, found, proc)}
        found |= new
        ahead += new
    return found - {root}


def parent(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Return the parent of a process; None if there is none, or the process has ended."""
    try:
        return int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1]) or None
    except (OSError, ValueError, IndexError):
        return None


def is_below(pid: int, roots: Iterable[int], proc: Path = Path("/proc")) -> bool:
    """Return True if a process is one of the roots or descends from one."""
    wanted, current = set(roots), pid
    while current not in wanted:
        above = parent(current, proc)
        if above is None:
            return False
        current = above
    return True


def _pids(proc: Path) -> list[int]:
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]


def _name(pid: int, proc: Path) -> str:
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text().strip()
    return ""


def _held(folder: Path) -> set[str]:
    """Return the inodes of the sockets that a process holds; none if its files cannot be seen."""
    found = set()
    with suppress(OSError):
        for entry in os.scandir(folder / "fd"):
            with suppress(OSError):
                if match := _SOCKET.fullmatch(str(Path(entry.path).readlink())):
                    found.add(match[1])
    return found


def _sockets(host: Host, port: int, proc: Path) -> set[str]:
    """Return the inodes of the sockets that accept connections to an address: sockets bound to this address, else
    sockets bound to all addresses.
    """
    bound = {(at, inode) for (at, number), _, state, inode in _rows(proc) if state == _LISTENS and number == port}
    exact = {inode for at, inode in bound if at == host}
    return exact or {inode for at, inode in bound if at.is_unspecified}


def _rows(proc: Path) -> Iterator[tuple[tuple[Host, int], tuple[Host, int], str, str]]:
    """Yield own address, peer, state and inode of each TCP socket in the network of this process."""
    for name in ("tcp", "tcp6"):
        lines: list[str] = []
        with suppress(OSError):
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        for fields in map(str.split, lines):
            if len(fields) >= 10:
                yield _place(fields[1]), _place(fields[2]), fields[3], fields[9]


def _place(text: str) -> tuple[Host, int]:
    address, _, port = text.partition(":")
    return _address(address), int(port, 16)


def _address(text: str) -> Host:
    """Read an address of the kernel's table: words of 32 bits in the byte order of the machine."""
    words = [int(text[at : at + 8], 16).to_bytes(4, "little") for at in range(0, len(text), 8)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = getattr(found, "ipv4_mapped", None)
    return found if mapped is None else mapped
