"""Looks up values in nested JSON objects in which any key may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dig(document: Any, *keys: str) -> Any:
    """Return the value under a path of keys; None if a key is missing.

    Examples
    --------
    >>> dig({"host": {"cpus": 2}}, "host", "cpus"), dig({"host": None}, "host", "cpus")
    (2, None)
    """
    for key in keys:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document
