"""Reads the state of each connection to a PostgreSQL server from the titles of its processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from towtank.system.own_connections import OwnConnections

_CLIENT = re.compile(r"postgres: (?:[^ ]+: )?[^ ]+ [^ ]+ (\[local\]|[^ ]+\(\d+\)) ([a-zA-Z].*)")
"""Title of a process of PostgreSQL that serves a client. It contains an optional name of the database cluster, the
user, the database, the address of the client, and the state.
"""
_REPLICA = re.compile(r"postgres: (?:[^ ]+: )?walsender .*")
"""Title of a process that sends the write-ahead log to a replica. It contains no name of a database."""
_TITLE_BYTES, _LIST_BYTES = 512, 4096


class PostgresqlConnections:
    """Connections of clients to a PostgreSQL server, except those of this process. `leader` is the id of the server's
    main process.
    """

    def __init__(self, leader: int, proc: Path, own: OwnConnections) -> None:
        self._proc, self._own = str(proc), own
        self._children = f"{proc}/{leader}/task/{leader}/children"
        self._is_own: dict[int, bool] = {}

    def states(self) -> list[str] | None:
        """Return the state of each connection: `idle`, `idle in transaction`, or the current command.

        A state ends in ` waiting` if the connection waits for a lock. The result is None if no process has a title with
        a state.
        """
        found, is_own, replicas = [], {}, False
        for pid in self._processes():
            title = _title(f"{self._proc}/{pid}/cmdline")
            if _REPLICA.fullmatch(title):
                replicas = True
            elif client := _CLIENT.fullmatch(title):
                # A process serves only one connection in its life.
                known = self._is_own.get(pid)
                is_own[pid] = self._own.leads_to(pid, client[1]) if known is None else known
                if not is_own[pid]:
                    found.append(client[2])
        self._is_own = is_own
        return found if is_own or replicas else None

    def _processes(self) -> list[int]:
        with suppress(OSError):
            return [int(pid) for pid in b"".join(_parts(self._children, _LIST_BYTES)).split()]
        return []


def _title(path: str) -> str:
    with suppress(OSError):
        for part in _parts(path, _TITLE_BYTES):
            return part.partition(b"\0")[0].rstrip(b" ").decode("utf-8", "replace")
    return ""


def _parts(path: str, size: int) -> Iterator[bytes]:
    """Yield the content of a file of the kernel in chunks of at most `size` bytes.

    System calls are used, because Python's file objects take longer than the kernel for such short files.
    """
    opened = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(opened, size):
            yield part
    finally:
        os.close(opened)
