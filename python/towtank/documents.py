"""Converts records to JSON objects, and JSON objects to records."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_Record = TypeVar("_Record")


def document_of(record: object) -> dict[str, object]:
    """Return a dataclass instance as a JSON object whose keys are the names of the fields. Tuples become lists.

    Examples
    --------
    >>> from towtank.load_level import Load
    >>> document_of(Load("users", 20))
    {'kind': 'users', 'level': 20}
    """
    assert is_dataclass(record)
    return {field.name: plain(getattr(record, field.name)) for field in fields(record)}


def document_without_none(record: object) -> dict[str, object]:
    """Return a dataclass instance as `document_of` does, without the fields that are None."""
    return {key: value for key, value in document_of(record).items() if value is not None}


def record_of(kind: type[_Record], document: Mapping[str, Any]) -> _Record:
    """Read a dataclass from a JSON object. A key that is missing or malformed gets the default of its field.

    Raises
    ------
    ValueError
        If a field without a default is missing or malformed.

    Examples
    --------
    >>> from towtank.load_level import Load
    >>> record_of(Load, {"kind": "users", "level": 20})
    Load(kind='users', level=20.0)
    """
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    read: TypeAdapter[_Record] = _adapter(cast("Hashable", kind))
    try:
        return read.validate_python(document)
    except ValidationError as error:
        return read.validate_python(without_malformed(document, error))


def malformed(kind: type[object], document: Mapping[str, object]) -> dict[str, str]:
    """Return the malformed keys of a JSON object, to which `record_of` gives the defaults of their fields.

    The value of each key is its first fault, with the expected and the actual value.

    Examples
    --------
    >>> from towtank.load_level import Load
    >>> malformed(Load, {"kind": "users", "level": "many"})
    {'level': "level must be a number, got 'many' instead"}
    """
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    from towtank.treecheck import placed_text_of  # noqa: PLC0415 - slow to import

    try:
        _adapter(cast("Hashable", kind)).validate_python(document)
    except ValidationError as error:
        found: dict[str, str] = {}
        for problem in error.errors(include_url=False):
            for key in problem["loc"][:1]:
                found.setdefault(str(key), placed_text_of(problem))
        return found
    return {}


def without_malformed(document: Mapping[str, object], error: ValidationError) -> dict[str, object]:
    """Return a JSON object without the keys whose values an error names as malformed."""
    wrong = {problem["loc"][0] for problem in error.errors(include_url=False) if problem["loc"]}
    return {key: value for key, value in document.items() if key not in wrong}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import

    return TypeAdapter(kind)


def plain(value: object) -> object:
    """Return a value as JSON: dataclass instances become objects, tuples become lists."""
    if (document := getattr(value, "document", None)) is not None:
        return document()
    if is_dataclass(value):
        return document_of(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return list(map(plain, value)) if isinstance(value, list | tuple) else value
