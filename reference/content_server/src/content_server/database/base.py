"""Base class of the SQLite and the PostgreSQL database, and the session through which statements are executed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from content_server.database.meter import Meter, Timed

Row = tuple[Any, ...]


class Session:
    """Database connection that is borrowed from the pool.

    SQL text contains a `?` for each value, and the values are passed in `parameters`.
    """

    def __init__(self, connection: Any, meter: Meter, percent: bool) -> None:
        self.connection = connection
        self._meter = meter
        self._percent = percent

    def rows(self, kind: str, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement and return all rows.

        The elapsed time is added to the total of statements of this `kind` in the metrics.
        """
        if self._percent:
            sql = sql.replace("?", "%s")
        with Timed(self._meter, kind):
            cursor = self.connection.execute(sql, parameters)
            return list(cursor.fetchall()) if cursor.description is not None else []

    def row(self, kind: str, sql: str, parameters: Sequence[Any] = ()) -> Row | None:
        """Execute a statement and return the first row; None if there are no rows."""
        found = self.rows(kind, sql, parameters)
        return found[0] if found else None

    def change(self, kind: str, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement that changes rows, and return the number of changed rows."""
        if self._percent:
            sql = sql.replace("?", "%s")
        with Timed(self._meter, kind):
            return int(self.connection.execute(sql, parameters).rowcount)

    def many(self, kind: str, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement once for each row of parameters."""
        if self._percent:
            sql = sql.replace("?", "%s")
        with Timed(self._meter, kind):
            cursor = self.connection.cursor()
            cursor.executemany(sql, rows)
            cursor.close()


class Database(ABC):
    """Pool of connections to a database with the tables of `schema`.

    Attributes
    ----------
    kind : str
        `sqlite` or `postgresql`; their SQL differs only in full-text search.
    pool_size : int
        Number of connections. [1]
    meter : Meter
        Counters of time and of connections in use.
    """

    kind: str

    def __init__(self, pool_size: int) -> None:
        self.pool_size = pool_size
        self.meter = Meter()

    @abstractmethod
    def _lend(self) -> Any: ...

    @abstractmethod
    def _give_back(self, connection: Any) -> None: ...

    @abstractmethod
    def create_schema(self, indexes: bool = True) -> None:
        """Create the tables and, by default, the indexes of `schema.PROPERTY_INDEXES`, unless they exist."""

    @abstractmethod
    def set_index(self, name: str, present: bool) -> None:
        """Create a property index, or drop it if `present` is false; do nothing if this was done before."""

    @abstractmethod
    def is_populated(self) -> bool:
        """Return True if the tables of the database exist, even if they are empty."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections to the database."""

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session in which every statement is a separate transaction."""
        connection = self._lend()
        try:
            yield Session(connection, self.meter, self.kind == "postgresql")
        finally:
            self.meter.returned()
            self._give_back(connection)

    @contextmanager
    @abstractmethod
    def write(self) -> Iterator[Session]:
        """Yield a session with one transaction, which is committed at the end of the block, or rolled back on an
        exception.

        Raises
        ------
        UniqueViolation
            If a unique index refused a row.
        Storage
            If the database is locked for too long, or its disk is full.
        """
        yield NotImplemented
