"""Stores metadata in an SQLite file in write-ahead mode: any number of nodes can read, and one can write at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import LifoQueue
from time import perf_counter

from content_server.database import schema
from content_server.database.base import Database, Session
from content_server.errors import StartError, Storage, UniqueViolation

# Longest time to wait until another node has finished writing. [s]
BUSY_TIMEOUT = 10.0
# Size of SQLite's page cache per connection. It is small, since the operating system also caches the file. [KiB]
CACHE_KIB = 4096


class SqliteDatabase(Database):
    """Database in an SQLite file, with `pool_size` open connections."""

    kind = "sqlite"

    def __init__(self, path: str, pool_size: int, synchronous: bool = True) -> None:
        super().__init__(pool_size)
        self.path = Path(path)
        self._synchronous = synchronous
        # With this lock, a waiting writer of this process continues as soon as another writer ends. SQLite's own lock
        # would sleep and retry.
        self._write_lock = threading.Lock()
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        try:
            self._connections = [self._connect() for _ in range(pool_size)]
        except sqlite3.Error as error:
            raise StartError(f"database {path}: cannot be opened: {error}") from error
        for connection in self._connections:
            self._idle.put(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        # FULL waits for the disk at each commit; OFF lets the operating system write the data later.
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._synchronous else 'OFF'}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA case_sensitive_like = ON")
        return connection

    def _lend(self) -> sqlite3.Connection:
        begin = perf_counter()
        connection = self._idle.get()
        self.meter.lent(perf_counter() - begin)
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._idle.put(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        with self._write_lock, self.read() as session:
            try:
                session.change("begin", "BEGIN IMMEDIATE")
                yield session
                session.change("commit", "COMMIT")
            except BaseException as error:
                if session.connection.in_transaction:
                    with suppress(sqlite3.Error):
                        session.change("rollback", "ROLLBACK")
                if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
                    raise UniqueViolation("object.name" in str(error) or "object.path" in str(error)) from error
                if isinstance(error, sqlite3.OperationalError):
                    raise Storage(f"the database did not store the change: {error}") from error
                raise

    def create_schema(self, indexes: bool = True) -> None:
        with self.write() as session:
            for statement in (*schema.SQLITE, *schema.INDEXES_SQLITE):
                session.change("schema", statement)
            for name in schema.PROPERTY_INDEXES if indexes else ():
                session.change("schema", schema.create_index(name))

    def set_index(self, name: str, present: bool) -> None:
        with self.read() as session:
            there = (
                session.row("schema", "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?", (name,))
                is not None
            )
        if there != present:
            with self.write() as session:
                session.change("schema", schema.create_index(name) if present else schema.drop_index(name))

    def is_populated(self) -> bool:
        with self.read() as session:
            return session.row("schema", "SELECT 1 FROM sqlite_master WHERE name = 'fact'") is not None

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
