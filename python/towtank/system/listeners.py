"""Finds the processes of this machine that listen on an address, and the servers to which they are connected."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from towtank.system.sock_diag import TcpSocket, UnixSocket, tcp_sockets, unix_sockets

Host = ipaddress.IPv4Address | ipaddress.IPv6Address
_LISTENS, _CONNECTED = "0A", "01"
_PROC = Path("/proc")
_SOCKET = "socket:["
_INIT = 1
_STAT_BYTES = 1024
# Programs that forward connections to servers in containers. The server is a process in the container instead.
_RELAYS = frozenset({"docker-proxy", "rootlessport", "slirp4netns"})


@dataclass(frozen=True)
class SeenServer:
    """Result of a search for the server that holds a listening socket: its process id, and the path
    `/proc/PID/fd/NUMBER` of the socket. Both are None if no server was found.
    """

    pid: int | None
    path: str | None


def is_this_machine(host: str) -> bool:
    """Return True if an IP address belongs to this machine, in the network namespace of this process."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except (OSError, ValueError):
        return False
    return True


def listening_root(host: str, port: int, proc: Path = _PROC) -> int | None:
    """Return the id of the process that listens on an address of this machine.

    Parameters
    ----------
    host : str
        IP address.
    port : int
        Port. [1]
    proc : Path
        Folder `/proc`; tests pass a folder of recorded files.

    Returns
    -------
    int or None
        Process id. If a server and its workers share the socket, it is the id of the process whose parent does not
        have the socket. None if the socket or its process is not visible, for example because it belongs to another
        user, or if the process only forwards connections to a container.
    """
    machine = _Machine(proc)
    return machine.root_of(machine.listening(ipaddress.ip_address(host), port))


def port_root(port: int, proc: Path = _PROC) -> int | None:
    """Return the id of the process that listens on a port at any address of this machine, as `listening_root` does."""
    machine = _Machine(proc)
    for host in ("127.0.0.1", "::1"):
        inodes = machine.listening(ipaddress.ip_address(host), port)
        if inodes:
            return machine.root_of(inodes)
    return machine.root_of(machine.listening_anywhere(port))


def servers_behind(
    roots: int | Iterable[int],
    proc: Path = _PROC,
    unix: Callable[[], Iterable[UnixSocket]] = unix_sockets,
    seen: dict[str, SeenServer] | None = None,
) -> set[int]:
    """Return the servers on this machine to which the given servers have connections, directly or through other
    servers.

    Parameters
    ----------
    roots : int or iterable of int
        Process ids of the given servers. Connections of their descendants count as well.
    proc : Path
        Folder `/proc`; tests pass a folder of recorded files.
    unix : callable
        Function that returns the Unix sockets of this machine.
    seen : dict, optional
        Servers that earlier searches found, by inode of their listening socket. This search adds the servers that
        it finds.

    Returns
    -------
    set of int
        Process ids of the servers found, without the first process of the machine, and without the given servers
        and their descendants.

    Notes
    -----
    Connections that are opened later are not found, so callers repeat the search with the same `seen`. The search
    reads the parents of all processes, the open files of the given servers and their descendants, and the tables of
    sockets. It reads the open files of all processes only if a connection leads to a server that is not in `seen`.
    """
    machine = _Machine(proc, seen)
    given = {roots} if isinstance(roots, int) else set(roots)
    found, ahead = set(given), list(given)
    while ahead:
        inodes = machine.held_by_tree(ahead.pop())
        listening = [*machine.tcp_behind(inodes), *machine.unix_behind(inodes, unix)]
        servers = {machine.root_of(each) for each in listening} - {None}
        new = {pid for pid in servers if pid is not None and pid != _INIT and not machine.is_below(pid, found)}
        found |= new
        ahead += new
    return found - given


def listening_in(root: int, proc: Path = _PROC) -> tuple[set[int], list[int]]:
    """Return the TCP ports on which a process or its descendants listen, and the ids of these processes, parents
    first.
    """
    machine = _Machine(proc)
    return machine.ports_of(machine.held_by_tree(root)), machine.tree(root)


def parent(pid: int, proc: Path = _PROC) -> int | None:
    """Return the id of the parent of a process; None if the process has no parent or has ended."""
    return _parent(f"{proc}/{pid}/stat")


