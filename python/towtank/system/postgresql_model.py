"""Settings of a PostgreSQL server that Towtank starts.

Names, types and ranges are those of PostgreSQL 13 and later, as described at
https://www.postgresql.org/docs/current/runtime-config.html.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from towtank.fields import Duration, FileModel

_SIZE = re.compile(r"(\d{1,15}) ?(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)")
# Number of bytes of each unit in PostgreSQL. Units are powers of 1024 even if written as kB or MB.
_UNITS = {
    "B": 1,
    "kB": 2**10,
    "KiB": 2**10,
    "MB": 2**20,
    "MiB": 2**20,
    "GB": 2**30,
    "GiB": 2**30,
    "TB": 2**40,
    "TiB": 2**40,
}
_WRITTEN = (("GB", 2**30), ("MB", 2**20), ("kB", 2**10))
_MANAGED = ("listen_addresses", "port", "unix_socket_directories", "data_directory", "shared_preload_libraries")
# Settings that a study must not set, because they make the server run programs, load libraries, or access files.
_LEAD_OUT = frozenset(
    [
        "archive_command",
        "archive_library",
        "restore_command",
        "archive_cleanup_command",
        "recovery_end_command",
        "ssl_passphrase_command",
        "session_preload_libraries",
        "local_preload_libraries",
        "dynamic_library_path",
        "extension_control_path",
        "jit_provider",
        "config_file",
        "hba_file",
        "ident_file",
        "external_pid_file",
        "log_directory",
        "log_filename",
        "stats_temp_directory",
        "promote_trigger_file",
        "krb_server_keyfile",
        "ssl_cert_file",
        "ssl_key_file",
        "ssl_ca_file",
        "ssl_crl_file",
        "ssl_crl_dir",
        "ssl_dh_params_file",
        "unix_socket_group",
        "unix_socket_permissions",
    ]
)
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?")


def _size(value: Any) -> str:
    """Check a size, and return it in the notation of PostgreSQL, as a whole number of kB, MB or GB."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(
            f"must be a size such as 128MB or 128 MiB (1 MB is 1024 kB to PostgreSQL), got {value!r} instead"
        )
    size = int(found[1]) * _UNITS[found[2]]
    if size % 2**10:
        raise ValueError(f"must be a whole number of kB, got {value!r} instead")
    return _written(size)


def _written(size: int) -> str:
    unit, factor = next(
        ((unit, factor) for unit, factor in _WRITTEN if size >= factor and size % factor == 0), _WRITTEN[-1]
    )
    return f"{size // factor}{unit}"


def bytes_of(size: str) -> int:
    """Return the number of bytes of a size in the notation of PostgreSQL. [byte]"""
    found = _SIZE.fullmatch(size)
    if found is None:
        raise ValueError(f"{size!r} is no size")
    return int(found[1]) * _UNITS[found[2]]


def _at_least(least: str) -> AfterValidator:
    def check(value: str) -> str:
        if bytes_of(value) < bytes_of(least):
            raise ValueError(f"must be at least {least}, got {value} instead")
        return value

    return AfterValidator(check)


def _between(least_s: float, most_s: float) -> AfterValidator:
    def check(value: float) -> float:
        if not least_s <= value <= most_s:
            raise ValueError(f"must be from {least_s:g} s to {most_s:g} s, got {value:g} s instead")
        return value

    return AfterValidator(check)


