"""Writes YAML in the style of handwritten files, with short values on one line and few quotes."""

from __future__ import annotations

import json
import re
from typing import Any

# Longest line [characters] and deepest nesting [1] of a mapping or list that is written on one line.
_LINE = 88
_DEPTH = 2
# Matches texts that YAML files contain without quotes: words, paths, and quantities with a unit.
_PLAIN = re.compile(r"[A-Za-z/_](?:[A-Za-z0-9_./;=+()|~-]| (?=[A-Za-z0-9_./(]))*")
_QUANTITY = re.compile(r"\d+(?:\.\d+)? (?:ns|us|ms|s|min|h|d|%|B|[KMG]iB)")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def emit(document: dict[str, object]) -> str:
    """Return a document of mappings, lists, texts, numbers, booleans and None as YAML.

    Examples
    --------
    >>> print(emit({"name": "a", "mix": {"view": 60, "search": 40}}), end="")
    name: a
    <BLANKLINE>
    mix: {view: 60, search: 40}
    """
    lines: list[str] = []
    for key, value in document.items():
        lines += [""] * isinstance(value, dict | list)
        lines += _block({key: value})
    return "".join(f"{line}\n" for line in lines)


def _block(value: Any) -> list[str]:
    """Return the lines of a value in block style. Nested values are indented by two blanks."""
    if isinstance(value, dict) and value:
        return [line for key, inner in value.items() for line in _entry(_scalar(key), inner)]
    if isinstance(value, list) and value:
        return [line for item in value for line in _item(item)]
    return [_flow(value) or ""]


def _entry(key: str, value: Any) -> list[str]:
    flow = _flow(value)
    if flow is not None and (not isinstance(value, dict | list) or len(key) + len(flow) < _LINE):
        return [f"{key}: {flow}"]
    return [f"{key}:", *(f"  {line}" for line in _block(value))]


def _item(item: Any) -> list[str]:
    flow = None if isinstance(item, dict) and item else _flow(item)
    first, *rest = [flow] if flow is not None else _block(item)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _flow(value: Any, depth: int = _DEPTH) -> str | None:
    """Return a value in flow style on one line; None if the value is nested too deeply to be readable."""
    if isinstance(value, dict):
        items = {key: _flow(item, depth - 1) for key, item in value.items()}
        if (value and depth == 0) or None in items.values():
            return None
        return "{" + ", ".join(f"{_scalar(key)}: {item}" for key, item in items.items()) + "}"
    if isinstance(value, list):
        # A list of mappings, such as steps, gets one line per mapping, because it is then easier to compare.
        if any(isinstance(item, dict) for item in value):
            return None
        inner = [_flow(item, depth) for item in value]
        return None if None in inner else "[" + ", ".join(map(str, inner)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    plain = (_PLAIN.fullmatch(text) and text.lower() not in _WORDS) or _QUANTITY.fullmatch(text)
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    """Quote a text as JSON, which is valid YAML. Unprintable characters are escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
