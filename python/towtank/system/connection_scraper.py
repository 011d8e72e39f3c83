"""Counts the connections between servers of this machine, and how many of them wait for a response.

A pool of connections that shows no metrics is at its limit if its connections are always busy while requests wait. The
processes of PostgreSQL have the state of their connection in their title. For other servers, the kernel reports when
the socket of a client last sent and last received data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from towtank.observe import ScrapeError, series_name
from towtank.results import ConnectionSeries
from towtank.system.listeners import listening_in
from towtank.system.sock_diag import ClientSocket, accept_queues, clients_of

_PROC = Path("/proc")
_TITLE = re.compile(r"postgres: (?:[^ ]+: )?[^ ]+ [^ ]+ (?:\[local\]|[^ ]+\(\d+\)) ([a-zA-Z].*)")
"""Title of a process of PostgreSQL that serves a client: optional name of the database cluster, user, database, address
of the client, state.
"""
Socket = TypeVar("Socket")
_IDLE, _WAITS = "idle", " waiting"
_TITLE_BYTES = 512


@dataclass(frozen=True)
class _Server:
    """Server with its TCP ports. `leader` is the process id of PostgreSQL's main process, if the server is
    PostgreSQL.
    """

    root: int
    ports: frozenset[int]
    leader: int | None


@dataclass
class _Exchanges:
    """Requests and responses of one connection, counted by segments with data.

    If each request and each response is one segment, the number of segments sent less the number received is one higher
    while the client waits. `idle` is this difference for an idle connection, as far as it is known.
    """

    idle: int
    raised: int = 0

    def waits(self, client: ClientSocket) -> bool:
        """Return True if the client waits for a response. Responses of several segments let a client count as idle, and
        requests of several segments make the connection unusable.
        """
        difference = client.segments_sent - client.segments_received
        if difference > self.idle + 1:
            self.idle, self.raised = difference - 1, self.raised + 1
        self.idle = min(self.idle, difference)
        return difference > self.idle and self.raised <= _RAISED_AT_MOST


class _Segments:
    """Segments with data that clients sent to a server."""

    def __init__(self) -> None:
        self._known: dict[str, int] | None = None
        self._total: int | None = 0

    def sent(self, clients: list[ClientSocket]) -> int | None:
        """Return the number of segments since the first call; None after connections were replaced by others, because
        further connections may have been opened and closed between two calls. [1]
        """
        now = {client.inode: client.segments_sent for client in clients}
        before = now if self._known is None else self._known
        if before.keys() - now.keys() and now.keys() - before.keys():
            self._total = None
        if self._total is not None:
            self._total += sum(max(0, segments - before.get(inode, 0)) for inode, segments in now.items())
        self._known = now
        return self._total


_RAISED_AT_MOST = 2
"""Largest number of corrections after which `_Exchanges` still counts as reliable. [1]"""


class ConnectionScraper:
    """Scraper of the connections to servers of this machine.

    Parameters
    ----------
    servers : callable
        Function that returns the root process of each observed server by name. Servers may be added during the run.
    targets : collection of int
        Ports of the targets. A server that listens on one of them is a target: the generator has connections to it, and
        only its accept queue is read.
    proc : Path
        Folder of the kernel's process files.
    """

    service, kind, source = ConnectionSeries.STREAM, "connections", "sock_diag"

    def __init__(self, servers: Callable[[], Mapping[str, int]], targets: Collection[int], proc: Path = _PROC) -> None:
        self._servers, self._targets, self._proc = servers, frozenset(targets), proc
        self._known: dict[str, _Server] = {}
        self._exchanges: dict[str, _Exchanges] = {}
        self._segments: dict[str, _Segments] = {}

    def scrape(self) -> dict[str, float]:
        """Return the series of all servers at this time; see `ConnectionSeries`."""
        found: dict[str, float] = {}
        for name, root in self._servers().items():
            server = self._known.get(name)
            if server is None or server.root != root:
                server = self._known[name] = self._look(root)
            if server.ports & self._targets:
                found |= self._of_target(name, server)
            else:
                found |= self._of_server(name, server)
        return found

    def close(self) -> None:
        """Do nothing, because nothing stays open between two readings."""

    def _look(self, root: int) -> _Server:
        ports, pids = listening_in(root, self._proc)
        leader = next((pid for pid in pids if _comm(pid, self._proc) in ("postgres", "postmaster")), None)
        return _Server(root, frozenset(ports), leader)

    def _of_target(self, name: str, server: _Server) -> dict[str, float]:
        queues = [queue for port in server.ports & self._targets for queue in _reported(accept_queues(port))]
        if not queues:
            return {}
        return {
            series_name(ConnectionSeries.ACCEPT_QUEUE, of=name): float(sum(waiting for waiting, _ in queues)),
            series_name(ConnectionSeries.ACCEPT_QUEUE_LIMIT, of=name): float(sum(limit for _, limit in queues)),
        }

    def _of_server(self, name: str, server: _Server) -> dict[str, float]:
        states = list(_states(server.leader, self._proc)) if server.leader is not None else []
        if states:
            busy = sum(state != _IDLE for state in states)
            waiting = sum(state.endswith(_WAITS) for state in states)
            locks = {series_name(ConnectionSeries.WAITING_FOR_LOCK, to=name): float(waiting)}
            return {**_counts(name, len(states), busy), **locks}
        own = _own_sockets(self._proc)
        clients = [client for port in server.ports for client in _reported(clients_of(port)) if client.inode not in own]
        if not clients:
            return {}
        sent = self._segments.setdefault(name, _Segments()).sent(clients)
        total = {} if sent is None else {series_name(f"{ConnectionSeries.SENT}_total", to=name): float(sent)}
        return _counts(name, len(clients), sum(map(self._waits, clients))) | total

    def _waits(self, client: ClientSocket) -> bool:
        """Return True if a client waits for a response. The order of its segments decides; their number decides if the
        order is unknown.
        """
        difference = client.segments_sent - client.segments_received
        by_number = self._exchanges.setdefault(client.inode, _Exchanges(difference)).waits(client)
        return by_number if client.waits is None else client.waits


def _counts(name: str, connections: int, busy: int) -> dict[str, float]:
    counted = {ConnectionSeries.CONNECTIONS: connections, ConnectionSeries.BUSY: busy}
    return {series_name(key, to=name): float(value) for key, value in counted.items()}


def _reported(answer: list[Socket] | None) -> list[Socket]:
    if answer is None:
        raise ScrapeError("the kernel does not report sockets")
    return answer


def _states(leader: int, proc: Path) -> Iterator[str]:
    """Yield the state of each connection of a PostgreSQL server, from the titles of its processes: `idle`,
    `idle in transaction`, or the statement, with ` waiting` if it waits for a lock.
    """
    with suppress(OSError):
        for pid in (proc / f"{leader}/task/{leader}/children").read_text().split():
            with suppress(OSError), (proc / pid / "cmdline").open("rb") as stream:
                title = stream.read(_TITLE_BYTES).rstrip(b"\0 ").decode("utf-8", "replace")
                if found := _TITLE.fullmatch(title):
                    yield str(found[1])


def _own_sockets(proc: Path) -> set[str]:
    """Return the inodes of the sockets of this process, whose connections to a server do not belong to the system."""
    links = set()
    with suppress(OSError):
        for path in (proc / "self/fd").iterdir():
            with suppress(OSError):
                links.add(str(path.readlink()))
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def _comm(pid: int, proc: Path) -> str:
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text().strip()
    return ""