def _parent(stat: str) -> int | None:
    # System calls are used, because Python's buffered files take longer than the kernel for such a short file.
    try:
        opened = os.open(stat, os.O_RDONLY)
        try:
            content = os.read(opened, _STAT_BYTES)
        finally:
            os.close(opened)
        return int(content.rpartition(b")")[2].split(None, 2)[1]) or None
    except (OSError, ValueError, IndexError):
        return None


def is_descendant(pid: int, roots: Iterable[int], proc: Path = _PROC) -> bool:
    """Return True if a process is one of the `roots` or a descendant of one."""
    wanted, current = set(roots), pid
    while current not in wanted:
        above = parent(current, proc)
        if above is None:
            return False
        current = above
    return True


class _Machine:
    """Processes and sockets of this machine at one time. Each table of the kernel is read once, when it is needed."""

    def __init__(self, proc: Path, seen: dict[str, SeenServer] | None = None) -> None:
        self._proc = proc
        self._held: dict[int, dict[str, str]] = {}
        self._seen = {} if seen is None else seen

    @cached_property
    def parents(self) -> dict[int, int | None]:
        """Id of the parent of each process, by process id; None for a process without a parent."""
        pids = [int(entry.name) for entry in os.scandir(self._proc) if entry.name.isdigit()]
        return {pid: parent(pid, self._proc) for pid in pids}

    @cached_property
    def _tcp(self) -> list[TcpSocket]:
        """TCP sockets in the network namespace of this process, or of recorded tables in tests."""
        asked = tcp_sockets() if self._proc == _PROC else None
        return _recorded(self._proc) if asked is None else asked

    @cached_property
    def _listening(self) -> list[tuple[Host, int, str]]:
        """Address, port and inode of each TCP socket that listens."""
        return [(_address(each.own[0]), each.own[1], each.inode) for each in self._tcp if each.listens]

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for pid, above in self.parents.items():
            if above is not None:
                children.setdefault(above, []).append(pid)
        return children

    def held_by_tree(self, root: int) -> set[str]:
        """Return the inodes of all sockets that a process or its descendants have open."""
        return {inode for pid in self.tree(root) for inode in self.held(pid)}

    def tree(self, root: int) -> list[int]:
        """Return the ids of a process and its descendants, parents before children."""
        pids = [root]
        for pid in pids:  # The loop appends to the list that it reads.
            pids += self._children.get(pid, [])
        return pids

    def ports_of(self, inodes: set[str]) -> set[int]:
        """Return the ports on which the given sockets listen."""
        return {port for _, port, inode in self._listening if inode in inodes}

    def held(self, pid: int) -> dict[str, str]:
        """Return the paths of a process's open sockets, by inode; empty if its open files are not visible."""
        if pid not in self._held:
            self._held[pid] = _held(f"{self._proc}/{pid}/fd")
        return self._held[pid]

    def is_below(self, pid: int, roots: set[int]) -> bool:
        """Return True if a process is one of the `roots` or a descendant of one."""
        current: int | None = pid
        while current is not None and current not in roots:
            current = self.parents.get(current)
        return current is not None

    def root_of(self, inodes: set[str]) -> int | None:
        """Return the process id of the server that has one of the given sockets open.

        None if no such server is visible, or if the process only forwards connections to a container.
        """
        for inode in inodes & self._seen.keys():
            if self._is_still_so(inode, self._seen[inode]):
                return self._seen[inode].pid
        root = self._search(inodes)
        path_of = self.held(root) if root is not None else {}
        self._seen.update({inode: SeenServer(root, path_of.get(inode)) for inode in inodes})
        return root

    def _is_still_so(self, inode: str, seen: SeenServer) -> bool:
        """Return True if a server that was found earlier still has the same socket open.

        An inode belongs to at most one open socket at a time.
        """
        if seen.path is None:
            return seen.pid is None
        with suppress(OSError):
            return str(Path(seen.path).readlink()) == f"{_SOCKET}{inode}]"
        return False

    def _search(self, inodes: set[str]) -> int | None:
        """Search all processes of this machine for the server that has one of the sockets open.

        The first process of the machine may have opened the socket of a server that it starts on demand. It is
        therefore returned only if no other process has a socket open.
        """
        holders = {pid for pid in self.parents if inodes & self.held(pid).keys()} if inodes else set()
        holders = holders - {_INIT} or holders
        roots = sorted(pid for pid in holders if self.parents[pid] not in holders)
        if not roots or any(command_name(pid, self._proc) in _RELAYS for pid in roots):
            return None
        if len(roots) == 1:
            return roots[0]
        # Several processes may have separate sockets for the same port (SO_REUSEPORT). They are one server if they have
        # the same parent, which runs the same program.
        above = {self.parents[pid] for pid in roots}
        parent_of_all = above.pop() if len(above) == 1 else None
        names = {command_name(pid, self._proc) for pid in roots}
        is_one = parent_of_all not in (None, _INIT) and names == {command_name(parent_of_all or 0, self._proc)}
        return parent_of_all if is_one else None

    def listening(self, host: Host, port: int) -> set[str]:
        """Return the inodes of the sockets that accept connections to an address.

        These are the sockets bound to exactly this address. If there are none, they are the sockets bound to all
        addresses of the same family or, if there are none either, of the other family.
        """
        bound = {(at, inode) for at, number, inode in self._listening if number == port}
        exact = {inode for at, inode in bound if at == host}
        anywhere = {(at.version, inode) for at, inode in bound if at.is_unspecified}
        of_family = {inode for version, inode in anywhere if version == host.version}
        # An IPv6 socket may accept IPv4 connections as well.
        return exact or of_family or {inode for _, inode in anywhere}

    def listening_anywhere(self, port: int) -> set[str]:
        """Return the inodes of the sockets that listen on a port at any address."""
        return {inode for _, number, inode in self._listening if number == port}

    def tcp_behind(self, inodes: set[str]) -> list[set[str]]:
        """Return the inodes of the listening sockets to whose addresses the given TCP sockets are connected, one set
        for each address.
        """
        ports = {port for _, port, _ in self._listening}
        peers = {each.peer for each in self._tcp if each.inode in inodes and not each.listens and each.peer[1] in ports}
        places = [(_address(host), port) for host, port in peers]
        return [self.listening(host, port) for host, port in places if is_this_machine(str(host))]

    def unix_behind(self, inodes: set[str], unix: Callable[[], Iterable[UnixSocket]]) -> list[set[str]]:
        """Return the inodes of the listening sockets to whose paths the given Unix sockets are connected, one set for
        each path.
        """
        listed = {each.inode: each for each in unix()}
        ends = {listed[peer] for inode in inodes & listed.keys() if (peer := listed[inode].peer) in listed}
        places = {end.place for end in ends if end.place}
        return [{each.inode for each in listed.values() if each.listens and each.place == place} for place in places]


