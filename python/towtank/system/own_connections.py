"""Finds the connections of Towtank itself to servers of this machine, which are not part of the observed load."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from towtank.system.sock_diag import TcpSocket, UnixSocket, tcp_sockets, unix_sockets

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_TCP_CLIENT = re.compile(r"[^ ]+\((\d+)\)")


class OwnConnections:
    """Connections of this process, such as that over which it reads the statistics of PostgreSQL."""

    def __init__(
        self,
        proc: Path,
        tcp: Callable[[], Iterable[TcpSocket] | None] = tcp_sockets,
        unix: Callable[[], Iterable[UnixSocket]] = unix_sockets,
    ) -> None:
        self._proc, self._tcp, self._unix = proc, tcp, unix

    def inodes(self, pid: int | str = "self") -> set[str]:
        """Return the inodes of the sockets that a process has open; empty if they are not visible."""
        found = set()
        with suppress(OSError):
            for path in (self._proc / str(pid) / "fd").iterdir():
                with suppress(OSError):
                    if socket := _SOCKET.fullmatch(str(path.readlink())):
                        found.add(socket[1])
        return found

    def leads_to(self, pid: int, client: str) -> bool:
        """Return True if the process of PostgreSQL that serves a single connection serves one of this process. `client`
        is the address as PostgreSQL writes it: `HOST(PORT)`, or `[local]` for a Unix socket.
        """
        own = self.inodes()
        if tcp := _TCP_CLIENT.fullmatch(client):
            port = int(tcp[1])
            return any(each.inode in own and not each.listens and each.own[1] == port for each in self._tcp() or ())
        peers = {each.peer for each in self._unix() if each.inode in own}
        return not peers.isdisjoint(self.inodes(pid))
