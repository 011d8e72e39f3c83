"""Steps that drivers do: what users ask of servers that do not speak HTTP.

A driver's answer is a table of texts and a count, whatever the driver; so checks and extraction are the same for all.
To add a driver: a class here marked in `CALLS`, its scheme in `drivers`, and the driver itself in `crates/drivers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import FileModel, Name, PositiveDuration, Size, Text, mapping_or_plain
from towtank.workload import templates
from towtank.workload.texts import Template
from towtank.yamlfile import Path_

# Longest part of a statement in the name of a step.
_TITLE_LENGTH = 60
_PARAMETER = re.compile(r"\$(\d+)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*")


class CountRange(FileModel):
    """Bounds of a number."""

    min: int = Field(0, ge=0, description="At least.")
    max: int | None = Field(None, ge=0, description="At most.")


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


class Expect(FileModel):
    """What an answer of a driver must be like; otherwise the step has failed."""

    rows: CountOrRange | None = Field(None, description="Number of rows: exactly, or `{min, max}`.")
    affected: CountOrRange | None = Field(None, description="Number of what was changed: exactly, or `{min, max}`.")
    size: BytesOrRange | None = Field(None, description="Bytes received: exactly, or `{min, max}`.")
    value: dict[str, Template | None] = Field(
        default_factory=dict,
        description="Columns and their values in the first row that has one; nothing: that there is one.",
    )

    def plan(self, write: Any) -> list[dict[str, Any]]:
        """The plan's `checks`."""
        checks: list[dict[str, Any]] = []
        for kind in ("rows", "affected", "size"):
            bounds = getattr(self, kind)
            if bounds is not None:
                checks.append({"kind": kind, **_bounds(bounds)})
        for column, text in self.value.items():
            checks.append({"kind": "value", "column": column, "equals": None if text is None else write(text)})
        return checks


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
    expect: Expect | None = Field(None, description="What the answer must be like.")
    extract: dict[Name, Annotated[CallExtract, BeforeValidator(_extract, json_schema_input_type=str | CallExtract)]] = (
        Field(default_factory=dict, description="Variables and the columns that go into them.")
    )
    timeout: PositiveDuration | None = Field(
        None, description="Time for the whole answer, where it is not the default one."
    )
    on_failure: Literal["end", "go_on"] = Field("end", description="Whether a failure ends the transaction.")

    @property
    def title(self) -> str:
        """Name of the call in the results."""
        return self.name or self.what

    @property
    def what(self) -> str:
        """What is done, in a few words."""
        raise NotImplementedError

    def operation(self) -> dict[str, Any]:
        """The plan's `do`."""
        raise NotImplementedError

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """The values of the operation in their order, each a template or nothing, with its place below the step."""
        raise NotImplementedError

    def texts(self) -> Iterator[tuple[Path_, str]]:
        """Every template, with its place below the step."""
        yield from ((path, text) for path, text in self.values() if text is not None)
        for column, text in (self.expect.value if self.expect is not None else {}).items():
            if text is not None:
                yield ("expect", "value", column), text


def _statement(value: str) -> str:
    """A statement is prepared once: what varies are its parameters."""
    if any(not isinstance(part, str) for part in templates.parse(value)):
        raise ValueError(
            f"must be the same statement for all users, with $1 and so on for what varies, got {value!r} instead"
        )
    return value


class Sql(CallStep):
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
        most = max((int(number) for number in _PARAMETER.findall(_QUOTED.sub("", self.sql))), default=0)
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


CALLS: dict[str, type[CallStep]] = {"sql": Sql}
"""Steps of drivers by the key that tells them."""