def command_name(pid: int, proc: Path) -> str:
    """Return the name of the command of a process, of at most 15 characters; empty if it cannot be read."""
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text().strip()
    return ""


def _held(folder: str) -> dict[str, str]:
    """Return the paths of the sockets in a folder `/proc/PID/fd`, by inode; empty if the folder cannot be read."""
    found = {}
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(opened) as entries:
                for name in [entry.name for entry in entries]:
                    with suppress(OSError):
                        target = os.readlink(name, dir_fd=opened)
                        if target.startswith(_SOCKET):
                            found[target[len(_SOCKET) : -1]] = f"{folder}/{name}"
        finally:
            os.close(opened)
    return found


def _recorded(proc: Path) -> list[TcpSocket]:
    """Read TCP sockets from recorded tables `net/tcp` and `net/tcp6` in a folder."""
    found = []
    for name in ("tcp", "tcp6"):
        lines: list[str] = []
        with suppress(OSError):
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        for row in map(str.split, lines):
            if len(row) >= 10 and row[3] in (_LISTENS, _CONNECTED):
                found.append(TcpSocket(row[9], row[3] == _LISTENS, _place(row[1]), _place(row[2])))
    return found


def _place(text: str) -> tuple[bytes, int]:
    """Parse address and port in a table of the kernel, in which 32-bit words have the byte order of the machine."""
    address, _, port = text.partition(":")
    words = [int(address[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(address), 8)]
    return b"".join(words), int(port, 16)


def _address(packed: bytes) -> Host:
    found = ipaddress.ip_address(packed)
    mapped = getattr(found, "ipv4_mapped", None)
    return found if mapped is None else mapped
