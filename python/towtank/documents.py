"""Converts records to JSON objects, and JSON objects to records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pydantic import AfterValidator, TypeAdapter, ValidationError

_Record = TypeVar("_Record")
_Path = tuple[int | str, ...]


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


class Sparse:
    """Base class of records whose JSON object has no fields that are None."""

    def document(self) -> dict[str, object]:
        return document_without_none(self)


def record_of(kind: type[_Record], document: Mapping[str, Any]) -> _Record:
    """Read a dataclass from a JSON object. A key that is missing or malformed gets the default of its field; of a list
    of JSON objects, only the malformed ones are left out.

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
    read: TypeAdapter[_Record] = _adapter(cast("Hashable", kind))
    return read_usable(read.validate_python, document)


def read_usable(read: Callable[[Mapping[str, Any]], _Record], document: Mapping[str, Any]) -> _Record:
    """Read a JSON object with a function that raises pydantic's error; if it does, read it without its malformed
    entries, as `without_malformed` describes.

    Raises
    ------
    ValueError
        If the object cannot be read without these entries.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    try:
        return read(document)
    except ValidationError as error:
        usable = without_malformed(document, error)
    try:
        return read(usable)
    except ValidationError as error:
        # A list without its malformed entries may be too short.
        wrong = {problem["loc"][0] for problem in error.errors(include_url=False) if problem["loc"]}
        return read({key: value for key, value in usable.items() if key not in wrong})


def malformed(kind: type[object], document: Mapping[str, object]) -> dict[str, str]:
    """Return the malformed entries of a JSON object, which `record_of` leaves out: keys, and the places of JSON objects
    in lists, such as `reasons.2`.

    The value of each entry is its first fault, with the expected and the actual value.

    Examples
    --------
    >>> from towtank.load_level import Load
    >>> malformed(Load, {"kind": "users", "level": "many"})
    {'level': "level must be a number, got 'many' instead"}
    """
    from towtank.problems import place_of, placed_text_of  # noqa: PLC0415 - slow to import

    error = _fault_of(kind, document)
    found: dict[str, str] = {}
    for problem in error.errors(include_url=False) if error is not None else ():
        if path := _entry_of(document, problem):
            found.setdefault(place_of(document, path), placed_text_of(document, problem))
    return found


def usable_entries(kind: type[object], document: Mapping[str, object]) -> Mapping[str, object]:
    """Return a JSON object without the entries that `malformed` names; itself if it has none."""
    error = _fault_of(kind, document)
    return document if error is None else without_malformed(document, error)


def _fault_of(kind: type[object], document: Mapping[str, object]) -> ValidationError | None:
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    try:
        _adapter(cast("Hashable", kind)).validate_python(document)
    except ValidationError as error:
        return error
    return None


def without_malformed(document: Mapping[str, object], error: ValidationError) -> dict[str, object]:
    """Return a JSON object without the entries that an error names as malformed: keys, or JSON objects in lists.

    A malformed number or text in a list makes the whole list malformed, because other lists may belong to its places.
    """
    paths = {path for problem in error.errors(include_url=False) if (path := _entry_of(document, problem))}
    return cast("dict[str, object]", _without(document, paths))


def has_form(form: type[object]) -> AfterValidator:
    """Return an annotation for a JSON object that must have the keys and types of a dataclass. The object remains as it
    is, with its further keys.
    """
    from pydantic import AfterValidator  # noqa: PLC0415 - slow to import

    def check(document: Any) -> Any:
        if document is not None:
            _adapter(cast("Hashable", form)).validate_python(document)
        return document

    return AfterValidator(check)


def _entry_of(document: object, problem: Any) -> _Path:
    """Return the path of the smallest entry that can be left out because of a problem: of the first JSON object in a
    list on the way to it, otherwise of the top key. Empty if the problem concerns the whole document.
    """
    path: _Path = problem["loc"]
    for length, value in enumerate(_values_on(document, path), start=1):
        at_end = length == len(path)
        if isinstance(path[length - 1], int) and (isinstance(value, Mapping) or (at_end and _needs_object(problem))):
            return path[:length]
    return path[:1]


def _values_on(value: Any, path: _Path) -> Iterator[object]:
    """Yield the values at the keys and indices of a path, as far as they exist."""
    for key in path:
        is_index = isinstance(value, list | tuple) and isinstance(key, int) and key < len(value)
        if not is_index and not (isinstance(value, Mapping) and key in value):
            return
        value = value[key]
        yield value


def _needs_object(problem: Any) -> bool:
    return problem["type"] in ("dataclass_type", "dict_type", "mapping_type", "model_type")


def _without(value: Any, paths: set[_Path]) -> Any:
    """Return a nested value without the entries at the given paths."""
    if not paths:
        return value
    inner = {key: {path[1:] for path in paths if path[0] == key and len(path) > 1} for key, *_ in paths}
    gone = {path[0] for path in paths if len(path) == 1}
    if isinstance(value, Mapping):
        return {key: _without(each, inner.get(key, set())) for key, each in value.items() if key not in gone}
    return [_without(each, inner.get(key, set())) for key, each in enumerate(value) if key not in gone]


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
