"""Words about the problems that pydantic finds in a document: their place, and the expected and the actual value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from towtank.spelling import Misspelt, did_you_mean, meant
from towtank.units import shown

# Names of union branches, which pydantic adds to the path of an error.
_BRANCHES = re.compile(r"^(str|int|float|bool|dict\[.*|list\[.*|[A-Z]\w+|constrained-\w+|function-.*)$")
_MUST_BE = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "mapping_type": "must be a mapping of keys to values",
    "dataclass_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "none_required": "must be nothing",
    "string_too_short": "must not be empty",
}
# For each type of pydantic error: the key of the violated bound in the error's context, and the template of the
# message.
_BOUNDS = {
    "greater_than": ("gt", "must be above {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be below {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "too_short": ("min_length", "must have at least {} entries"),
    "too_long": ("max_length", "must have at most {} entries"),
    "string_pattern_mismatch": ("pattern", "must be text that matches {}"),
}


def is_missing(problem: Any) -> bool:
    """Return True if a problem is that a key is missing."""
    return bool(problem["type"] == "missing")


def message_of(problem: Any) -> str:
    """Return a message with the expected value and the actual value of a problem that pydantic found."""
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    got = f", got {shown(value)} instead"
    if kind == "literal_error":
        expected = context["expected"]
        words = re.findall(r"'([^']*)'", expected)
        message = f"must be {expected.replace(chr(39), '')}{got}{did_you_mean(value, words)}"
        return Misspelt.of(message, meant(value, words, is_form=True))
    if kind in _BOUNDS:
        key, form = _BOUNDS[kind]
        seen = context.get("actual_length")
        bound = context[key]
        bound = int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        return form.format(bound) + (got if seen is None else f", got {seen} instead")
    if kind == "value_error" and (said := str(context["error"])).startswith("must"):
        return said
    if kind in _MUST_BE:
        return _MUST_BE[kind] + got
    message = problem["msg"]
    return message if message.startswith("must") else f"must be right: {message}{got}"


def place_of(document: object, location: Iterable[int | str]) -> str:
    """Return the path of an error of pydantic in a document as text, such as `runs[1].name`, without the names of union
    branches, which are no keys of the document.
    """
    path = ""
    value: Any = document
    for depth, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
        # The first part is always a key, which may be missing.
        elif depth == 0 or (isinstance(value, Mapping) and part in value) or not _BRANCHES.match(part):
            path += f".{part}" if path else part
        else:
            continue
        value = _entry(value, part)
    return path


def _entry(value: Any, key: int | str) -> object:
    try:
        return value[key]
    except (IndexError, KeyError, TypeError):
        return None


def text_of(problem: Any) -> str:
    """Return a message as `message_of` does, also about a missing key."""
    return _object_and_text(problem)[1]


def placed_text_of(document: object, problem: Any) -> str:
    """Return the path of a problem in a document and a message, such as `users.asked must be a number, got 'many'
    instead`.
    """
    location, text = _object_and_text(problem)
    return f"{place_of(document, location)} {text}".strip()


def _object_and_text(problem: Any) -> tuple[tuple[int | str, ...], str]:
    """Return the path of the value that must change, and the message; for a missing key, that of its mapping."""
    location = problem["loc"]
    if is_missing(problem):
        return location[:-1], f"must have the key {str(location[-1])!r}, got none"
    return location, message_of(problem)
