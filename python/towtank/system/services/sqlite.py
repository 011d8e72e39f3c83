"""Creates an SQLite database file for each run, which the engine opens without a server."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from towtank.errors import TargetError
from towtank.system import sql_models
from towtank.system.service import Place, Service
from towtank.system.services.sql_script import filled_script

_PREFIX = "towtank-sqlite-"


class Sqlite(Service):
    """SQLite database, created for each run."""

    kind = "sqlite"

    def __init__(self, name: str, part: sql_models.Sqlite, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base

    @property
    def path(self) -> Path:
        """Path of the database file.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        return self.folder / "data.db"

    def prepare(self, place: Place) -> None:
        """Create the database file with its population, and empty the write-ahead log, so that all runs begin
        equally.
        """
        # The engine opens the file outside the host, by the path that is valid for this process.
        base = place.scratch if self._part.disk is None else self.host.outside(self.host.disk(self._part.disk))
        self._folder = base / f"{_PREFIX}{secrets.token_hex(4)}"
        self._folder.mkdir(parents=True)
        script = filled_script(self.name, self._part.population, self._base)
        given = self._part.settings
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
                database.execute(f"PRAGMA page_size = {given.page}")
                database.execute("PRAGMA synchronous = off")
                database.execute(f"PRAGMA journal_mode = {given.journal}")
                database.executescript(script)
                database.execute("PRAGMA wal_checkpoint(truncate)")
        except sqlite3.Error as error:
            raise TargetError(f"{self.name}: its population could not be created: {error}") from error

    def stopped(self) -> None:
        """Remove the folder with the database file."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def addresses(self) -> list[str]:
        """Return the URL of the database file, with the settings of each session."""
        given = self._part.settings
        cache = "" if given.cache is None else f"&cache={given.cache}B"
        return [f"sqlite://{quote(str(self.path))}?synchronous={given.synchronous}{cache}"]

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the database file and its sessions, and the version of the SQLite library."""
        return {**self._part.settings.model_dump(mode="json"), "library": sqlite3.sqlite_version}
