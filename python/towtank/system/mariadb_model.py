"""Models of a MariaDB server that Towtank starts, and of its settings.

Names and ranges of settings are those of MariaDB 10.6 and later, as described at
https://mariadb.com/kb/en/server-system-variables/ and https://mariadb.com/kb/en/innodb-system-variables/.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from towtank.fields import Duration, FileModel, Name, Size, Word
from towtank.system.postgresql_model import Switch
from towtank.system.service_model import Port, Service, service_kind
from towtank.system.sql_models import SqlPopulation

_SETTING = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MANAGED = ("bind_address", "port", "socket", "datadir", "pid_file", "tmpdir", "init_file", "skip_name_resolve", "user")
# System variables that a study must not set, because they make the server run programs, load libraries, read or write
# files, or admit other users.
_LEAD_OUT = frozenset(
    [
        "plugin_dir",
        "plugin_load",
        "plugin_load_add",
        "plugin_maturity",
        "general_log_file",
        "slow_query_log_file",
        "log_error",
        "log_basename",
        "log_bin",
        "log_bin_index",
        "relay_log",
        "relay_log_index",
        "secure_file_priv",
        "init_connect",
        "init_slave",
        "init_rpl_role",
        "basedir",
        "character_sets_dir",
        "lc_messages_dir",
        "chroot",
        "local_infile",
        "grant_tables",
        "networking",
        "ssl_ca",
        "ssl_capath",
        "ssl_cert",
        "ssl_key",
        "ssl_crl",
        "ssl_crlpath",
        "defaults_file",
        "defaults_extra_file",
        "innodb_data_home_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "innodb_tmpdir",
        "slave_load_tmpdir",
        "aria_log_dir_path",
    ]
)
_FAMILIES_OUT = ("wsrep_", "plugin_", "feedback", "server_audit")
# Prefixes with which the server also accepts each option. In addition, it accepts every unambiguous abbreviation.
_BEFORE = re.compile(r"^(?:(?:loose|skip|enable|disable|maximum|autoset)_)+")
_PAGES = (4096, 8192, 16384, 32768, 65536)
# Limit of prepared statements. Each session prepares every statement that it executes, and MariaDB's default of 16,382
# for all sessions together does not suffice. [1]
_PREPARED_STATEMENTS = 1048576


def _page(value: int) -> int:
    if value not in _PAGES:
        raise ValueError(f"must be 4, 8, 16, 32 or 64 KiB, got {value} B instead")
    return value


def _more(values: dict[str, str | int | float]) -> dict[str, str | int | float]:
    for name in values:
        if not _SETTING.fullmatch(name):
            raise ValueError(f"must have names of system variables, with underscores, got {name!r} instead")
        plain = _BEFORE.sub("", name)
        if name in _MANAGED or plain in _MANAGED:
            raise ValueError(f"must not have {name}, which Towtank sets itself")
        if plain.startswith(_FAMILIES_OUT) or any(out.startswith(plain) for out in (*_LEAD_OUT, *_MANAGED)):
            raise ValueError(f"must not have {name}, which gives access to files, programs or other users")
        if name in MariadbSettings.model_fields:
            raise ValueError(f"must not have {name}, which has a separate key; write it beside `more`")
    return values


Identifier = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class MariadbSettings(FileModel):
    """Settings of MariaDB; MariaDB's own default applies to an omitted setting."""

    innodb_buffer_pool_size: Size = Field(
        128 * 2**20, ge=5 * 2**20, description="Size of the buffer pool for pages of tables and indexes."
    )
    innodb_flush_log_at_trx_commit: int = Field(
        1,
        ge=0,
        le=3,
        description=(
            "Condition for a commit to return: `0` none, `1` the log is on disk, `2` the operating system "
            "has the log, `3` like `1` in each phase of a group commit."
        ),
    )
    innodb_log_file_size: Size | None = Field(
        None, ge=4 * 2**20, description="Size of the redo log; a checkpoint starts before it is full."
    )
    innodb_log_buffer_size: Size | None = Field(
        None, ge=2**18, description="Size of the memory buffer for the redo log."
    )
    innodb_flush_method: Literal["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"] | None = (
        Field(None, description="Method to write data and to flush it to the disk.")
    )
    innodb_doublewrite: Switch | None = Field(
        None, description="Whether each page is written twice to protect against partially written pages."
    )
    innodb_flush_neighbors: int | None = Field(
        None,
        ge=0,
        le=2,
        description=(
            "Whether a flush of a page also flushes its neighbouring pages: `0` no, `1` adjacent ones, "
            "`2` those of the extent."
        ),
    )
    innodb_io_capacity: int | None = Field(
        None, ge=100, description="Normal limit of write operations by background tasks. [1/s]"
    )
    innodb_io_capacity_max: int | None = Field(
        None, ge=100, description="Limit of write operations by background tasks that are behind. [1/s]"
    )
    innodb_read_io_threads: int | None = Field(None, ge=1, le=64, description="Number of threads for reading ahead.")
    innodb_write_io_threads: int | None = Field(
        None, ge=2, le=64, description="Number of threads for background writes."
    )
    innodb_purge_threads: int | None = Field(
        None, ge=1, le=32, description="Number of threads that remove old row versions."
    )
    innodb_page_size: Annotated[Size, AfterValidator(_page)] | None = Field(
        None, description="Size of a page of the database."
    )
    innodb_adaptive_hash_index: Switch | None = Field(
        None, description="Whether the server builds hash indexes for frequently used index pages."
    )
    innodb_lock_wait_timeout: Duration | None = Field(
        None, ge=0, le=100_000_000, description="Longest time that a transaction waits for a row lock; whole seconds."
    )
    innodb_deadlock_detect: Switch | None = Field(None, description="Whether the server detects deadlocks.")
    transaction_isolation: Literal["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"] | None = (
        Field(None, description="Isolation level of transactions; default: `REPEATABLE-READ`.")
    )
    max_connections: int = Field(151, ge=10, le=100_000, description="Largest number of concurrent connections.")
    max_prepared_stmt_count: int = Field(
        _PREPARED_STATEMENTS,
        ge=0,
        le=4_294_967_295,
        description="Largest number of prepared statements of all sessions together.",
    )
    thread_handling: Literal["one-thread-per-connection", "pool-of-threads"] | None = Field(
        None,
        description="Assignment of threads to connections: `one-thread-per-connection`, or a pool (`pool-of-threads`).",
    )
    thread_pool_size: int | None = Field(
        None, ge=1, le=100_000, description="Number of thread groups in the thread pool."
    )
    thread_cache_size: int | None = Field(
        None, ge=0, le=16_384, description="Number of idle threads kept for new connections."
    )
    table_open_cache: int | None = Field(
        None, ge=10, le=1_048_576, description="Largest number of open tables of all sessions together."
    )
    sort_buffer_size: Size | None = Field(None, ge=2**10, description="Memory for one sort.")
    join_buffer_size: Size | None = Field(None, ge=128, description="Memory for one join that uses no index.")
    tmp_table_size: Size | None = Field(None, ge=2**10, description="Largest size of a temporary table in memory.")
    max_heap_table_size: Size | None = Field(
        None, ge=2**14, description="Largest size of a table of the MEMORY engine."
    )
    query_cache_size: Size | None = Field(
        None, description="Memory for cached query results; only used if `more` sets `query_cache_type: 1`."
    )
    performance_schema: Switch | None = Field(
        None, description="Whether the server collects detailed statistics in its Performance Schema."
    )
    more: Annotated[dict[str, str | int | float], AfterValidator(_more)] = Field(
        default_factory=dict, description="Further system variables of MariaDB; the server checks them at its start."
    )

    @model_validator(mode="after")
    def _whole(self) -> MariadbSettings:
        value = self.innodb_lock_wait_timeout
        if value is not None and value != int(value):
            raise ValueError(f"must have innodb_lock_wait_timeout in whole seconds, got {value:g} s instead")
        return self

    def configuration(self) -> dict[str, str | int]:
        """Return the settings as options of the server."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name != "more"}
        values = {**{name: value for name, value in given.items() if value is not None}, **self.more}
        return {name: _written(value) for name, value in values.items()}


def _written(value: Any) -> str | int:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value if isinstance(value, int) else str(value)


@service_kind("mariadb")
class Mariadb(Service):
    """MariaDB server that Towtank creates for each run."""

    summary: ClassVar[str] = (
        "private MariaDB, created for each run; needs the server programs (apt-get install mariadb-server)"
    )
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "sql"
    starts_remotely: ClassVar[bool] = True

    kind: Literal["mariadb"]
    host: Name = Field(description="Name of the host that runs the server.")
    port: Port = Field(0, description="Port that the server listens on; 0 chooses a free port.")
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the data; default: the host's file system."
    )
    user: Identifier = Field(
        "towtank", description="Owner of the database; users of the workload log in under this name."
    )
    password: Word | None = Field(None, description="Password of `user`; default: generated for each run.")
    database: Identifier = Field("towtank", description="Name of the database to create.")
    settings: MariadbSettings = Field(default_factory=MariadbSettings, description="Settings of MariaDB.")
    population: SqlPopulation | None = Field(None, description="SQL script that fills the database before a run.")
