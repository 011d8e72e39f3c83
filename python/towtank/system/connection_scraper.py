"""Counts the connections between servers of this machine, and how many of them wait for a response.

The counts show if a pool of connections without metrics is at its limit: all its connections are then busy while
requests wait. PostgreSQL shows the state of a connection in the title of a process. For other servers, the kernel
reports when the socket of a client last sent and last received data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from towtank.observe import ScrapeError, series_name
from towtank.results import ConnectionSeries
from towtank.system.listeners import command_name, listening_in
from towtank.system.own_connections import OwnConnections
from towtank.system.postgresql_connections import PostgresqlConnections
from towtank.system.sock_diag import ClientSocket, accept_queues, clients_of

_PROC = Path("/proc")
_IDLE, _WAITS = "idle", " waiting"
_ONE_WAY_MS, _ONE_WAY_READINGS = 10_000, 2
"""Rule for connections on which clients only send. Such a connection counts as idle.

The rule applies if no data was received for `_ONE_WAY_MS` [ms], and the client sent data in at least
`_ONE_WAY_READINGS` intervals between readings [1]. A request, whose response may take long, is sent in one interval.
"""
Answer = TypeVar("Answer")


@dataclass
class _Server:
    """Server, with its TCP ports, and a reader of its connections if it is PostgreSQL.

    A server without known ports and without such a reader is looked up again after `pause` readings; `pause` doubles
    each time. `left` is the number of readings that remain until then.
    """

    root: int
    ports: frozenset[int]
    titles: PostgresqlConnections | None
    pause: int = 1
    left: int = 1

    def is_due(self) -> bool:
        """Count down by one reading. Return True if the countdown has ended and the server must be looked up again,
        because neither its ports nor a reader of its connections are known.
        """
        self.left -= 1
        return not self.ports and self.titles is None and self.left <= 0


@dataclass
class _Exchanges:
    """Requests and responses of one connection, counted by TCP segments with data.

    Assume that each request and each response is one segment. The number of segments sent minus the number received is
    then larger by one while the client waits for a response.

    Attributes
    ----------
    idle : int
        Estimate of this difference for an idle connection. [1]
    raised : int
        Number of times that `idle` was increased because the difference was too large. [1]
    unanswered : int
        Number of intervals between readings in which the client sent data, since it last received data. [1]
    sent, received : int or None
        Numbers of segments at the last reading; None before the first reading. [1]
    """

    idle: int
    raised: int = 0
    unanswered: int = 0
    sent: int | None = None
    received: int | None = None

    @classmethod
    def since(cls, client: ClientSocket) -> _Exchanges:
        """Return the state of a connection at its first reading."""
        return cls(client.segments_sent - client.segments_received)

    def waits(self, client: ClientSocket) -> bool:
        """Return True if the client waits for a response, that is, if it last sent data rather than received data. If
        this is unknown, the numbers of segments are compared. A connection on which clients only send never waits.
        """
        by_number = self._waits_by_number(client)
        if self._is_one_way(client):
            return False
        return by_number if client.waits is None else client.waits

    def _waits_by_number(self, client: ClientSocket) -> bool:
        """Return True if the client waits for a response, judging by the numbers of segments.

        After a response of several segments, the result is False even if the client waits. After several requests of
        several segments each, the result is always False.
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
    """Number of segments with data that clients sent to a server."""

    def __init__(self) -> None:
        self._known: dict[str, int] | None = None
        self._total: int | None = 0

    def sent(self, clients: list[ClientSocket]) -> int | None:
        """Return the number of segments since the first call. [1]

        The number is None once connections were replaced by new ones, because other connections may then have been
        opened and closed between two calls.
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
"""Largest number of increases of `_Exchanges.idle` up to which numbers of segments show if a client waits. [1]"""


class ConnectionScraper:
    """Scraper of the connections to servers of this machine.

    Parameters
    ----------
    servers : callable
        Function that returns the root process id of each observed server, by name. Servers may be added during the
        run.
    targets : collection of int
        Ports of the targets of the load. Of a server that listens on one of them, only the accept queue is read,
        because its clients include the generator.
    proc : Path
        Folder `/proc`; tests pass another folder.
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
        """Return the current values of the series in `ConnectionSeries`, for all servers."""
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
        """Do nothing, because nothing stays open between scrapes."""

    def _server(self, name: str, root: int) -> _Server:
        """Return a server; look it up first if its root process is new, or if `is_due` returns True."""
        known = self._known.get(name)
        if known is None or known.root != root:
            self._known[name] = self._look(root, 1)
        elif known.is_due():
            self._known[name] = self._look(root, 2 * known.pause)
        return self._known[name]

    def _look(self, root: int, pause: int) -> _Server:
        ports, pids = listening_in(root, self._proc)
        leader = next((pid for pid in pids if command_name(pid, self._proc) in ("postgres", "postmaster")), None)
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
        """Return the series of servers whose connections are known only from the sockets of their clients."""
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
        """Forget connections that no longer exist, because the kernel reuses inodes, and add new connections."""
        own = self._own.inodes() if clients.keys() - self._is_own.keys() else set()
        self._is_own = {inode: self._is_own.get(inode, inode in own) for inode in clients}
        self._exchanges = {
            inode: self._exchanges.get(inode) or _Exchanges.since(client) for inode, client in clients.items()
        }


def _of_states(name: str, states: Collection[str]) -> dict[str, float]:
    """Return the series of a PostgreSQL server from the states of its connections."""
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
