"""Counts the connections between servers of this machine, and how many of them wait for a response.

A pool of connections that shows no metrics is at its limit if its connections are always busy while requests wait. The
processes of PostgreSQL have the state of their connection in their title. For other servers, the kernel reports when
the socket of a client last sent and last received data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from towtank.observe import ScrapeError, series_name
from towtank.results import ConnectionSeries
from towtank.system.listeners import listening_in
from towtank.system.own_connections import OwnConnections
from towtank.system.postgresql_connections import PostgresqlConnections
from towtank.system.sock_diag import ClientSocket, accept_queues, clients_of

_PROC = Path("/proc")
_IDLE, _WAITS = "idle", " waiting"
_ONE_WAY_MS, _ONE_WAY_READINGS = 10_000, 2
"""A connection is used in one direction only, and counts as idle, if no data was received for `_ONE_WAY_MS`, while the
client sent data in at least `_ONE_WAY_READINGS` intervals between readings. A request is sent in one interval, and its
response may take longer. [ms], [1]
"""
Answer = TypeVar("Answer")


@dataclass
class _Server:
    """Server with its TCP ports, and its connections if it is PostgreSQL.

    A server without ports is looked at again after `pause` readings, which doubles each time. `left` counts the
    readings.
    """

    root: int
    ports: frozenset[int]
    titles: PostgresqlConnections | None
    pause: int = 1
    left: int = 1

    def is_due(self) -> bool:
        """Return True if the server had neither ports nor titles, and its pause has ended."""
        self.left -= 1
        return not self.ports and self.titles is None and self.left <= 0


@dataclass
class _Exchanges:
    """Requests and responses of one connection, counted by segments with data.

    If each request and each response is one segment, the number of segments sent less the number received is one higher
    while the client waits. `idle` is this difference for an idle connection, as far as it is known. `unanswered` is the
    number of intervals between readings in which the client sent data, since data was last received.
    """

    idle: int
    raised: int = 0
    unanswered: int = 0
    sent: int | None = None
    received: int | None = None

    @classmethod
    def since(cls, client: ClientSocket) -> _Exchanges:
        """Return the state of a connection that is read for the first time."""
        return cls(client.segments_sent - client.segments_received)

    def waits(self, client: ClientSocket) -> bool:
        """Return True if the client waits for a response. The order of its segments decides; their number decides if
        the order is unknown.
        """
        by_number = self._waits_by_number(client)
        if self._is_one_way(client):
            return False
        return by_number if client.waits is None else client.waits

    def _waits_by_number(self, client: ClientSocket) -> bool:
        """Return True if the number of segments shows that the client waits. Responses of several segments let a client
        count as idle, and requests of several segments make the connection unusable.
        """
        difference = client.segments_sent - client.segments_received
        if difference > self.idle + 1:
            self.idle, self.raised = difference - 1, self.raised + 1
        self.idle = min(self.idle, difference)
        return difference > self.idle and self.raised <= _RAISED_AT_MOST

    def _is_one_way(self, client: ClientSocket) -> bool:
        if client.segments_received != self.received:
            self.unanswered = 0
        elif client.segments_sent != self.sent:
            self.unanswered += 1
        self.sent, self.received = client.segments_sent, client.segments_received
        return client.received_ms > _ONE_WAY_MS and self.unanswered >= _ONE_WAY_READINGS


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
        self._own = OwnConnections(proc)
        self._known: dict[str, _Server] = {}
        self._is_own: dict[str, bool] = {}
        self._exchanges: dict[str, _Exchanges] = {}
        self._segments: dict[str, _Segments] = {}

    def scrape(self) -> dict[str, float]:
        """Return the series of all servers at this time; see `ConnectionSeries`."""
        found: dict[str, float] = {}
        by_sockets: dict[str, _Server] = {}
        for name, root in self._servers().items():
            server = self._server(name, root)
            if server.ports & self._targets:
                found |= self._of_target(name, server)
            elif server.titles is None or (states := server.titles.states()) is None:
                by_sockets[name] = server
            elif states:
                found |= _of_states(name, states)
        return found | self._of_sockets(by_sockets)

    def close(self) -> None:
        """Do nothing, because nothing stays open between two readings."""

    def _server(self, name: str, root: int) -> _Server:
        """Return a server. It is looked at if its root process is new, or if it had no ports and its pause ended."""
        known = self._known.get(name)
        if known is None or known.root != root:
            self._known[name] = self._look(root, 1)
        elif known.is_due():
            self._known[name] = self._look(root, 2 * known.pause)
        return self._known[name]

    def _look(self, root: int, pause: int) -> _Server:
        ports, pids = listening_in(root, self._proc)
        leader = next((pid for pid in pids if _comm(pid, self._proc) in ("postgres", "postmaster")), None)
        titles = None if leader is None else PostgresqlConnections(leader, self._proc, self._own)
        return _Server(root, frozenset(ports), titles, pause, pause)

    def _of_target(self, name: str, server: _Server) -> dict[str, float]:
        queues = _reported(accept_queues(server.ports & self._targets))
        if not queues:
            return {}
        waiting, limit = (float(sum(numbers)) for numbers in zip(*queues, strict=True))
        return {
            series_name(ConnectionSeries.ACCEPT_QUEUE, of=name): waiting,
            series_name(ConnectionSeries.ACCEPT_QUEUE_LIMIT, of=name): limit,
            series_name(ConnectionSeries.ACCEPT_QUEUE_IN_USE, of=name): float(waiting >= 1),
        }

    def _of_sockets(self, servers: Mapping[str, _Server]) -> dict[str, float]:
        """Return the series of servers whose connections are known only as sockets of their clients."""
        by_port = _reported(clients_of({port for server in servers.values() for port in server.ports}))
        clients = {client.inode: client for found in by_port.values() for client in found}
        self._forget_others(clients)
        found: dict[str, float] = {}
        for name, server in servers.items():
            of_server = [client for port in server.ports for client in by_port.get(port, ())]
            of_system = [client for client in of_server if not self._is_own[client.inode]]
            if of_system:
                sent = self._segments.setdefault(name, _Segments()).sent(of_system)
                total = {} if sent is None else {series_name(f"{ConnectionSeries.SENT}_total", to=name): float(sent)}
                busy = sum(self._exchanges[client.inode].waits(client) for client in of_system)
                found |= _counts(name, len(of_system), busy) | total
        return found

    def _forget_others(self, clients: Mapping[str, ClientSocket]) -> None:
        """Keep only the connections that still exist, because the kernel uses their inodes again, and add new ones."""
        own = self._own.inodes() if clients.keys() - self._is_own.keys() else set()
        self._is_own = {inode: self._is_own.get(inode, inode in own) for inode in clients}
        self._exchanges = {
            inode: self._exchanges.get(inode) or _Exchanges.since(client) for inode, client in clients.items()
        }


def _of_states(name: str, states: Collection[str]) -> dict[str, float]:
    """Return the series of a PostgreSQL server, from the states of its connections."""
    busy = sum(state != _IDLE for state in states)
    waiting = sum(state.endswith(_WAITS) for state in states)
    locks = {series_name(ConnectionSeries.WAITING_FOR_LOCK, to=name): float(waiting)}
    return {**_counts(name, len(states), busy), **locks}


def _counts(name: str, connections: int, busy: int) -> dict[str, float]:
    counted = {ConnectionSeries.CONNECTIONS: connections, ConnectionSeries.BUSY: busy}
    return {series_name(key, to=name): float(value) for key, value in counted.items()}


def _reported(answer: Answer | None) -> Answer:
    if answer is None:
        raise ScrapeError("the kernel does not report sockets")
    return answer


def _comm(pid: int, proc: Path) -> str:
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text().strip()
    return ""
