"""Reads values from run summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.digging import dig


def objects_at(document: Any, *path: str) -> Mapping[str, Any]:
    """Return the object in a document at a path of keys; an empty mapping if a key is missing."""
    found = dig(document, *path)
    return found if isinstance(found, Mapping) else {}
