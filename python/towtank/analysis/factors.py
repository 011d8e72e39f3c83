"""Reads the factors of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towtank.digging import dig


@dataclass(frozen=True)
class Factor:
    """Factor of a study with its levels, and the levels as numbers; None if any level is not a number."""

    name: str
    levels: tuple[str, ...]
    numeric: tuple[float, ...] | None = None

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Factor:
        """Read a factor from the manifest of a study."""
        numbers = [number for number in dig(document, "numeric") or () if isinstance(number, int | float)]
        levels = tuple(map(str, dig(document, "levels") or ()))
        return cls(str(document["name"]), levels, tuple(numbers) if len(numbers) == len(levels) else None)
