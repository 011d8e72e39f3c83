"""Metrics of a private PostgreSQL server with statement statistics, under load."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from metric_tables import metric_names
from waiting import PATIENCE_S, until

from towtank.observe import PostgresqlScraper, ScrapeError
from towtank.observe import postgresql as module

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parents[1].name))

pytestmark = [
    pytest.mark.waits,
    pytest.mark.postgresql,
    pytest.mark.skipif(not PROGRAMS, reason="PostgreSQL is not installed: apt-get install postgresql"),
]


@dataclass
class Server:
    """A PostgreSQL server that listens only on a Unix socket in its own folder."""

    folder: Path
    statements: bool

    @property
    def dsn(self) -> str:
        return f"host={self.folder} dbname=postgres user=postgres"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = PROGRAMS[-1].parent
    # PostgreSQL refuses to run as root, so it runs as the user `postgres` of the Debian package.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="towtank-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    library = Path(f"/usr/lib/postgresql/{programs.parent.name}/lib/pg_stat_statements.so")
    process = None
    try:
        initialise = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(initialise, user=user, check=True, capture_output=True, cwd=folder)
        command = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        if library.exists():
            command += ["-c", "shared_preload_libraries=pg_stat_statements"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd=folder)
        server = Server(folder, library.exists())
        wait_until_ready(server, process)
        yield server
    finally:
        if process is not None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder)


def wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(server.dsn).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, (server.folder / "log").read_text()
            assert time.monotonic() < deadline, (server.folder / "log").read_text()
            time.sleep(0.05)


def bare(name: str) -> str:
    return name.partition("{")[0]


def test_all_views_are_read_and_named_in_the_reference(server: Server) -> None:
    with closing(PostgresqlScraper("database", server.dsn)) as scraper, psycopg.connect(server.dsn):
        values = scraper.scrape()
    known = metric_names("PostgreSQL")
    found = {bare(name) for name in values}
    assert found <= known
    assert found >= {
        "pg_stat_database_commits_total",
        "pg_stat_database_blocks_hit_total",
        "pg_stat_bgwriter_buffers_written_total",
        "pg_stat_checkpoints_requested_total",
        "pg_stat_activity_connections",
    }
    assert all(value >= 0 for value in values.values())


def test_connections_are_reported_by_state_and_by_what_they_wait_for(server: Server) -> None:
    waiting = 'pg_stat_activity_connections{state="idle in transaction",wait="Client"}'
    with closing(PostgresqlScraper("database", server.dsn)) as scraper:
        with psycopg.connect(server.dsn) as client:
            client.execute("SELECT 1")
            # PostgreSQL reports a session as idle shortly after the response to its statement.
            until(lambda: scraper.scrape().get(waiting) == 1)
            assert scraper.scrape()["pg_stat_database_connections"] >= 2
        deadline = time.monotonic() + PATIENCE_S
        # PostgreSQL ends a session shortly after the client has disconnected.
        while scraper.scrape()[waiting] != 0:
            assert time.monotonic() < deadline


def test_statements_are_counted_where_the_extension_is_there(server: Server) -> None:
    if not server.statements:
        pytest.skip("pg_stat_statements is not installed: apt-get install postgresql")
    with psycopg.connect(server.dsn, autocommit=True) as client:
        with closing(PostgresqlScraper("database", server.dsn)) as scraper:
            assert not any("statements" in name for name in scraper.scrape())
        client.execute("CREATE EXTENSION pg_stat_statements")
        try:
            client.execute("SELECT pg_stat_statements_reset()")
            for number in range(5):
                client.execute(f'SELECT {number} AS "quoted \\ name"')
            with closing(PostgresqlScraper("database", server.dsn)) as scraper:
                values = scraper.scrape()
        finally:
            client.execute("DROP EXTENSION pg_stat_statements")
    label = r'query="SELECT $1 AS \"quoted \\ name\""'
    (calls,) = [value for name, value in values.items() if "calls_total" in name and label in name]
    assert calls == 5


def test_times_are_seconds() -> None:
    row = {"calls": 3, "total_exec_time": 1500.0, "rows": None}
    assert module._numbers(row, module._STATEMENT) == {
        "pg_stat_statements_calls_total": 3.0,
        "pg_stat_statements_seconds_total": 1.5,
    }


def test_a_connection_that_was_ended_is_opened_again(server: Server) -> None:
    with closing(PostgresqlScraper("database", server.dsn)) as scraper:
        scraper.scrape()
        with psycopg.connect(server.dsn, autocommit=True) as client:
            client.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE application_name = 'towtank-observe'"
            )
        with pytest.raises(ScrapeError):
            scraper.scrape()
        assert scraper.scrape()["pg_stat_database_commits_total"] > 0


def test_nobody_there_is_a_failure(tmp_path: Path) -> None:
    scraper = PostgresqlScraper("database", f"host='{tmp_path}' dbname=postgres user=postgres")
    with pytest.raises(ScrapeError, match="OperationalError"):
        scraper.scrape()
    scraper.close()


def test_a_database_without_an_encoding_is_read(server: Server) -> None:
    """In the locale C, `initdb` creates databases with the encoding SQL_ASCII."""
    with psycopg.connect(server.dsn, autocommit=True) as maker:
        maker.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    plain = psycopg.conninfo.make_conninfo(server.dsn, dbname="plain")
    with closing(PostgresqlScraper("database", plain)) as scraper, psycopg.connect(plain):
        names = set(scraper.scrape())
    assert any(name.startswith("pg_stat_activity_connections{") for name in names)
    assert not any("b'" in name for name in names)
