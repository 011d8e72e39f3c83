"""Stores metadata in PostgreSQL, through psycopg and its connection pool."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from content_server.database import schema
from content_server.database.base import Database, Session
from content_server.errors import StartError, Storage, UniqueViolation, UpdateConflict

# Time limit to connect to PostgreSQL when a node starts. [s]
CONNECT_TIMEOUT = 5.0
# Key of the PostgreSQL advisory lock with which only one of several starting nodes creates the tables.
_SCHEMA_LOCK = 7_261_934


class PostgresqlDatabase(Database):
    """Pool of `pool_size` connections to one PostgreSQL database."""

    kind = "postgresql"

    def __init__(self, dsn: str, pool_size: int, synchronous: bool = True) -> None:
        super().__init__(pool_size)
        try:
            import psycopg
            from psycopg_pool import ConnectionPool, PoolTimeout
        except ImportError as error:
            raise StartError(
                f"database: {error.name} is not installed; {sys.executable} -m pip install 'psycopg[binary]'"
            ) from error
        self._psycopg = psycopg
        options = "" if synchronous else "-c synchronous_commit=off"
        try:
            # A single connection is opened first, because its error states the cause of a failure, whereas the pool
            # would only report a timeout.
            psycopg.connect(dsn, connect_timeout=int(CONNECT_TIMEOUT)).close()
            self._pool = ConnectionPool(
                dsn,
                min_size=pool_size,
                max_size=pool_size,
                open=True,
                kwargs={"autocommit": True, "options": options},
            )
            self._pool.wait(CONNECT_TIMEOUT)
        except (psycopg.Error, PoolTimeout) as error:
            raise StartError(f"database: cannot be reached: {' '.join(str(error).split())}") from error

    def _lend(self) -> Any:
        begin = perf_counter()
        try:
            connection = self._pool.getconn()
        except self._psycopg.Error as error:
            raise Storage(f"the database pool has no free connection: {error}") from error
        self.meter.lent(perf_counter() - begin)
        return connection

    def _give_back(self, connection: Any) -> None:
        self._pool.putconn(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        with self.read() as session:
            try:
                session.change("begin", "BEGIN")
                yield session
                session.change("commit", "COMMIT")
            except BaseException as error:
                with contextlib.suppress(self._psycopg.Error):
                    session.change("rollback", "ROLLBACK")
                if isinstance(error, self._psycopg.errors.UniqueViolation):
                    raise UniqueViolation(error.diag.constraint_name in ("object_name", "object_path")) from error
                if isinstance(error, self._psycopg.errors.ForeignKeyViolation):
                    raise UpdateConflict("another user changed the folder at the same time") from error
                if isinstance(error, self._psycopg.OperationalError):
                    raise Storage(f"the database did not store the change: {error}") from error
                raise

    def create_schema(self, indexes: bool = True) -> None:
        with self.write() as session:
            session.rows("schema", "SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))
            for statement in (*schema.POSTGRESQL, *schema.INDEXES_POSTGRESQL):
                session.change("schema", statement)
            for name in schema.PROPERTY_INDEXES if indexes else ():
                session.change("schema", schema.create_index(name))

    def set_index(self, name: str, present: bool) -> None:
        with self.write() as session:
            session.rows("schema", "SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))
            session.change("schema", schema.create_index(name) if present else schema.drop_index(name))

    def is_populated(self) -> bool:
        with self.read() as session:
            return session.row("schema", "SELECT to_regclass('fact')") != (None,)

    def close(self) -> None:
        self._pool.close()
