"""Steps that drivers do: what users ask of servers that do not speak HTTP.

A driver's answer is a table of texts and a count, whatever the driver; so checks and extraction are the same for all.
To add a driver: a class of this form in `CALLS` of `steps`, its scheme in `drivers`, the driver in `crates/drivers`.
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

# Longest part of a statement in the name of a step.
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
    """What answers of all drivers have."""

    # Counts and what the plan calls them.
    counted: ClassVar[dict[str, str]] = {"affected": "affected", "size": "size"}

    affected: CountOrRange | None = Field(None, description="Number of what was changed: exactly, or `{min, max}`.")
    size: BytesOrRange | None = Field(None, description="Bytes received: exactly, or `{min, max}`.")
    value: dict[str, Template | None] = Field(
        default_factory=dict,
        description="Columns and their values in the first row that has one; nothing: that there is one.",
    )

    def plan(self, write: Any) -> list[dict[str, Any]]:
        """The plan's `checks`."""
        checks: list[dict[str, Any]] = []
        for key, kind in self.counted.items():
            bounds = getattr(self, key)
            if bounds is not None:
                checks.append({"kind": kind, **_bounds(bounds)})
        for column, text in self.value.items():
            checks.append({"kind": "value", "column": column, "equals": None if text is None else write(text)})
        return checks


class Expect(Expected):
    """What an answer of a driver must be like; otherwise the step has failed."""

    counted: ClassVar[dict[str, str]] = {"rows": "rows", **Expected.counted}

    rows: CountOrRange | None = Field(None, description="Number of rows: exactly, or `{min, max}`.")


def _bounds(given: CountRange | BytesRange | int) -> dict[str, int]:
    """Bounds as the plan has them; what has no upper bound has no `max`."""
    if isinstance(given, int):
        return {"min": given, "max": given}
    return {"min": given.min, **({} if given.max is None else {"max": given.max})}


class CallExtract(FileModel):
    """What is taken out of an answer of a driver."""

    column: str | None = Field(None, min_length=1, description="Name of the column; the first one if left out.")
    pick: Literal["first", "last", "random", "all", "append", "count"] = Field(
        "first",
        description="Which row; `all` and `append` fill a list of the user, `count` gives the number of rows.",
    )
    required: bool = Field(True, description="Whether the step fails where nothing is found.")
    default: Text | None = Field(None, description="The value where nothing is found; it is then not required.")

    @property
    def fills_list(self) -> bool:
        """Whether the values go into a list rather than a variable."""
        return self.pick in {"all", "append"}


def _extract(value: object) -> object:
    """The name of a column alone stands for its first value."""
    return {"column": value} if isinstance(value, str) else value


class CallStep(FileModel):
    """One call of a driver and what is made of its answer."""

    # What the target must speak.
    speaks: ClassVar[str] = ""

    name: str | None = Field(None, min_length=1, description="Name in the results; what is done by default.")
    target: Name | None = Field(None, description="Target, where there are several that speak it.")
    expect: Expected | None = Field(None, description="What the answer must be like.")
    extract: dict[Name, Annotated[CallExtract, BeforeValidator(_extract, json_schema_input_type=str | CallExtract)]] = (
        Field(default_factory=dict, description="Variables and the columns that go into them.")
    )
    timeout: PositiveTimedDuration | None = Field(
        None, description="Time for the whole answer, where it is not the default one."
    )
    on_failure: Literal["end", "go_on"] = Field("end", description="Whether a failure ends the transaction.")

    @property
    def title(self) -> str:
        """Name of the call in the results, without the secrets of a statement."""
        return self.name or redacted_statement(self.what)

    @property
    def written(self) -> str:
        """Name of the call in the file."""
        return self.name or self.what

    @property
    @abstractmethod
    def what(self) -> str:
        """What is done, in a few words."""

    @abstractmethod
    def operation(self) -> dict[str, Any]:
        """The plan's `do`."""

    @abstractmethod
    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """The values of the operation in their order, each a template or nothing, with its place below the step."""

    def texts(self) -> Iterator[tuple[Path_, str]]:
        """Every template, with its place below the step."""
        yield from ((path, text) for path, text in self.values() if text is not None)
        for column, text in (self.expect.value if self.expect is not None else {}).items():
            if text is not None:
                yield ("expect", "value", column), text


class TableStep(CallStep):
    """One whose answer is a table of rows."""

    expect: Expect | None = Field(None, description="What the answer must be like.")


