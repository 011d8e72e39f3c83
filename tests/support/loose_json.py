"""Reads the JSON-like notation of the reference pages, in which a value may be a word without quotes and a key may have
no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')


def read(text: str) -> list[Any]:
    """Return all documents in a text, as mappings, lists and words.

    Examples
    --------
    >>> read('{"a": {"b", "c": [1, EST]}} {"d": null}')
    [{'a': {'b': None, 'c': ['1', 'EST']}}, {'d': 'null'}]
    """
    tokens = _TOKEN.findall(text)
    found = []
    while tokens:
        found.append(_value(tokens))
    return found


def _value(tokens: list[str]) -> Any:
    token = tokens.pop(0)
    if token == "{":
        return dict(_items(tokens))
    if token == "[":
        return list(_elements(tokens))
    return json.loads(token) if token.startswith('"') else token


def _items(tokens: list[str]) -> Iterator[tuple[str, Any]]:
    while (token := tokens.pop(0)) != "}":
        if token == ",":
            continue
        key = json.loads(token)
        if tokens[0] == ":":
            tokens.pop(0)
            yield key, _value(tokens)
        else:
            yield key, None


def _elements(tokens: list[str]) -> Iterator[Any]:
    while tokens[0] != "]":
        if tokens[0] == ",":
            tokens.pop(0)
        else:
            yield _value(tokens)
    tokens.pop(0)


def keys(document: Any, named: frozenset[str], below: str = "") -> set[str]:
    """Return the paths of all keys. Keys below a key in `named` are chosen by users, and are replaced by `*`.

    An element of `named` may be a path of two keys, such as `services.*`.

    Examples
    --------
    >>> sorted(keys({"a": {"x": {"b": 1}}, "c": [{"d": 1}]}, frozenset({"a"})))
    ['a', 'a.*.b', 'c', 'c.d']
    """
    if isinstance(document, list):
        return {path for element in document for path in keys(element, named, below)}
    found: set[str] = set()
    if isinstance(document, dict):
        names = below.rpartition(".")[2] in named or ".".join(below.rsplit(".", 2)[-2:]) in named
        for key, value in document.items():
            path = f"{below}.*" if names else f"{below}.{key}".lstrip(".")
            found |= ({path} if not names else set()) | keys(value, named, path)
    return found
