"""Observation of a real SQLite database file that grows (in both journal modes), is replaced, or is missing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from metric_tables import metric_names

from towtank.observe import ScrapeError, SqliteScraper

ROWS = 2000


def fill(path: Path, *, wal: bool = False, rows: int = ROWS) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {'wal' if wal else 'delete'}")
    connection.execute("CREATE TABLE documents (name TEXT)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO documents VALUES (?)", (("x" * 100,) for _ in range(rows)))
    connection.execute("COMMIT")
    return connection


@pytest.fixture
def scraper(tmp_path: Path) -> Iterator[SqliteScraper]:
    scraper = SqliteScraper("database", tmp_path / "content #1?.db")
    yield scraper
    scraper.close()


def test_pages_times_their_size_is_the_file(scraper: SqliteScraper) -> None:
    with closing(fill(scraper.path)) as connection:
        values = scraper.scrape()
        assert values["sqlite_pages"] * values["sqlite_page_bytes"] == values["sqlite_database_bytes"]
        assert values["sqlite_database_bytes"] == scraper.path.stat().st_size
        assert values["sqlite_free_pages"] == 0
        assert "sqlite_wal_bytes" not in values
        connection.execute("DELETE FROM documents")
        assert scraper.scrape()["sqlite_free_pages"] > 0


def test_the_log_is_measured_and_its_checkpoint_not_delayed(scraper: SqliteScraper) -> None:
    with closing(fill(scraper.path, wal=True)) as connection:
        values = scraper.scrape()
        assert values["sqlite_wal_bytes"] == scraper.path.with_name(scraper.path.name + "-wal").stat().st_size > 0
        assert metric_names("SQLite") == values.keys()
        busy, log, done = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert (busy, log, done) == (0, 0, 0)
        assert scraper.scrape()["sqlite_wal_bytes"] == 0


def test_writers_are_not_kept_waiting(scraper: SqliteScraper) -> None:
    with closing(fill(scraper.path)) as connection:
        scraper.scrape()
        connection.execute("PRAGMA busy_timeout = 0")
        # This statement would raise an exception if the observer held a lock on the database.
        connection.execute("INSERT INTO documents VALUES ('y')")


def test_a_database_that_was_replaced_is_opened_again(scraper: SqliteScraper, tmp_path: Path) -> None:
    fill(scraper.path).close()
    before = scraper.scrape()
    other = tmp_path / "other.db"
    fill(other, rows=3 * ROWS).close()
    other.replace(scraper.path)
    after = scraper.scrape()
    assert after["sqlite_pages"] > before["sqlite_pages"]
    assert after["sqlite_pages"] * after["sqlite_page_bytes"] == after["sqlite_database_bytes"]


def test_a_database_may_come_later(scraper: SqliteScraper) -> None:
    with pytest.raises(ScrapeError, match="No such file"):
        scraper.scrape()
    assert not scraper.path.exists()
    fill(scraper.path).close()
    assert scraper.scrape()["sqlite_pages"] > 0


def test_what_is_no_database_is_a_failure(scraper: SqliteScraper) -> None:
    scraper.path.write_bytes(b"no database" * 1000)
    with pytest.raises(ScrapeError, match="not a database"):
        scraper.scrape()
