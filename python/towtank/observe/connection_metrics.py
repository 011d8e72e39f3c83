"""Describes the metric series of connections between servers of this machine."""

from __future__ import annotations

from towtank.observe.metric import Table, counter, gauge
from towtank.results import ConnectionSeries

_TITLES = "`/proc/PID/cmdline`"
_SOCKETS = "`sock_diag`"
_EITHER = f"{_TITLES}, {_SOCKETS}"

CONNECTIONS_HERE = Table(
    "Connections between servers of this machine",
    f"`values` of the stream `{ConnectionSeries.STREAM}`: for servers to which a target has connections, with label "
    "`to`, and for targets, with label `of`. PostgreSQL shows the state of each connection in the title of its "
    "process. For other servers, the order of data in the clients' TCP sockets decides; Unix sockets are left out",
    "one query of the kernel for all servers, up to 1.2 ms and 2 µs for each connection; 20 µs for each process of "
    "PostgreSQL",
    (
        gauge(ConnectionSeries.CONNECTIONS, "1", _EITHER, "Connections of programs on this machine to the server"),
        gauge(
            ConnectionSeries.BUSY,
            "1",
            _EITHER,
            "Connections on which the client waits for a response, or in a transaction of PostgreSQL",
        ),
        counter(
            ConnectionSeries.SENT,
            "1",
            _SOCKETS,
            "Segments with data that clients sent on connections to the server since observing began; left out after "
            "connections were replaced by others",
        ),
        gauge(
            ConnectionSeries.WAITING_FOR_LOCK,
            "1",
            _TITLES,
            "Connections whose statement waits for a lock of the database (PostgreSQL)",
        ),
        gauge(ConnectionSeries.ACCEPT_QUEUE, "1", _SOCKETS, "Connections that wait until the target accepts them"),
        gauge(
            ConnectionSeries.ACCEPT_QUEUE_LIMIT,
            "1",
            _SOCKETS,
            "Largest number of connections that may wait to be accepted",
        ),
        gauge(
            ConnectionSeries.ACCEPT_QUEUE_IN_USE,
            "1",
            _SOCKETS,
            "1 if at least one connection waits to be accepted, else 0; the mean is the share of samples with such "
            "a connection",
        ),
    ),
)