def _switch(value: Any) -> Any:
    """Convert the words `on` and `off`, which are plain text in YAML 1.2, to True and False."""
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _word(value: Any) -> Any:
    """Convert True and False to the words `on` and `off`, for a setting with further values."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


_SIZE_SCHEMA = WithJsonSchema({"type": "string", "pattern": _SIZE.pattern, "examples": ["128MB", "1 GiB"]})
PgSize = Annotated[str, BeforeValidator(_size), _SIZE_SCHEMA]
Switch = Annotated[bool, BeforeValidator(_switch, json_schema_input_type=bool | Literal["on", "off"])]


def _positions(*names: str) -> Any:
    return BeforeValidator(_word, json_schema_input_type=Literal[names] | bool)


def _more(values: dict[str, str | int | float]) -> dict[str, str | int | float]:
    for name in values:
        if not _SETTING.fullmatch(name):
            raise ValueError(f"must have names of settings as in postgresql.conf, got {name!r} instead")
        # PostgreSQL ignores the case of setting names.
        if name.lower() in _MANAGED:
            raise ValueError(f"must not have {name}, which Towtank sets itself")
        if name.lower() in _LEAD_OUT:
            raise ValueError(f"must not have {name}, which gives access to files or programs")
        if name in PostgresqlSettings.model_fields:
            raise ValueError(f"must not have {name}, which has a separate key; write it beside `more`")
    return values


class PostgresqlSettings(FileModel):
    """Settings of PostgreSQL; PostgreSQL's own default applies to an omitted setting."""

    shared_buffers: Annotated[PgSize, _at_least("128kB")] = Field(
        "128MB", description="Size of the buffer cache for pages of tables and indexes."
    )
    work_mem: Annotated[PgSize, _at_least("64kB")] | None = Field(
        None, description="Memory for one sort or hash table."
    )
    maintenance_work_mem: Annotated[PgSize, _at_least("1MB")] | None = Field(
        None, description="Memory for one vacuum or index build."
    )
    temp_buffers: Annotated[PgSize, _at_least("800kB")] | None = Field(
        None, description="Memory of each session for temporary tables."
    )
    effective_cache_size: Annotated[PgSize, _at_least("8kB")] | None = Field(
        None, description="Memory available to cache pages, as the planner assumes."
    )
    max_connections: int = Field(100, ge=4, le=262143, description="Largest number of concurrent connections.")
    synchronous_commit: Annotated[
        Literal["on", "off", "local", "remote_write", "remote_apply"],
        _positions("on", "off", "local", "remote_write", "remote_apply"),
    ] = Field(
        "on",
        description=(
            "Condition for a commit to return: `on` waits until its log is on disk, `off` does not wait; "
            "see PostgreSQL's manual for the other values."
        ),
    )
    fsync: Switch | None = Field(
        None,
        description=(
            "Whether the server flushes data to the disk at all; with `off`, a crash may corrupt the database."
        ),
    )
    full_page_writes: Switch | None = Field(
        None, description="Whether the log contains the whole page at its first change after a checkpoint."
    )
    wal_level: Literal["minimal", "replica", "logical"] | None = Field(
        None,
        description=(
            "Amount of information in the log: enough for a crash (`minimal`), for replication, or for "
            "logical decoding."
        ),
    )
    wal_compression: (
        Annotated[Literal["on", "off", "pglz", "lz4", "zstd"], _positions("on", "off", "pglz", "lz4", "zstd")] | None
    ) = Field(None, description="Compression method for whole pages in the log; `off` disables compression.")
    wal_buffers: Annotated[PgSize, _at_least("32kB")] | None = Field(
        None, description="Size of the memory buffer for the log."
    )
    max_wal_size: Annotated[PgSize, _at_least("2MB")] | None = Field(
        None, description="Size that the log may reach before a checkpoint starts."
    )
    min_wal_size: Annotated[PgSize, _at_least("2MB")] | None = Field(
        None, description="Size of old log files that the server keeps and reuses."
    )
    wal_writer_delay: Annotated[Duration, _between(0.001, 10)] | None = Field(
        None, description="Time between two flushes of the log by the log writer."
    )
    commit_delay: Annotated[Duration, _between(0, 0.1)] | None = Field(
        None, description="Time that a commit waits so that other commits can join its flush."
    )
    commit_siblings: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="Number of other open transactions above which a commit waits for `commit_delay`.",
    )
    checkpoint_timeout: Annotated[Duration, _between(30, 86400)] | None = Field(
        None, description="Longest time between two checkpoints; whole seconds."
    )
    checkpoint_completion_target: float | None = Field(
        None, ge=0, le=1, description="Share of `checkpoint_timeout` over which the writes of a checkpoint are spread."
    )
    bgwriter_delay: Annotated[Duration, _between(0.01, 10)] | None = Field(
        None, description="Time between two rounds of the background writer."
    )
    autovacuum: Switch | None = Field(None, description="Whether the server removes dead rows automatically.")
    autovacuum_naptime: Annotated[Duration, _between(1, 2147483)] | None = Field(
        None, description="Time between two autovacuum runs in a database; whole seconds."
    )
    autovacuum_vacuum_scale_factor: float | None = Field(
        None, ge=0, le=100, description="Share of a table's rows that must be dead before autovacuum starts."
    )
    random_page_cost: float | None = Field(
        None, ge=0, description="Planner's cost of reading a page at random, where a sequential read costs 1."
    )
    effective_io_concurrency: int | None = Field(
        None, ge=0, le=1000, description="Number of concurrent reads of a bitmap scan."
    )
    default_statistics_target: int | None = Field(
        None, ge=1, le=10000, description="Level of detail of the planner's column statistics."
    )
    max_worker_processes: int | None = Field(
        None, ge=0, le=262143, description="Largest number of background processes."
    )
    max_parallel_workers: int | None = Field(
        None, ge=0, le=1024, description="Largest number of parallel workers of all queries together."
    )
    max_parallel_workers_per_gather: int | None = Field(
        None, ge=0, le=1024, description="Largest number of parallel workers of one query node."
    )
    enable_seqscan: Switch | None = Field(None, description="Whether the planner may choose sequential scans.")
    enable_indexscan: Switch | None = Field(None, description="Whether the planner may choose plain index scans.")
    jit: Switch | None = Field(None, description="Whether expensive queries are compiled to machine code (JIT).")
    huge_pages: Annotated[Literal["on", "off", "try"], _positions("on", "off", "try")] | None = Field(
        None,
        description="Whether the server uses huge pages for its shared memory; `try` falls back to normal pages.",
    )
    statement_timeout: Annotated[Duration, _between(0, 2147483)] | None = Field(
        None, description="Longest time that a statement may run; `0 s` means no limit."
    )
    track_io_timing: Switch | None = Field(
        None, description="Whether the server measures the time of block reads and writes."
    )
    statements: bool = Field(
        True,
        description="Whether the extension `pg_stat_statements` counts statements; query plans and advice need it.",
    )
    more: Annotated[dict[str, str | int | float], AfterValidator(_more)] = Field(
        default_factory=dict, description="Further settings for `postgresql.conf`; the server checks them at its start."
    )

    @model_validator(mode="after")
    def _whole(self) -> PostgresqlSettings:
        for name in ("checkpoint_timeout", "autovacuum_naptime"):
            value = getattr(self, name)
            if value is not None and value != int(value):
                raise ValueError(f"must have {name} in whole seconds, got {value:g} s instead")
        return self

    def configuration(self) -> dict[str, str | int]:
        """Return the settings as entries of `postgresql.conf`."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name not in {"statements", "more"}}
        written = {name: _written_as(name, value) for name, value in given.items() if value is not None}
        return {**written, **{name: _written_as(name, value) for name, value in self.more.items()}}


def _written_as(name: str, value: Any) -> str | int:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return value
    # PostgreSQL expects microseconds for this setting only.
    if name == "commit_delay":
        return f"{round(value * 1e6)}"
    if isinstance(value, float) and name.endswith(("_delay", "_timeout", "_naptime")):
        return f"{round(value * 1000)}ms"
    return str(value)
