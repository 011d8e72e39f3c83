"""Defines the steps for SQL, files and TCP.

Each driver returns its response as a table of texts and a number of rows, so that checks and extraction are the same
for all drivers. To add a driver, add its step class to `CALLS` in `steps`, its scheme to `drivers`, and its code to
`crates/drivers`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import FileModel, Name, Size, Text, mapping_or_plain
from towtank.secrets import redacted_statement
from towtank.units import SIZE_AT_MOST, size
from towtank.workload import statements, templates
from towtank.workload.durations import PositiveTimedDuration
from towtank.workload.noted import Reads, Removes, Replaces, Stores, given
from towtank.workload.texts import Template
from towtank.yamlfile import Path_

if TYPE_CHECKING:
    from towtank.workload.steps import SizeRange

# Longest step name that is derived from an SQL statement; longer names are truncated. [characters]
_TITLE_LENGTH = 60


class CountRange(FileModel):
    """Smallest and largest number of rows or entries that pass a check."""

    min: int = Field(0, ge=0, le=SIZE_AT_MOST, description="Smallest number that passes the check.")
    max: int | None = Field(
        None, ge=0, le=SIZE_AT_MOST, description="Largest number that passes the check; default: no upper limit."
    )


class BytesRange(FileModel):
    """Smallest and largest number of bytes in a response that pass a check."""

    min: Size = Field(0, description="Smallest number of bytes that passes the check.")
    max: Size | None = Field(
        None, description="Largest number of bytes that passes the check; default: no upper limit."
    )


def _plain_or_range(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise ValueError(f"must be a number from 0, or {{min, max}}, got {value!r} instead")
    return {"min": value, "max": value} if isinstance(value, int) else value


CountOrRange = Annotated[CountRange, BeforeValidator(_plain_or_range, json_schema_input_type=int | CountRange)]
BytesOrRange = Annotated[
    Annotated[BytesRange, Tag("<mapping>")] | Annotated[Size, Tag("<plain>")], Discriminator(mapping_or_plain)
]


class Expected(FileModel):
    """Checks of a response, available for every protocol except HTTP."""

    # Checks that compare a number with bounds. Maps the key in the workload file to the name of the check in the
    # engine's plan.
    counted: ClassVar[dict[str, str]] = {"affected": "affected", "size": "size"}

    affected: CountOrRange | None = Field(
        None, description="Required number of changed rows or directory entries: a number, or `{min, max}`."
    )
    size: BytesOrRange | None = Field(None, description="Required number of bytes received: a number, or `{min, max}`.")
    value: dict[str, Template | None] = Field(
        default_factory=dict,
        description=(
            "Required value of each named column, in the first row that has a value there; null accepts any value."
        ),
    )

    def plan(self, write: Any) -> list[dict[str, object]]:
        """Return the checks in the form of the engine's plan (key `checks`).

        `write` is a function that converts a template for the engine's plan.
        """
        checks: list[dict[str, object]] = []
        for key, kind in self.counted.items():
            bounds = getattr(self, key)
            if bounds is not None:
                checks.append({"kind": kind, **bounds_of(bounds)})
        for column, text in self.value.items():
            checks.append({"kind": "value", "column": column, "equals": None if text is None else write(text)})
        return checks


class Expect(Expected):
    """Checks of a response with rows. The step fails if a check fails."""

    counted: ClassVar[dict[str, str]] = {"rows": "rows", **Expected.counted}

    rows: CountOrRange | None = Field(
        None, description="Required number of rows in the response: a number, or `{min, max}`."
    )


def bounds_of(given: CountRange | BytesRange | SizeRange | int) -> dict[str, int]:
    """Return the bounds of a range for the engine's plan; `max` is omitted if the range has no upper bound."""
    if isinstance(given, int):
        return {"min": given, "max": given}
    return {"min": given.min, **({} if given.max is None else {"max": given.max})}


class CallExtract(FileModel):
    """Value to extract from a response with rows."""

    column: str | None = Field(
        None, min_length=1, description="Name of the column to extract; default: the first column."
    )
    pick: Literal["first", "last", "random", "all", "append", "count"] = Field(
        "first",
        description=(
            "Row to extract: `all` fills a list, `append` extends a list, `count` extracts the number of rows."
        ),
    )
    required: bool = Field(True, description="If true, the step fails if there is no value to extract.")
    default: Text | None = Field(
        None, description="Value of the variable if there is no value to extract; the step does not fail then."
    )

    @property
    def fills_list(self) -> bool:
        """True if the extracted values go into a list and not into a variable."""
        return self.pick in {"all", "append"}


def _extract(value: object) -> object:
    """Convert a column name without further keys to an extraction of the first value in this column."""
    return {"column": value} if isinstance(value, str) else value


