"""Reads metrics of PostgreSQL, version 13 or later, from its statistics views.

The views are described at https://www.postgresql.org/docs/current/monitoring-stats.html and
https://www.postgresql.org/docs/current/pgstatstatements.html. Columns that a version lacks are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.installing import pip_install
from towtank.observe.postgresql_plans import Before, examine, look
from towtank.observe.scraper import ScrapeError, series_name

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import DictRow

_CONNECT_TIMEOUT_S = 2  # Shortest connection timeout that libpq accepts. [s]
_STATEMENT_TIMEOUT_MS = 1000
_TOP_STATEMENTS = 20
_QUERY_CHARACTERS = 160
_MILLISECONDS = 1000.0
_INSTALL_HINT = pip_install("psycopg[binary]")

# Series name of each column of the statistics views. Columns in milliseconds are converted to seconds.
_DATABASE = {
    "numbackends": "pg_stat_database_connections",
    "xact_commit": "pg_stat_database_commits_total",
    "xact_rollback": "pg_stat_database_rollbacks_total",
    "blks_read": "pg_stat_database_blocks_read_total",
    "blks_hit": "pg_stat_database_blocks_hit_total",
    "tup_returned": "pg_stat_database_rows_returned_total",
    "tup_fetched": "pg_stat_database_rows_fetched_total",
    "tup_inserted": "pg_stat_database_rows_inserted_total",
    "tup_updated": "pg_stat_database_rows_updated_total",
    "tup_deleted": "pg_stat_database_rows_deleted_total",
    "conflicts": "pg_stat_database_conflicts_total",
    "deadlocks": "pg_stat_database_deadlocks_total",
    "temp_files": "pg_stat_database_temporary_files_total",
    "temp_bytes": "pg_stat_database_temporary_bytes_total",
    "blk_read_time": "pg_stat_database_block_read_seconds_total",
    "blk_write_time": "pg_stat_database_block_write_seconds_total",
    "active_time": "pg_stat_database_active_seconds_total",
}
# Series name of each column of pg_stat_bgwriter. Since PostgreSQL 17, the views pg_stat_checkpointer and
# pg_stat_io contain some of these columns instead.
_WRITER = {
    "buffers_clean": "pg_stat_bgwriter_buffers_written_total",
    "maxwritten_clean": "pg_stat_bgwriter_stopped_total",
    "buffers_alloc": "pg_stat_bgwriter_buffers_allocated_total",
    "checkpoints_timed": "pg_stat_checkpoints_timed_total",
    "checkpoints_req": "pg_stat_checkpoints_requested_total",
    "buffers_checkpoint": "pg_stat_checkpoints_buffers_written_total",
    "checkpoint_write_time": "pg_stat_checkpoints_write_seconds_total",
    "checkpoint_sync_time": "pg_stat_checkpoints_sync_seconds_total",
    "buffers_backend": "pg_stat_bgwriter_backend_buffers_written_total",
    "buffers_backend_fsync": "pg_stat_bgwriter_backend_fsyncs_total",
}
_CHECKPOINTER = {
    "num_timed": "pg_stat_checkpoints_timed_total",
    "num_requested": "pg_stat_checkpoints_requested_total",
    "buffers_written": "pg_stat_checkpoints_buffers_written_total",
    "write_time": "pg_stat_checkpoints_write_seconds_total",
    "sync_time": "pg_stat_checkpoints_sync_seconds_total",
}
_WAL = {
    "wal_records": "pg_stat_wal_records_total",
    "wal_bytes": "pg_stat_wal_bytes_total",
    "wal_buffers_full": "pg_stat_wal_buffers_full_total",
}
_STATEMENT = {
    "calls": "pg_stat_statements_calls_total",
    "total_exec_time": "pg_stat_statements_seconds_total",
    "rows": "pg_stat_statements_rows_total",
    "shared_blks_hit": "pg_stat_statements_blocks_hit_total",
    "shared_blks_read": "pg_stat_statements_blocks_read_total",
}

# Queries that return a single row, with the first server version that has the view, and the columns to read.
_ONE_ROW = {
    "SELECT * FROM pg_stat_database WHERE datname = current_database()": (0, _DATABASE),
    "SELECT * FROM pg_stat_bgwriter": (0, _WRITER),
    "SELECT * FROM pg_stat_checkpointer": (170000, _CHECKPOINTER),
    "SELECT * FROM pg_stat_wal": (140000, _WAL),
}
_ACTIVITY = """
    SELECT coalesce(state, 'unknown') AS state, coalesce(wait_event_type, 'none') AS wait, count(*) AS connections
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    GROUP BY 1, 2"""
_STATEMENTS = f"""
    SELECT s.queryid, s.query, {", ".join(f"s.{column}" for column in _STATEMENT)}
    FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid
    WHERE d.datname = current_database() AND s.toplevel AND s.queryid IS NOT NULL
    ORDER BY s.total_exec_time DESC LIMIT {_TOP_STATEMENTS}"""
_HAS_STATEMENTS = "SELECT count(*) AS count FROM pg_extension WHERE extname = 'pg_stat_statements'"


class PostgresqlScraper:
    """Scraper of one database's statistics views, over a persistent connection; `dsn` is a connection string as for
    libpq. Only a role in `pg_monitor` can read the statements of other roles.
    """

    source = "postgresql"

    def __init__(self, service: str, dsn: str, kind: str = "postgresql") -> None:
        self.service, self.kind, self._dsn = service, kind, dsn
        self._connection: psycopg.Connection[DictRow] | None = None
        self._statements = False
        self._activity_seen: set[str] = set()
        self._before: Before | None = None

    def scrape(self) -> dict[str, float]:
        """Read all statistics views, and return their numbers by series name."""
        try:
            import psycopg  # noqa: PLC0415 - an extra: needed only for the observation of PostgreSQL
        except ImportError as error:
            raise ScrapeError("psycopg is not installed", hint=_INSTALL_HINT) from error
        try:
            connection = self._connect()
            values = self._one_row_views(connection)
            values.update(self._activity(connection))
            if self._statements:
                values.update(_top_statements(connection))
                self._before = look(connection) if self._before is None else self._before
        except psycopg.Error as error:
            self.close()
            raise ScrapeError(f"{type(error).__name__}: {str(error).strip()}") from error
        return values

    def conclude(self) -> dict[str, object]:
        """Return the most expensive statements since the first scrape, with their plans and advice on indexes."""
        import psycopg  # noqa: PLC0415

        try:
            connection = self._connect()
            return examine(connection, self._before or Before({}, {})) if self._statements else {}
        except psycopg.Error as error:
            self.close()
            raise ScrapeError(f"{type(error).__name__}: {str(error).strip()}") from error

    def close(self) -> None:
        """Close the connection to the server; the next scrape opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> psycopg.Connection[DictRow]:
        import psycopg  # noqa: PLC0415
        from psycopg.rows import dict_row  # noqa: PLC0415

        if self._connection is None:
            self._connection = psycopg.connect(
                self._dsn,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=_CONNECT_TIMEOUT_S,
                application_name="towtank-observe",
                # Without this setting, psycopg returns bytes instead of text from a database with the encoding
                # SQL_ASCII, which is the encoding of databases created in the locale C.
                client_encoding="utf8",
                options=f"-c statement_timeout={_STATEMENT_TIMEOUT_MS}",
            )
            self._statements = _can_read_statements(self._connection)
        return self._connection

    def _one_row_views(self, connection: psycopg.Connection[DictRow]) -> dict[str, float]:
        values: dict[str, float] = {}
        for query, (since, columns) in _ONE_ROW.items():
            if connection.info.server_version >= since:
                row = connection.execute(query.encode()).fetchone() or {}
                values.update(_numbers(row, columns))
        return values

    def _activity(self, connection: psycopg.Connection[DictRow]) -> dict[str, float]:
        """Return the number of connections by state and wait event.

        A combination of state and wait event that occurred in an earlier scrape, but no longer occurs, is reported as
        0.
        """
        now = {
            series_name("pg_stat_activity_connections", state=row["state"], wait=row["wait"]): float(row["connections"])
            for row in connection.execute(_ACTIVITY.encode())
        }
        self._activity_seen |= now.keys()
        return {name: now.get(name, 0.0) for name in sorted(self._activity_seen)}


