"""Looks up values in nested JSON objects and records in which any key may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any


def dig(document: Any, *keys: str) -> Any:
    """Return the value under a path of keys, or of attributes of dataclass instances; None if a key is missing.

    Examples
    --------
    >>> dig({"host": {"cpus": 2}}, "host", "cpus"), dig({"host": None}, "host", "cpus")
    (2, None)
    """
    for key in keys:
        if isinstance(document, Mapping):
            document = document.get(key)
        else:
            document = getattr(document, key, None) if is_dataclass(document) else None
    return document