class CallStep(FileModel):
    """Step that calls a server, with checks of the response and values to extract."""

    # Protocol of this kind of call; the target of the call must have the same protocol.
    speaks: ClassVar[str] = ""

    name: str | None = Field(None, min_length=1, description="Name of the step in the results; default: the operation.")
    target: Name | None = Field(None, description="Name of the target; required if several targets speak the protocol.")
    expect: Expected | None = Field(None, description="Checks of the response; the step fails if one of them fails.")
    extract: dict[Name, Annotated[CallExtract, BeforeValidator(_extract, json_schema_input_type=str | CallExtract)]] = (
        Field(
            default_factory=dict,
            description="Variables to set, each with the column of the response that is its value.",
        )
    )
    timeout: PositiveTimedDuration | None = Field(
        None, description="Time limit of the whole response; default: `defaults.timeout`."
    )
    on_failure: Literal["end", "go_on"] = Field(
        "end",
        description="After a failure of this step: `end` ends the transaction, `go_on` continues with the next step.",
    )

    @property
    def title(self) -> str:
        """Name of the call in the results, with the secrets of an SQL statement hidden."""
        return self.name or redacted_statement(self.what)

    @property
    def written(self) -> str:
        """Name of the call as written in the file, including secrets that `title` hides."""
        return self.name or self.what

    @property
    @abstractmethod
    def what(self) -> str:
        """Short name of the operation that this call performs, used if the step has no name."""

    @abstractmethod
    def operation(self) -> dict[str, object]:
        """Return the operation of the call in the form of the engine's plan, where it is the value of the key `do`."""

    @abstractmethod
    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the values of the operation in order.

        Each element is a pair: the path of the value below the step, and the template of the value, or None if it is
        not set.
        """

    def texts(self) -> Iterator[tuple[Path_, str]]:
        """Yield every template of the step with the path of its key below the step."""
        yield from ((path, text) for path, text in self.values() if text is not None)
        for column, text in (self.expect.value if self.expect is not None else {}).items():
            if text is not None:
                yield ("expect", "value", column), text


class TableStep(CallStep):
    """Call whose response is a table of rows."""

    expect: Expect | None = Field(None, description="Checks of the response; the step fails if one of them fails.")


def _statement(value: str) -> str:
    """Raise ValueError for a placeholder `${...}` in an SQL statement.

    Each session prepares the statement once, so only its parameters can vary.
    """
    if any(not isinstance(part, str) for part in templates.parse(value)):
        raise ValueError(
            f"must be the same statement for all users, with $1 and so on for values that vary, got {value!r} instead"
        )
    return value


class Sql(TableStep):
    """SQL statement. Each session of the database prepares the statement at its first use."""

    speaks: ClassVar[str] = "sql"

    sql: Annotated[str, Field(min_length=1), AfterValidator(_statement)] = Field(
        description=(
            "SQL statement to execute, with the parameters `$1`, `$2` and so on; `begin`, `commit` and "
            "`rollback` are allowed."
        )
    )
    parameters: list[Template | None] = Field(
        default_factory=list,
        description="Values of the parameters `$1`, `$2` and so on, in this order; null is SQL's NULL.",
    )

    @model_validator(mode="after")
    def _whole(self) -> Sql:
        most = statements.parameters(self.sql)
        if most > statements.MOST:
            raise ValueError(f"must have parameters up to ${statements.MOST}, got ${most} instead")
        if most != len(self.parameters):
            raise ValueError(
                f"must have one value for each of {most} parameters of the statement, got {len(self.parameters)}"
            )
        return self

    @property
    def what(self) -> str:
        """Text of the SQL statement, shortened if it is long."""
        words = " ".join(self.sql.split())
        return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"

    def operation(self) -> dict[str, object]:
        return {"kind": "sql", "text": self.sql}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the parameters of the SQL statement, each with the path of its key below the step."""
        for index, text in enumerate(self.parameters):
            yield ("parameters", index), text


def _size(value: object) -> object:
    """Convert a size to a text with its number of bytes; return a valid template unchanged."""
    if isinstance(value, str) and "${" in value:
        return templates.check(value)
    return str(size(value))


SizeTemplate = Annotated[str, BeforeValidator(_size, json_schema_input_type=str)]

_FILE_ACTIONS = {
    "create": ("size",),
    "open": (),
    "close": (),
    "read": ("offset", "size"),
    "write": ("offset", "size"),
    "append": ("size",),
    "put": ("size",),
    "sync": (),
    "stat": (),
    "list": (),
    "rename": ("to",),
    "make_folder": (),
    "delete": (),
}


