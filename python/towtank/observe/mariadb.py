"""Reads metrics of MariaDB and MySQL from their status variables.

The variables are described at https://mariadb.com/kb/en/server-status-variables/ and
https://mariadb.com/kb/en/innodb-status-variables/. Variables that a version of the server lacks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from towtank.installing import pip_install
from towtank.observe.scraper import ScrapeError, number_in

if TYPE_CHECKING:
    import pymysql

_TIMEOUT_S = 2
_INSTALL_HINT = pip_install("PyMySQL")
_MILLISECONDS = 1000.0

# Series name of each status variable of the server. Variables in milliseconds are converted to seconds.
_VARIABLES = {
    "Threads_connected": "mariadb_connections",
    "Threads_running": "mariadb_threads_running",
    "Connections": "mariadb_connections_total",
    "Aborted_connects": "mariadb_connections_failed_total",
    "Questions": "mariadb_statements_total",
    "Com_stmt_prepare": "mariadb_preparations_total",
    "Com_stmt_execute": "mariadb_executions_total",
    "Com_begin": "mariadb_begins_total",
    "Com_commit": "mariadb_commits_total",
    "Com_rollback": "mariadb_rollbacks_total",
    "Rows_read": "mariadb_rows_read_total",
    "Rows_sent": "mariadb_rows_sent_total",
    "Handler_write": "mariadb_rows_inserted_total",
    "Handler_update": "mariadb_rows_updated_total",
    "Handler_delete": "mariadb_rows_deleted_total",
    "Select_scan": "mariadb_full_scans_total",
    "Created_tmp_disk_tables": "mariadb_temporary_tables_on_disk_total",
    "Created_tmp_files": "mariadb_temporary_files_total",
    "Bytes_received": "mariadb_received_bytes_total",
    "Bytes_sent": "mariadb_sent_bytes_total",
    "Innodb_buffer_pool_reads": "mariadb_blocks_read_total",
    "Innodb_buffer_pool_wait_free": "mariadb_buffer_waits_total",
    "Innodb_buffer_pool_pages_flushed": "mariadb_blocks_written_total",
    "Innodb_buffer_pool_bytes_data": "mariadb_buffer_used_bytes",
    "Innodb_buffer_pool_bytes_dirty": "mariadb_buffer_dirty_bytes",
    "Innodb_data_read": "mariadb_data_read_bytes_total",
    "Innodb_data_written": "mariadb_data_written_bytes_total",
    "Innodb_data_fsyncs": "mariadb_data_syncs_total",
    "Innodb_os_log_written": "mariadb_wal_bytes_total",
    "Innodb_log_waits": "mariadb_wal_buffers_full_total",
    "Innodb_checkpoint_age": "mariadb_checkpoint_age_bytes",
    "Innodb_row_lock_waits": "mariadb_lock_waits_total",
    "Innodb_row_lock_time": "mariadb_lock_wait_seconds_total",
    "Innodb_row_lock_current_waits": "mariadb_lock_waiting",
    "Innodb_deadlocks": "mariadb_deadlocks_total",
}
# The server does not count hits of the buffer pool. They are calculated as all read requests minus the reads from disk.
_LOOKED_FOR = "Innodb_buffer_pool_read_requests"
_MISSED = "Innodb_buffer_pool_reads"
_HITS = "mariadb_blocks_hit_total"
_QUERY = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in (*_VARIABLES, _LOOKED_FOR))
)


def parse(variables: Mapping[str, str]) -> dict[str, float]:
    """Convert the server's status variables to numbers by series name.

    Raises
    ------
    ScrapeError
        If a variable is not a number, or no known variable exists.
    """
    values = {}
    for variable, name in _VARIABLES.items():
        if variable in variables:
            values[name] = number_in(variable, variables[variable]) / (_MILLISECONDS if "_seconds" in name else 1.0)
    if not values:
        raise ScrapeError("SHOW GLOBAL STATUS must report Threads_connected and others, got none of them")
    if _LOOKED_FOR in variables and _MISSED in variables:
        values[_HITS] = number_in(_LOOKED_FOR, variables[_LOOKED_FOR]) - number_in(_MISSED, variables[_MISSED])
    return values


class MariadbScraper:
    """Scraper of one server's status variables, over a persistent connection to
    `mysql://user:password@host:port/database`.
    """

    source = "mariadb"

    def __init__(self, service: str, dsn: str, kind: str = "mariadb") -> None:
        self.service, self.kind, self._dsn = service, kind, dsn
        self._connection: pymysql.Connection[Any] | None = None

    def scrape(self) -> dict[str, float]:
        """Read all status variables by one SQL statement, and return their numbers by series name."""
        try:
            import pymysql  # noqa: PLC0415 - needed only for the observation of MariaDB
        except ImportError as error:
            raise ScrapeError("PyMySQL is not installed", hint=_INSTALL_HINT) from error
        try:
            with self._connect().cursor() as cursor:
                cursor.execute(_QUERY)
                return parse(dict(cursor.fetchall()))
        except (pymysql.Error, OSError) as error:
            self.close()
            raise ScrapeError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connection to the server; the next scrape opens it again."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def _connect(self) -> pymysql.Connection[Any]:
        import pymysql  # noqa: PLC0415

        if self._connection is None:
            parts = urlsplit(self._dsn)
            self._connection = pymysql.connect(
                host=parts.hostname,
                port=parts.port or 3306,
                user=unquote(parts.username or ""),
                password=unquote(parts.password or ""),
                database=unquote(parts.path.lstrip("/")) or None,
                autocommit=True,
                connect_timeout=_TIMEOUT_S,
                read_timeout=_TIMEOUT_S,
                write_timeout=_TIMEOUT_S,
            )
        return self._connection
