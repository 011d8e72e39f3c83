"""Defines the strict base class of the pydantic models of all input files, and fields for quantities with units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from towtank import units

# Reference to a parameter of the workload. It is replaced by the value of the parameter before the file is checked.
PARAMETER = r"\$\{\s*parameters\.[A-Za-z][\w-]*\s*\}"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,79}")


class FileModel(BaseModel):
    """Base class of the pydantic models of all files. It refuses unknown keys and never converts types; objects are
    immutable.
    """

    # With `defer_build`, each pydantic model is built when it is first used. This saves time, because a command uses
    # few of the many models.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, serialize_by_alias=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _name_known_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            if not any(problem["type"] == "extra_forbidden" for problem in problems):
                raise
            known = [info.alias or name for name, info in cls.model_fields.items()]
            details = [_detail(problem, known) for problem in problems]
        raise ValidationError.from_exception_data(cls.__name__, details)


def _detail(problem: Any, known: list[str]) -> InitErrorDetails:
    """Convert a pydantic error to the form that pydantic raises again; the error for an unknown key gets the known
    keys.
    """
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden" and len(problem["loc"]) == 1:
        kind, context = "unknown_key", {"known": known}
    message = problem["msg"].replace("{", "{{").replace("}", "}}")
    return InitErrorDetails(
        type=PydanticCustomError(kind, message, context), loc=problem["loc"], input=problem["input"]
    )


def _schema(units_by_name: Iterable[str], *examples: str) -> WithJsonSchema:
    allowed = "|".join(re.escape(unit) for unit in units_by_name)
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^(\s*\d+(\.\d+)?([eE][+-]?\d+)?\s*({allowed})\s*|{PARAMETER})$",
            "examples": list(examples),
        }
    )


def mapping_or_plain(value: Any) -> str:
    """Return the tag that selects between the two forms of a value in a file: a mapping, or a plain value such as a
    text.
    """
    return "<mapping>" if isinstance(value, dict | FileModel) else "<plain>"


def one_or_more(value: object) -> object:
    """Return a value as a list; a single value becomes a list with one element."""
    return value if isinstance(value, list) else [value]


def check_name(value: object) -> str:
    """Return the value if it is a valid name, otherwise raise `ValueError`. [at most 80 characters]"""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"must be a name of letters, digits, _ and -, beginning with a letter, got {value!r} instead")
    return value


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be above 0, got 0 instead")
    return value


def _regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"must be a regular expression, got {units.shown(value)} instead: {error}") from error
    return value


def _text(value: object) -> object:
    """Turn a number or boolean back into text, because YAML reads an unquoted `5` or `true` as such."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return value


def _writer(exact: Callable[[Any], str]) -> PlainSerializer:
    """Return a serializer that writes quantities with their unit, so that a model can be read back from its JSON."""
    return PlainSerializer(exact, return_type=str, when_used="json-unless-none")


Duration = Annotated[
    float,
    BeforeValidator(units.duration),
    _writer(units.exact_duration),
    _schema(units.DURATION_UNITS, "3 s", "150 ms", "90 min"),
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
Size = Annotated[
    int, BeforeValidator(units.size), _writer(units.exact_size), _schema(units.SIZE_UNITS, "8 GiB", "512 KiB")
]
Rate = Annotated[
    float, BeforeValidator(units.rate), _writer(units.exact_rate), _schema(units.RATE_UNITS, "100 /s", "5 /h")
]
DataRate = Annotated[
    float,
    BeforeValidator(units.data_rate),
    _writer(units.exact_data_rate),
    _schema(units.DATA_RATE_UNITS, "125 MiB/s", "1 Gbit/s"),
    AfterValidator(_positive),
]
PositiveRate = Annotated[Rate, AfterValidator(_positive)]
Share = Annotated[float, BeforeValidator(units.share), _writer(units.exact_share), _schema(units.SHARE_UNITS, "70 %")]
Name = Annotated[str, AfterValidator(check_name)]
# Pattern of a text that needs no quotes in an SQL statement, an address or an options file.
Word = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.~-]+$")]
Text = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
RegularExpression = Annotated[str, Field(min_length=1), AfterValidator(_regular_expression)]
