"""Reads the file sizes and the numbers of pages of an SQLite database.

SQLite keeps no statistics that another process could read. The few metrics come from `stat` and from three pragmas over
a read-only connection. The connection has no open transaction, so it neither delays writers nor prevents a checkpoint
from finishing.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from towtank.observe.scraper import ScrapeError

_BUSY_TIMEOUT_S = 0.2
_PRAGMAS = {
    "sqlite_pages": "PRAGMA page_count",
    "sqlite_page_bytes": "PRAGMA page_size",
    "sqlite_free_pages": "PRAGMA freelist_count",
}


class SqliteScraper:
    """Scraper of one SQLite database file, which may be created later."""

    source = "sqlite"

    def __init__(self, service: str, path: Path, kind: str = "sqlite") -> None:
        self.service, self.kind, self.path = service, kind, path.absolute()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def scrape(self) -> dict[str, float]:
        """Read the sizes of the database's files and the values of three pragmas; return the numbers by series name."""
        try:
            status = self.path.stat()
            values = {"sqlite_database_bytes": float(status.st_size)}
            log = self.path.with_name(self.path.name + "-wal")
            if log.exists():
                values["sqlite_wal_bytes"] = float(log.stat().st_size)
            connection = self._connect((status.st_dev, status.st_ino))
            for name, pragma in _PRAGMAS.items():
                values[name] = float(connection.execute(pragma).fetchone()[0])
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise ScrapeError(f"{self.path.name}: {error}") from error
        return values

    def close(self) -> None:
        """Close the connection to the database; the next scrape opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._identity = None

    def _connect(self, identity: tuple[int, int]) -> sqlite3.Connection:
        """Return the connection to the database; open the database again if its file was replaced."""
        if self._connection is None or identity != self._identity:
            self.close()
            self._connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None
            )
            self._identity = identity
        return self._connection
