"""Bodies of requests as the workload file has them: JSON, forms, texts, by their media type."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from towtank.workload.importers.draft import literal

# A JSON body nested deeper than this is kept as text: workload files are nested at most 50 deep.
_JSON_DEPTH = 30


def body_keys(text: str, content_type: str) -> dict[str, Any]:
    """Keys of a request for a body: `json`, `form` or `body`, whichever gives the same bytes to a server.

    Parameters
    ----------
    text : str
        The body.
    content_type : str
        Its media type with parameters; empty where it is unknown.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        value = _json(text)
        if value is not None:
            return {"json": value}
    if kind == "application/x-www-form-urlencoded":
        form = form_of(text)
        if form is not None:
            return {"form": form}
    return {"body": literal(text)}


def form_of(text: str) -> dict[str, str] | None:
    """A form as a mapping; None where a key comes twice or has no value, so that the text must stand as it is."""
    parts = text.split("&")
    pairs = parse_qsl(text, keep_blank_values=True)
    if not all("=" in part for part in parts) or len({key for key, _ in pairs}) != len(parts):
        return None
    return {key: literal(value) for key, value in pairs}


def _json(text: str) -> Any:
    """The value of a JSON text with its texts as templates; None where it is none, or must stand as it is."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return escaped(value) if isinstance(value, dict | list) and _plain(value, _JSON_DEPTH) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that has a key twice is none that a mapping could hold."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("has a key twice")
    return fields


def _plain(value: Any, depth: int) -> bool:
    """Whether a value comes back the same from a YAML file: no huge numbers, not too deep."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_plain(each, depth - 1) for each in inner)
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 10**18
    if isinstance(value, float):
        return abs(value) < 1e99 and value == value  # noqa: PLR0124 - NaN is not equal to itself
    return True


def escaped(value: Any) -> Any:
    """A JSON value whose texts are templates that stand for themselves."""
    if isinstance(value, dict):
        return {key: escaped(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [escaped(inner) for inner in value]
    return literal(value) if isinstance(value, str) else value
