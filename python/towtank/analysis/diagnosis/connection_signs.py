"""Finds signs of a limit in the connections between servers of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.diagnosis.answer import Cause, Place
from towtank.analysis.diagnosis.connections_here import ServerConnections
from towtank.analysis.diagnosis.seen import Seen
from towtank.analysis.diagnosis.sign import WEAK, Sign
from towtank.estimates import few_digits

_RARELY = 0.25
"""Smallest number of segments with data that clients send to a server per transaction, if most transactions use this
server. [1]

A request consists of at least one segment, unless several requests are sent together.
"""
_LIKELY = 0.7
"""Degree of belief in a pool of which all connections are busy, in (0, 1). The server behind the pool may also be the
cause.
"""


def database_locks(seen: Seen) -> Iterator[Sign]:
    """Yield a sign for each database in which statements wait for locks."""
    for found in seen.connections:
        if found.is_locked:
            text = (
                f"{few_digits(found.waiting_for_lock or 0.0)} of {few_digits(found.number)} connections to "
                f"{found.server} wait for a lock of the database on average"
            )
            settle = "find the statement that holds the lock (in PostgreSQL `pg_locks`), and shorten its transaction"
            yield Sign(Cause.LOCK, Place(found.server, part="lock of the database"), 0.9, (text,), settle)


def full_connections(seen: Seen) -> Iterator[Sign]:
    """Yield a sign for each server with a pool whose connections are all busy while more requests are in the system."""
    for found in seen.connections:
        if not found.holds_back(seen.in_flight) or found.is_locked or _rarely_used(found, seen):
            continue
        number = few_digits(found.number)
        text = (
            f"all of the {number} connections to {found.server} are busy ({few_digits(found.busy)} on average), "
            f"while {few_digits(seen.in_flight)} requests are in the system"
        )
        place = Place(seen.target, part=f"connections to {found.server}")
        shared = found.number < 2
        against = ("several requests may share a single connection at the same time",) if shared else ()
        yield Sign(Cause.POOL, place, WEAK if shared else _LIKELY, (text,), _settle(found, seen), against)


def _settle(found: ServerConnections, seen: Seen) -> str:
    occupied = occupied_s(found, seen)
    taken = "" if occupied is None else f", where it occupies a connection for {few_digits(1e3 * occupied)} ms"
    return (
        f"enlarge the pool and repeat: throughput rises if this is the cause; if requests then take longer in "
        f"{found.server}{taken}, {found.server} is the limit"
    )


def occupied_s(found: ServerConnections, seen: Seen) -> float | None:
    """Return the time per transaction for which connections to a server are occupied, by Little's law; None if there is
    no throughput. [s]
    """
    return found.busy / seen.throughput if seen.throughput else None


def long_accept_queues(seen: Seen) -> Iterator[Sign]:
    """Yield a sign for each target at which connections wait until a worker accepts them."""
    for queue in seen.accept_queues:
        if not queue.is_long:
            continue
        text = f"{few_digits(queue.waiting)} connections wait on average until {queue.target} accepts them"
        tier = next((tier for tier in seen.tiers if tier.name == queue.target and tier.has_no_file_left), None)
        if tier is not None:
            limit = f"{few_digits(tier.open_files_limit or 0.0, 6)} open files (sockets are files) in one process"
            texts = (f"{tier.name} is at its limit of {limit}", text)
            settle = "raise this limit (`ulimit -n`, `LimitNOFILE` of a unit) and repeat: the connections are accepted"
            yield Sign(Cause.POOL, Place(tier.name, tier.host, part="open files"), 0.9, texts, settle)
        else:
            settle = f"add workers to {queue.target}, or find what occupies them: throughput rises if this is the cause"
            yield Sign(Cause.POOL, Place(queue.target, part="workers that accept connections"), 0.7, (text,), settle)


def spare_connections(seen: Seen) -> tuple[str, ...]:
    """Return a sentence for each server whose connections do not limit the system, because some of them were idle or
    because most transactions do not use the server.
    """
    spare = [found.text for found in seen.connections if not found.all_are_busy]
    return (*spare, *(text for found in seen.connections if found.all_are_busy and (text := _rarely_used(found, seen))))


def _rarely_used(found: ServerConnections, seen: Seen) -> str | None:
    """Return the evidence that most transactions do not use a server; None if there is no such evidence.

    Clients that wait for messages of a server, such as consumers of a queue, keep their connections busy without load.
    """
    sent, throughput = found.sent_per_s, seen.throughput
    if sent is None or not throughput or sent >= _RARELY * throughput:
        return None
    return (
        f"clients wait on all connections to {found.server}, but most transactions do not use it: {few_digits(sent)} "
        f"segments per second are sent to it, at a throughput of {few_digits(throughput)} /s"
    )
