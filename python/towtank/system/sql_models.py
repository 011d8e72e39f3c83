"""Models of databases in a system file: their populations, and SQLite."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from towtank.fields import FileModel, Name, Size
from towtank.system.service_model import Service, service_kind


class SqlPopulation(FileModel):
    """Population of a database before a run: a script that makes it."""

    script: str = Field(
        min_length=1, description="File of SQL, relative to the system file; `${NAME}` in it are the values below."
    )
    values: dict[Name, str | int | float] = Field(
        default_factory=dict, description="Values of the script by name; a study may vary them."
    )


class SqliteSettings(FileModel):
    """Settings of a database in a file."""

    journal: Literal["wal", "delete", "truncate", "memory", "off"] = Field(
        "wal", description="`journal_mode`: method by which a transaction can be undone."
    )
    synchronous: Literal["off", "normal", "full"] = Field("full", description="Point that a commit waits for.")
    page: Size = Field(4096, ge=512, le=65536, description="`page_size` of the file.")
    cache: Size | None = Field(None, description="Memory for pages of each session; SQLite's default if left out.")


@service_kind("sqlite")
class Sqlite(Service):
    """A SQLite database, created for each run; the engine itself works on it."""

    summary: ClassVar[str] = "SQLite database in a file, worked on in the generator's own process; comes with Towtank"
    serves_http: ClassVar[bool] = False
    driven_by: ClassVar[str | None] = "sql"
    is_process: ClassVar[bool] = False

    kind: Literal["sqlite"]
    host: Name = Field(description="Name of the host that the file is on; one of this machine.")
    disk: Name | None = Field(None, description="Disk of its host that the file lies on.")
    settings: SqliteSettings = Field(default_factory=SqliteSettings, description="Settings.")
    population: SqlPopulation = Field(description="Population before a run.")
