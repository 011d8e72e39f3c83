"""Entries of system files for SQLite databases, and for SQL scripts that fill a database."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from towtank.fields import FileModel, Name, Size
from towtank.system.service_model import Service, service_kind


class SqlPopulation(FileModel):
    """SQL script that fills a database before a run."""

    script: str = Field(
        min_length=1,
        description="SQL file, relative to the system file; `${NAME}` in the file is replaced by a value of `values`.",
    )
    values: dict[Name, str | int | float] = Field(
        default_factory=dict, description="Values for `${NAME}` in the script; a study may vary them."
    )


class SqliteSettings(FileModel):
    """Settings of an SQLite database."""

    journal: Literal["wal", "delete", "truncate", "memory", "off"] = Field(
        "wal", description="Journal mode, which determines how transactions are rolled back (`journal_mode`)."
    )
    synchronous: Literal["off", "normal", "full"] = Field(
        "full",
        description=(
            "Frequency of waiting for the disk: `full` at each commit, `normal` at critical moments, `off` never."
        ),
    )
    page: Size = Field(4096, ge=512, le=65536, description="Size of a page of the database (`page_size`).")
    cache: Size | None = Field(None, description="Memory of each session for cached pages; default: that of SQLite.")


@service_kind("sqlite")
class Sqlite(Service):
    """SQLite database, created for each run, in a file that the load generator itself opens."""

    summary: ClassVar[str] = (
        "SQLite database in a file; the load generator itself executes the statements; comes with Towtank"
    )
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "sql"
    is_process: ClassVar[bool] = False

    kind: Literal["sqlite"]
    host: Name = Field(description="Name of the host that has the database file; a host on this machine.")
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores the database; default: the host's file system."
    )
    settings: SqliteSettings = Field(default_factory=SqliteSettings, description="Settings of SQLite.")
    population: SqlPopulation = Field(description="SQL script that fills the database before a run.")
