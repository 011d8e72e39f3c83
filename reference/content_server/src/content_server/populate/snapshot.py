"""Stores a snapshot of the complete population, and restores it before each run.

With SQLite, the snapshot is a copy of the database file. With PostgreSQL, it consists of copies of the tables in the
schema `populated`. The server never removes content files of the population (see `storage.is_populated`), so `reset`
only has to remove the files that runs added.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from content_server.database import Database, open_database, schema
from content_server.errors import StartError
from content_server.serve import data_lock
from content_server.settings import Settings
from content_server.storage import StorageArea, is_populated

_FACT = "population"
_SHADOWED = ("object", "property", "fulltext", "fact")


def _sqlite_path(settings: Settings) -> Path | None:
    if settings.database == "sqlite" or settings.database.startswith("sqlite:"):
        return Path(settings.database.removeprefix("sqlite").removeprefix(":") or settings.data / "content.sqlite")
    return None


def _copy_path(path: Path) -> Path:
    return path.with_name(path.name + ".populated")


def _remove_sqlite(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def population_of(settings: Settings) -> tuple[str, str] | None:
    """Return the parameters of the population and its state, `complete` or `partial`; None without a population.

    Raises
    ------
    StartError
        If the repository contains documents that were not generated.
    """
    path = _sqlite_path(settings)
    if path is not None and not path.exists():
        return None
    database = open_database(settings.database, str(settings.data), 1)
    try:
        if not database.is_populated():
            return None
        with database.read() as session:
            facts: dict[str, str] = dict(session.rows("facts", "SELECT name, value FROM fact"))
            if _FACT in facts:
                return facts[_FACT], facts["state"]
            if session.row("facts", "SELECT 1 FROM object WHERE path IS NULL LIMIT 1") is not None:
                raise StartError(
                    f"data: {settings.data}: contains documents that were not generated; choose another directory"
                )
        return None
    finally:
        database.close()


def mark(database: Database, population: str, state: str) -> None:
    """Store the parameters and the state of the population in the database."""
    with database.write() as session:
        for name, value in ((_FACT, population), ("state", state)):
            session.change("facts", "DELETE FROM fact WHERE name = ?", (name,))
            session.change("facts", "INSERT INTO fact (name, value) VALUES (?, ?)", (name, value))


def clear(settings: Settings) -> None:
    """Remove the population, even if it is partial, and its snapshot."""
    path = _sqlite_path(settings)
    if path is not None:
        _remove_sqlite(path)
        _copy_path(path).unlink(missing_ok=True)
    else:
        database = open_database(settings.database, str(settings.data), 1)
        try:
            with database.write() as session:
                session.change("schema", "DROP SCHEMA IF EXISTS populated CASCADE")
                for table in _SHADOWED:
                    session.change("schema", f"DROP TABLE IF EXISTS {table} CASCADE")
        finally:
            database.close()
    if settings.area.exists():
        for entry in settings.area.iterdir():
            if entry.is_dir() and (len(entry.name) == 2 or entry.name == "temporary"):
                shutil.rmtree(entry)


def begin(database: Database) -> None:
    """Prepare bulk inserts: with PostgreSQL, drop the full-text index, because building it afterwards is much
    faster.
    """
    if database.kind == "postgresql":
        with database.write() as session:
            session.change("schema", schema.DROP_FULLTEXT_INDEX)


def finish(database: Database, last: int) -> None:
    """Complete bulk inserts: with PostgreSQL, update the numbering of objects and the planner statistics, and create
    the full-text index."""
    if database.kind == "postgresql":
        with database.write() as session:
            session.rows("schema", "SELECT setval(pg_get_serial_sequence('object', 'number'), ?)", (last,))
            session.change("schema", schema.FULLTEXT_INDEX)
        with database.read() as session:
            session.change("schema", "ANALYZE")


def take(settings: Settings, population: str) -> None:
    """Store the snapshot, and mark the population as complete."""
    database = open_database(settings.database, str(settings.data), 1)
    try:
        if database.kind == "postgresql":
            with database.write() as session:
                session.change("schema", "CREATE SCHEMA populated")
                for table in _SHADOWED[:3]:
                    session.change("schema", f"CREATE TABLE populated.{table} AS TABLE {table}")
            mark(database, population, "complete")
            return
        mark(database, population, "complete")
        with database.read() as session:
            session.rows("schema", "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        database.close()
    path = _sqlite_path(settings)
    if path is not None:
        _replace(path, _copy_path(path))


def _replace(source: Path, target: Path) -> None:
    """Copy a file atomically: even if the process is killed, the target is either the old or the new file."""
    temporary = target.with_name(target.name + ".new")
    shutil.copyfile(source, temporary)
    temporary.replace(target)


def exists(settings: Settings) -> bool:
    """Return True if the snapshot exists; with PostgreSQL, this is not checked."""
    path = _sqlite_path(settings)
    return path is None or _copy_path(path).exists()


def reset(settings: Settings) -> str:
    """Restore the snapshot; return a sentence that reports the number of removed contents.

    Raises
    ------
    StartError
        If there is no complete population, or a server uses the repository.
    """
    with data_lock(settings.data, exclusive=True):
        found = population_of(settings)
        if found is None or found[1] != "complete" or not exists(settings):
            raise StartError(
                f"data: {settings.data}: there is no complete population to restore; run `content-server populate`"
            )
        database = open_database(settings.database, str(settings.data), 1, synchronous=False)
        try:
            contents = _added_contents(database)
            if database.kind == "postgresql":
                _restore_tables(database)
            else:
                with database.read() as session:
                    session.rows("schema", "PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.close()
        path = _sqlite_path(settings)
        if path is not None:
            # The write-ahead log of the old database file is empty, and must be removed before the file is replaced.
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            _replace(_copy_path(path), path)
        storage = StorageArea(settings.area, cache_bytes=0, handles=0)
        for content_id in contents:
            storage.remove(content_id)
    return f"back in the populated state: {len(contents)} contents of runs removed"


def _added_contents(database: Database) -> list[str]:
    with database.read() as session:
        rows = session.rows("contents", "SELECT DISTINCT content_id FROM object WHERE content_id IS NOT NULL")
    return [row[0] for row in rows if not is_populated(row[0])]


def _restore_tables(database: Database) -> None:
    with database.write() as session:
        session.change("schema", "TRUNCATE object, property, fulltext")
        session.change("schema", schema.DROP_FULLTEXT_INDEX)
        for table in _SHADOWED[:3]:
            session.change("schema", f"INSERT INTO {table} SELECT * FROM populated.{table}")
        session.change("schema", schema.FULLTEXT_INDEX)
        session.rows(
            "schema",
            "SELECT setval(pg_get_serial_sequence('object', 'number'), (SELECT max(number) FROM object))",
        )
    with database.read() as session:
        session.change("schema", "ANALYZE object, property, fulltext")