class FileOperation(FileModel):
    """Operation on a file below the folder of the target."""

    create: Template | None = Field(None, description="Path of a file to create; the new file is empty and stays open.")
    open: Template | None = Field(None, description="Path of a file to open; the file stays open.")
    close: Template | None = Field(None, description="Path of an open file to close.")
    read: Template | None = Field(
        None, description="Path of a file to read: `size` bytes from position `offset`; default: the whole file."
    )
    write: Template | None = Field(
        None,
        description="Path of a file to write `size` bytes into, at position `offset`; default position: the start.",
    )
    append: Template | None = Field(None, description="Path of a file to append `size` bytes to.")
    put: Template | None = Field(
        None,
        description=(
            "Path of a file to replace atomically with `size` new bytes: a new file is written, synced to "
            "disk and renamed."
        ),
    )
    sync: Template | None = Field(None, description="Path of a file to flush to the disk with `fsync`.")
    stat: Template | None = Field(
        None, description="Path of a file to examine; the response has its `size` and `kind`."
    )
    list: Template | None = Field(
        None, description="Path of a folder to list; the response has the `name` of each file."
    )
    rename: Template | None = Field(None, description="Path of a file to rename; `to` is the new path.")
    make_folder: Template | None = Field(None, description="Path of a folder to create.")
    delete: Template | None = Field(None, description="Path of a file to delete.")
    offset: SizeTemplate | None = Field(
        None,
        description="Position in the file where a read or write starts, in bytes: a size, or a template of a number.",
    )
    size: SizeTemplate | None = Field(
        None, description="Number of bytes to read or write: a size, or a template of a number."
    )
    to: Template | None = Field(None, description="New path of a file that is renamed.")

    @model_validator(mode="after")
    def _one(self) -> FileOperation:
        given = [name for name in _FILE_ACTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"must have one of {', '.join(_FILE_ACTIONS)}, got {' and '.join(given) or 'none'} instead"
            )
        allowed = _FILE_ACTIONS[given[0]] if given[0] != "create" else ()
        extra = [name for name in ("offset", "size", "to") if getattr(self, name) is not None and name not in allowed]
        if extra:
            raise ValueError(f"must not have {' and '.join(extra)} with {given[0]}")
        needed = {"write": "size", "append": "size", "put": "size", "rename": "to"}.get(given[0])
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"must have {needed} with {given[0]}, got none")
        path = getattr(self, given[0])
        if path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"must have a path below the folder of the target, got {path!r} instead")
        return self

    @property
    def action(self) -> str:
        """Key that selects the operation, such as `read`."""
        return next(name for name in _FILE_ACTIONS if getattr(self, name) is not None)


class FileStep(TableStep):
    """Step that performs an operation on a file."""

    speaks: ClassVar[str] = "file"

    file: FileOperation = Field(description="Operation on a file, for example `{read: PATH}`.")
    stores: Stores = None
    replaces: Replaces = None
    removes: Removes = None
    reads: Reads = None

    @model_validator(mode="after")
    def _noted(self) -> FileStep:
        for does in given(self):
            wanted = {"stores": "put", "replaces": "put", "removes": "delete", "reads": "read"}[does]
            if self.file.action != wanted:
                raise ValueError(f"must be {wanted} for a step that {does} an item, got {self.file.action} instead")
            if does == "reads" and (self.file.offset is not None or self.file.size is not None):
                raise ValueError("must read the whole file if it reads stored content, got a part of it")
        return self

    @property
    def what(self) -> str:
        """Name of the operation, such as `read`, without the path of the file, which differs between virtual users."""
        return self.file.action.replace("_", " ")

    def operation(self) -> dict[str, object]:
        return {"kind": "file", "action": self.file.action}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the file, the offset, the size and the new path of the file, each with the path of its key below the
        step.
        """
        yield ("file", self.file.action), getattr(self.file, self.file.action)
        for name in ("offset", "size", "to"):
            yield ("file", name), getattr(self.file, name)


class Bytes(FileModel):
    """Bytes to send and to receive; if neither is set, the step only opens the connection."""

    send: SizeTemplate | None = Field(
        None, description="Number of generated bytes to send: a size, or a template of a number."
    )
    text: Template | None = Field(None, description="Text to send before the generated bytes of `send`.")
    receive: SizeTemplate | None = Field(
        None, description="Number of bytes to wait for: a size, or a template of a number."
    )


class Tcp(TableStep):
    """Exchange of bytes over a TCP connection."""

    speaks: ClassVar[str] = "tcp"

    tcp: Bytes = Field(description="Bytes to send over the connection and bytes to wait for.")

    @property
    def what(self) -> str:
        """Name of the operation: `exchange`, `send`, `receive` or `connect`."""
        sends = self.tcp.send is not None or self.tcp.text is not None
        receives = self.tcp.receive is not None
        if sends and receives:
            return "exchange"
        return "send" if sends else "receive" if receives else "connect"

    def operation(self) -> dict[str, object]:
        return {"kind": "tcp"}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the number of bytes to send, the text that precedes these bytes, and the number of bytes to receive."""
        for name in ("send", "text", "receive"):
            yield ("tcp", name), getattr(self.tcp, name)
