"""Stores metadata in SQLite or PostgreSQL, through a connection pool that measures the time of statements."""

from __future__ import annotations

from content_server.database.base import Database, Session
from content_server.database.meter import Meter

__all__ = ["Database", "Meter", "Session", "open_database"]


def open_database(settings: str, data: str, pool: int, synchronous: bool = True) -> Database:
    """Open the database of a node.

    Parameters
    ----------
    settings : str
        `sqlite`, `sqlite:PATH`, or a PostgreSQL DSN (`postgresql://...` or `host=... dbname=...`).
    data : str
        Data directory, which contains the SQLite file `content.sqlite`.
    pool : int
        Number of connections. [1]
    synchronous : bool, default True
        True if a commit waits until the data are on disk.

    Raises
    ------
    StartError
        If the database cannot be reached.
    """
    if settings == "sqlite" or settings.startswith("sqlite:"):
        from content_server.database.sqlite import SqliteDatabase

        path = settings.removeprefix("sqlite").removeprefix(":") or f"{data}/content.sqlite"
        return SqliteDatabase(path, pool, synchronous)
    from content_server.database.postgresql import PostgresqlDatabase

    return PostgresqlDatabase(settings, pool, synchronous)
