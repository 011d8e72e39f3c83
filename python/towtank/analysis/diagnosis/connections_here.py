"""Reads the use of connections between servers of this machine. It may show full pools, locks and busy workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from towtank.analysis.system.rates import lookup
from towtank.estimates import few_digits
from towtank.results import ConnectionSeries

ALL_BUSY = 0.90
"""All connections to a server count as busy if, on average, at least this share of them is busy, in (0, 1]."""
_CONSTANT = 0.95
"""The number of connections counts as constant if its mean is at least this share of its maximum, in (0, 1]."""
_MORE_REQUESTS = 1.25
"""A pool delays requests if the number of requests in the system per connection is at least this. [1]"""
_WAIT_FOR_LOCK = 0.45
"""A lock of the database delays requests if at least this share of the busy connections waits for a lock, in (0, 1].

With two busy connections, half of them waits while the other holds the lock, so the share must be below 0.5.
"""
_QUEUED = 0.90
"""All workers of a target count as busy if connections wait to be accepted in at least this share of the samples, in
(0, 1].
"""
_LABEL = re.compile(r'(?P<name>[a-z_]+)\{(?:to|of)="(?P<server>[^"]*)"\}')


@dataclass(frozen=True)
class ServerConnections:
    """Connections of programs on this machine to a server, as means over the window.

    Attributes
    ----------
    server : str
        Name of the tier to which the connections lead.
    number, most : float
        Mean and maximum of the number of connections. [1]
    busy : float
        Number of connections on which the client waited for a response. [1]
    waiting_for_lock : float or None
        Number of connections whose statement waited for a lock of the database; None if the server does not report
        this. [1]
    sent_per_s : float or None
        Rate of segments with data that the clients sent; None if unknown, as for PostgreSQL and for connections that
        are opened for each request. [1/s]
    """

    server: str
    number: float
    most: float
    busy: float
    waiting_for_lock: float | None = None
    sent_per_s: float | None = None

    @property
    def all_are_busy(self) -> bool:
        """True if the number of connections was constant and nearly all of them were busy."""
        return self.number >= 1 and self.number >= _CONSTANT * self.most and self.busy >= ALL_BUSY * self.number

    @property
    def is_locked(self) -> bool:
        """True if a large share of the busy connections waited for a lock of the database."""
        waiting = self.waiting_for_lock or 0.0
        return self.busy > 1 and waiting >= _WAIT_FOR_LOCK * self.busy

    @property
    def text(self) -> str:
        """Number of connections and of busy connections as text."""
        return f"{few_digits(self.busy)} of {few_digits(self.number)} connections to {self.server} were busy on average"

    def holds_back(self, in_flight: float) -> bool:
        """Return True if all connections were busy while considerably more requests were in the system."""
        return self.all_are_busy and in_flight >= max(self.number + 1, _MORE_REQUESTS * self.number)


@dataclass(frozen=True)
class AcceptQueue:
    """Queue of connections to a target that waited to be accepted.

    Attributes
    ----------
    target : str
        Name of the target.
    waiting : float
        Mean number of waiting connections over the window. [1]
    in_use : float or None
        Share of the samples in which at least one connection waited, in [0, 1]; None if unknown.
    """

    target: str
    waiting: float
    in_use: float | None

    @property
    def is_long(self) -> bool:
        """True if at least one connection waited in nearly all samples."""
        return self.in_use is not None and self.in_use >= _QUEUED


def connections_of(services: Mapping[str, Any]) -> tuple[ServerConnections, ...]:
    """Return the connections to each server, from the entry `services` of a run summary."""
    return tuple(
        ServerConnections(
            server,
            number,
            most,
            busy,
            _mean(found, ConnectionSeries.WAITING_FOR_LOCK),
            lookup(found, (f"{ConnectionSeries.SENT}_total", "per_s")),
        )
        for server, found in _by_server(services).items()
        if (number := _mean(found, ConnectionSeries.CONNECTIONS)) is not None
        and (most := lookup(found, (ConnectionSeries.CONNECTIONS, "max"))) is not None
        and (busy := _mean(found, ConnectionSeries.BUSY)) is not None
    )


def accept_queues_of(services: Mapping[str, Any]) -> tuple[AcceptQueue, ...]:
    """Return the accept queue of each target on this machine, from the entry `services` of a run summary."""
    return tuple(
        AcceptQueue(target, waiting, _mean(found, ConnectionSeries.ACCEPT_QUEUE_IN_USE))
        for target, found in _by_server(services).items()
        if (waiting := _mean(found, ConnectionSeries.ACCEPT_QUEUE)) is not None
    )


def _mean(found: Mapping[str, Any], name: str) -> float | None:
    return lookup(found, (name, "mean"))


def _by_server(services: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the series about connections by name of the server, and for each server by name of the series without
    labels.
    """
    found: dict[str, dict[str, object]] = {}
    for name, server, values in _series(services):
        found.setdefault(server, {})[name] = values
    return found


def _series(services: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, values in (services.get(ConnectionSeries.STREAM) or {}).items():
        if labelled := _LABEL.fullmatch(key):
            name, server = labelled.groups()
            yield name, server, values
