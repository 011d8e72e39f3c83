"""Steps of drivers: calls to servers that do not speak HTTP.

The response of every driver is a table of texts and a count, so that checks and extraction are the same for all.
To add a driver: a step class in `CALLS` of `steps`, its scheme in `drivers`, and the driver in `crates/drivers`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import FileModel, Name, Size, Text, mapping_or_plain
from towtank.secrets import redacted_statement
from towtank.units import SIZE_AT_MOST, size
from towtank.workload import statements, templates
from towtank.workload.durations import PositiveTimedDuration
from towtank.workload.noted import Reads, Removes, Replaces, Stores, given
from towtank.workload.texts import Template
from towtank.yamlfile import Path_

# Greatest length of a statement that serves as the name of a step. [characters]
_TITLE_LENGTH = 60


class CountRange(FileModel):
    """Bounds of a number."""

    min: int = Field(0, ge=0, le=SIZE_AT_MOST, description="At least.")
    max: int | None = Field(None, ge=0, le=SIZE_AT_MOST, description="At most.")


class BytesRange(FileModel):
    """Bounds of a number of bytes."""

    min: Size = Field(0, description="At least.")
    max: Size | None = Field(None, description="At most.")


def _plain_or_range(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise ValueError(f"must be a number from 0, or {{min, max}}, got {value!r} instead")
    return {"min": value, "max": value} if isinstance(value, int) else value


CountOrRange = Annotated[CountRange, BeforeValidator(_plain_or_range, json_schema_input_type=int | CountRange)]
BytesOrRange = Annotated[
    Annotated[BytesRange, Tag("<mapping>")] | Annotated[Size, Tag("<plain>")], Discriminator(mapping_or_plain)
]


class Expected(FileModel):
    """Checks that every driver supports."""

    # Keys of numeric checks, with the names of the checks in the plan.
    counted: ClassVar[dict[str, str]] = {"affected": "affected", "size": "size"}

    affected: CountOrRange | None = Field(
        None, description="Number of rows or entries that were changed: exactly, or `{min, max}`."
    )
    size: BytesOrRange | None = Field(None, description="Bytes received: exactly, or `{min, max}`.")
    value: dict[str, Template | None] = Field(
        default_factory=dict,
        description="Columns and their values in the first row that has a value; nothing: any value.",
    )

    def plan(self, write: Any) -> list[dict[str, Any]]:
        """Return the `checks` of the plan; `write` converts a template."""
        checks: list[dict[str, Any]] = []
        for key, kind in self.counted.items():
            bounds = getattr(self, key)
            if bounds is not None:
                checks.append({"kind": kind, **_bounds(bounds)})
        for column, text in self.value.items():
            checks.append({"kind": "value", "column": column, "equals": None if text is None else write(text)})
        return checks


class Expect(Expected):
    """Checks of the answer of a driver; the step fails if one of them fails."""

    counted: ClassVar[dict[str, str]] = {"rows": "rows", **Expected.counted}

    rows: CountOrRange | None = Field(None, description="Number of rows: exactly, or `{min, max}`.")


def _bounds(given: CountRange | BytesRange | int) -> dict[str, int]:
    """Return bounds in the form of the plan; without an upper bound, `max` is left out."""
    if isinstance(given, int):
        return {"min": given, "max": given}
    return {"min": given.min, **({} if given.max is None else {"max": given.max})}


class CallExtract(FileModel):
    """An extraction of a value from the answer of a driver."""

    column: str | None = Field(None, min_length=1, description="Name of the column; the first one if left out.")
    pick: Literal["first", "last", "random", "all", "append", "count"] = Field(
        "first",
        description="Row to extract; `all` and `append` fill a list of the user, `count` gives the number of rows.",
    )
    required: bool = Field(True, description="Whether the step fails if nothing is found.")
    default: Text | None = Field(None, description="The value if nothing is found; it is then not required.")

    @property
    def fills_list(self) -> bool:
        """True if the values go into a list rather than a variable."""
        return self.pick in {"all", "append"}


def _extract(value: object) -> object:
    """Read a plain column name as an extraction of that column's first value."""
    return {"column": value} if isinstance(value, str) else value


