"""Reads the memory of a tier from a run summary of any version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESIDENT_SETS = "sum of resident sets"
"""Name of the method that counts a shared page once for each process. Older summaries contain only this sum."""


def memory_of_tier(tier: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """Return the memory of a tier [B] and the method of its measurement; both are None if it was not measured.

    Examples
    --------
    >>> memory_of_tier({"memory_bytes": 5.0, "memory_how": "proportional sets", "resident_sets_bytes": 9.0})
    (5.0, 'proportional sets')
    >>> memory_of_tier({"resident_bytes": 9.0})
    (9.0, 'sum of resident sets')
    """
    if tier.get("memory_bytes") is not None:
        return tier["memory_bytes"], str(tier.get("memory_how"))
    old = tier.get("resident_bytes")
    return (None, None) if old is None else (old, RESIDENT_SETS)