def _statement(value: str) -> str:
    """A statement is prepared once: what varies are its parameters."""
    if any(not isinstance(part, str) for part in templates.parse(value)):
        raise ValueError(
            f"must be the same statement for all users, with $1 and so on for what varies, got {value!r} instead"
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
        """The statement, or its beginning."""
        words = " ".join(self.sql.split())
        return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"

    def operation(self) -> dict[str, Any]:
        """The statement."""
        return {"kind": "sql", "text": self.sql}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """The parameters."""
        for index, text in enumerate(self.parameters):
            yield ("parameters", index), text


def _size(value: object) -> object:
    """A size, or a template of a number of bytes."""
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
    """Something done with a file below the folder of the target."""

    create: Template | None = Field(None, description="Make this file, empty, and keep it open.")
    open: Template | None = Field(None, description="Open it and keep it open.")
    close: Template | None = Field(None, description="Close it.")
    read: Template | None = Field(None, description="Read `size` bytes of it from `offset`; all of it by default.")
    write: Template | None = Field(None, description="Write `size` bytes into it at `offset`, by default the start.")
    append: Template | None = Field(None, description="Write `size` bytes behind its end.")
    put: Template | None = Field(
        None,
        description="Write `size` bytes into a new file beside it, wait until they are on the disk, and put that into "
        "its place: whoever looks sees the one before or this one, whole.",
    )
    sync: Template | None = Field(None, description="Wait until it is on the disk (`fsync`).")
    stat: Template | None = Field(None, description="Its `size` and `kind`.")
    list: Template | None = Field(None, description="The `name` of each file in this folder.")
    rename: Template | None = Field(None, description="Give it the path `to`.")
    make_folder: Template | None = Field(None, description="Make this folder.")
    delete: Template | None = Field(None, description="Take it away.")
    offset: SizeTemplate | None = Field(None, description="Where in the file, a size or a template of bytes.")
    size: SizeTemplate | None = Field(None, description="How much, a size or a template of bytes.")
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
        """What is done."""
        return next(name for name in _FILE_ACTIONS if getattr(self, name) is not None)


class FileStep(TableStep):
    """An operation on a file."""

    speaks: ClassVar[str] = "file"

    file: FileOperation = Field(description="What is done with which file.")
    stores: Stores = None
    replaces: Replaces = None
    removes: Removes = None
    reads: Reads = None

    @model_validator(mode="after")
    def _noted(self) -> FileStep:
        for does in given(self):
            wanted = {"stores": "put", "replaces": "put", "removes": "delete", "reads": "read"}[does]
            if self.file.action != wanted:
                raise ValueError(f"must {wanted} a file where it {does} something, got {self.file.action} instead")
            if does == "reads" and (self.file.offset is not None or self.file.size is not None):
                raise ValueError("must read the whole file where it reads what is stored, got a part of it")
        return self

    @property
    def what(self) -> str:
        """The action; paths differ from user to user."""
        return self.file.action.replace("_", " ")

    def operation(self) -> dict[str, Any]:
        """The action."""
        return {"kind": "file", "action": self.file.action}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Path, offset, size and other path."""
        yield ("file", self.file.action), getattr(self.file, self.file.action)
        for name in ("offset", "size", "to"):
            yield ("file", name), getattr(self.file, name)


class Bytes(FileModel):
    """Bytes that go there and come back; neither: the connection is made, and that is all."""

    send: SizeTemplate | None = Field(None, description="How much is sent, a size or a template of bytes.")
    text: Template | None = Field(None, description="What is sent before that.")
    receive: SizeTemplate | None = Field(None, description="How much must come back, a size or a template of bytes.")


class Tcp(TableStep):
    """An exchange of bytes over a connection."""

    speaks: ClassVar[str] = "tcp"

    tcp: Bytes = Field(description="How much goes there and comes back.")

    @property
    def what(self) -> str:
        """Which way bytes go."""
        sends = self.tcp.send is not None or self.tcp.text is not None
        receives = self.tcp.receive is not None
        if sends and receives:
            return "exchange"
        return "send" if sends else "receive" if receives else "connect"

    def operation(self) -> dict[str, Any]:
        """An exchange of bytes."""
        return {"kind": "tcp"}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """How much to send, what before that, how much to receive."""
        for name in ("send", "text", "receive"):
            yield ("tcp", name), getattr(self.tcp, name)