def _can_read_statements(connection: psycopg.Connection[DictRow]) -> bool:
    """Return True if the extension `pg_stat_statements` is installed in the database and loaded by the server."""
    import psycopg  # noqa: PLC0415

    found = connection.execute(_HAS_STATEMENTS.encode()).fetchone()
    if not found or not found["count"]:
        return False
    try:
        _top_statements(connection)
    except psycopg.Error:
        return False
    return True


def _top_statements(connection: psycopg.Connection[DictRow]) -> dict[str, float]:
    """Return metrics of the SQL statements with the largest total time since the server reset its statistics."""
    values: dict[str, float] = {}
    for row in connection.execute(_STATEMENTS.encode()):
        query = " ".join(str(row["query"]).split())[:_QUERY_CHARACTERS]
        labels = {"queryid": str(row["queryid"]), "query": query}
        numbers = _numbers(row, _STATEMENT)
        values.update({series_name(name, **labels): value for name, value in numbers.items()})
    return values


def _numbers(row: DictRow, columns: dict[str, str]) -> dict[str, float]:
    """Return the columns that this version of PostgreSQL has, by series name; times are converted to seconds."""
    return {
        name: float(row[column]) / (_MILLISECONDS if "_seconds" in name else 1.0)
        for column, name in columns.items()
        if row.get(column) is not None
    }