class CallStep(FileModel):
    """A call of a driver, with the checks of its answer and the values extracted from it."""

    # Protocol of the targets that the call can use.
    speaks: ClassVar[str] = ""

    name: str | None = Field(None, min_length=1, description="Name in the results; by default the operation.")
    target: Name | None = Field(None, description="Target, if several targets speak the protocol.")
    expect: Expected | None = Field(None, description="Checks of the answer.")
    extract: dict[Name, Annotated[CallExtract, BeforeValidator(_extract, json_schema_input_type=str | CallExtract)]] = (
        Field(default_factory=dict, description="Variables and the columns that go into them.")
    )
    timeout: PositiveTimedDuration | None = Field(
        None, description="Time limit of the whole answer, in place of the default."
    )
    on_failure: Literal["end", "go_on"] = Field(
        "end", description="Whether a failure ends the transaction, or the next step follows."
    )

    @property
    def title(self) -> str:
        """Name of the call in the results, with secrets in a statement hidden."""
        return self.name or redacted_statement(self.what)

    @property
    def written(self) -> str:
        """Name of the call as written in the file."""
        return self.name or self.what

    @property
    @abstractmethod
    def what(self) -> str:
        """Short name of the operation."""

    @abstractmethod
    def operation(self) -> dict[str, Any]:
        """Return the operation, the `do` of the plan."""

    @abstractmethod
    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the values of the operation in order: the path below the step, and a template or None."""

    def texts(self) -> Iterator[tuple[Path_, str]]:
        """Yield every template with its path below the step."""
        yield from ((path, text) for path, text in self.values() if text is not None)
        for column, text in (self.expect.value if self.expect is not None else {}).items():
            if text is not None:
                yield ("expect", "value", column), text


class TableStep(CallStep):
    """A call whose answer is a table of rows."""

    expect: Expect | None = Field(None, description="Checks of the answer.")


def _statement(value: str) -> str:
    """Refuse `${...}` in a statement: a statement is prepared once, and only its parameters vary."""
    if any(not isinstance(part, str) for part in templates.parse(value)):
        raise ValueError(
            f"must be the same statement for all users, with $1 and so on for values that vary, got {value!r} instead"
        )
    return value


class Sql(TableStep):
    """A statement of SQL, prepared by every session at its first use."""

    speaks: ClassVar[str] = "sql"

    sql: Annotated[str, Field(min_length=1), AfterValidator(_statement)] = Field(
        description="The statement, with `$1`, `$2` and so on; `begin`, `commit` and `rollback` too."
    )
    parameters: list[Template | None] = Field(
        default_factory=list, description="Values of `$1`, `$2` and so on; nothing stands for NULL."
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
        """The statement, shortened if it is long."""
        words = " ".join(self.sql.split())
        return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"

    def operation(self) -> dict[str, Any]:
        """Return the statement in the form of the plan."""
        return {"kind": "sql", "text": self.sql}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the parameters."""
        for index, text in enumerate(self.parameters):
            yield ("parameters", index), text


def _size(value: object) -> object:
    """Read a size, or check a template for a number of bytes."""
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
    """An operation on a file below the folder of the target."""

    create: Template | None = Field(None, description="Make this file, empty, and keep it open.")
    open: Template | None = Field(None, description="Open it and keep it open.")
    close: Template | None = Field(None, description="Close it.")
    read: Template | None = Field(None, description="Read `size` bytes of it from `offset`; all of it by default.")
    write: Template | None = Field(None, description="Write `size` bytes into it at `offset`, by default the start.")
    append: Template | None = Field(None, description="Write `size` bytes after its end.")
    put: Template | None = Field(
        None,
        description="Write `size` bytes into a new file beside it, wait until they are on the disk, and rename it to "
        "this path: readers see the old file or the new file, never a part.",
    )
    sync: Template | None = Field(None, description="Wait until it is on the disk (`fsync`).")
    stat: Template | None = Field(None, description="Its `size` and `kind`.")
    list: Template | None = Field(None, description="List the `name` of each file in this folder.")
    rename: Template | None = Field(None, description="Give it the path `to`.")
    make_folder: Template | None = Field(None, description="Make this folder.")
    delete: Template | None = Field(None, description="Delete it.")
    offset: SizeTemplate | None = Field(
        None, description="Position in the file: a size, or a template of a number of bytes."
    )
    size: SizeTemplate | None = Field(None, description="Number of bytes: a size, or a template of a number of bytes.")
    to: Template | None = Field(None, description="The new path.")

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
        """Key of the given operation."""
        return next(name for name in _FILE_ACTIONS if getattr(self, name) is not None)


class FileStep(TableStep):
    """An operation on a file."""

    speaks: ClassVar[str] = "file"

    file: FileOperation = Field(description="The operation and its file.")
    stores: Stores = None
    replaces: Replaces = None
    removes: Removes = None
    reads: Reads = None

    @model_validator(mode="after")
    def _noted(self) -> FileStep:
        for does in given(self):
            wanted = {"stores": "put", "replaces": "put", "removes": "delete", "reads": "read"}[does]
            if self.file.action != wanted:
                raise ValueError(f"must {wanted} a file if it {does} something, got {self.file.action} instead")
            if does == "reads" and (self.file.offset is not None or self.file.size is not None):
                raise ValueError("must read the whole file if it reads stored content, got a part of it")
        return self

    @property
    def what(self) -> str:
        """Name of the operation; paths are left out because they differ from user to user."""
        return self.file.action.replace("_", " ")

    def operation(self) -> dict[str, Any]:
        """Return the operation in the form of the plan."""
        return {"kind": "file", "action": self.file.action}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the path, offset, size and new path."""
        yield ("file", self.file.action), getattr(self.file, self.file.action)
        for name in ("offset", "size", "to"):
            yield ("file", name), getattr(self.file, name)


class Bytes(FileModel):
    """Bytes in both directions; without either, the connection is made and nothing is sent."""

    send: SizeTemplate | None = Field(
        None, description="Number of bytes to send: a size, or a template of a number of bytes."
    )
    text: Template | None = Field(None, description="Text to send before these bytes.")
    receive: SizeTemplate | None = Field(
        None, description="Number of bytes that must be received: a size, or a template of a number of bytes."
    )


class Tcp(TableStep):
    """An exchange of bytes over a connection."""

    speaks: ClassVar[str] = "tcp"

    tcp: Bytes = Field(description="Bytes that are sent and received.")

    @property
    def what(self) -> str:
        """Direction of the transfer: `exchange`, `send`, `receive` or `connect`."""
        sends = self.tcp.send is not None or self.tcp.text is not None
        receives = self.tcp.receive is not None
        if sends and receives:
            return "exchange"
        return "send" if sends else "receive" if receives else "connect"

    def operation(self) -> dict[str, Any]:
        """Return the exchange in the form of the plan."""
        return {"kind": "tcp"}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the number of bytes to send, the text before them, and the number of bytes to receive."""
        for name in ("send", "text", "receive"):
            yield ("tcp", name), getattr(self.tcp, name)
