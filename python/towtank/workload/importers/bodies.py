"""Converts request bodies (JSON, forms, text) to keys of workload files, depending on the media type."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from towtank.workload.importers.draft import Body, literal
from towtank.workload.importers.encoded import pairs_of

# Deepest nesting of a JSON body that becomes nested keys. Deeper bodies are kept as text, because the nesting of a
# workload file is limited to 50. [1]
_JSON_DEPTH = 30


def body_of(text: str, content_type: str) -> Body:
    """Return the body with the key with which the engine sends the same text: `json`, `form` or `body`. The media type
    is empty if unknown.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        value = _json(text)
        if value is not None:
            return Body("json", value)
    if kind == "application/x-www-form-urlencoded":
        form = form_of(text)
        if form is not None:
            return Body("form", form)
    return Body("body", literal(text))


def form_of(text: str) -> dict[str, str] | None:
    """Return a form as a mapping of names to templates; None if a mapping cannot represent the form."""
    pairs = pairs_of(text, in_query=False)
    return None if pairs is None else {key: literal(value) for key, value in pairs}


def parts_of(parts: list[tuple[str, Any]]) -> Any:
    """Return the parts of a multipart body as a mapping of names, or as a list if a name occurs more than once.

    Examples
    --------
    >>> parts_of([("a", "1"), ("b", {"file": "x"})])
    {'a': '1', 'b': {'file': 'x'}}
    >>> parts_of([("a", "1"), ("a", {"file": "x"})])
    [{'name': 'a', 'value': '1'}, {'name': 'a', 'file': 'x'}]
    """
    if len(dict(parts)) == len(parts):
        return dict(parts)
    return [{"name": name, **(part if isinstance(part, dict) else {"value": part})} for name, part in parts]


def _json(text: str) -> Any:
    """Return the value of a JSON text, with strings escaped for templates; None if the body must be sent as text."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return escaped(value) if isinstance(value, dict | list) and _plain(value, _JSON_DEPTH) else None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs of a JSON object as a mapping; raise ValueError for a repeated key."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("has a key twice")
    return fields


def _plain(value: Any, depth: int) -> bool:
    """Return True if a JSON value can be written to YAML unchanged: it has no huge numbers and is not nested deeply."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_plain(each, depth - 1) for each in inner)
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 10**18
    if isinstance(value, float):
        return abs(value) < 1e99 and value == value  # noqa: PLR0124 - NaN is not equal to itself
    return True


def escaped(value: Any) -> Any:
    """Return a JSON value whose texts are escaped, so that templates reproduce them unchanged."""
    return changed_leaves(value, lambda leaf, _: literal(leaf) if isinstance(leaf, str) else leaf)


def changed_leaves(value: Any, change: Callable[[Any, str], Any], name: str = "") -> Any:
    """Return a JSON value whose leaves are replaced by the results of a function of the leaf and its field's name."""
    if isinstance(value, dict):
        return {key: changed_leaves(inner, change, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [changed_leaves(inner, change, name) for inner in value]
    return change(value, name)
