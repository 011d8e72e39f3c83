"""Reads the length of a stage that ends on a condition: `until CONDITION, at most TIME[, at least TIME]`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from towtank import units
from towtank.fields import FileModel


class StageUntil(Protocol):
    """Length of a stage that ends when a condition is met, and at the latest after a given time."""

    @property
    def at_most(self) -> float:
        """Longest time that the stage may last. [s]"""


def longest_stage_s(length: StageUntil | float) -> float:
    """Return the longest time that a stage of the given length may last. [s]"""
    return length if isinstance(length, int | float) else length.at_most


def require_order(at_least_s: float, at_most_s: float) -> None:
    """Refuse a stage whose shortest time exceeds its longest time.

    Raises
    ------
    ValueError
        If the shortest time exceeds the longest.
    """
    if at_least_s > at_most_s:
        raise ValueError(
            f"must have at_least no longer than at_most ({units.format_duration(at_most_s)}), "
            f"got {units.format_duration(at_least_s)} instead"
        )


def form_of(value: Any) -> str:
    """Return the tag for the kind of a stage length: `<mapping>`, `<until>` for a text with `until`, or `<plain>`."""
    if isinstance(value, dict | FileModel):
        return "<mapping>"
    return "<until>" if isinstance(value, str) and value.strip().startswith("until") else "<plain>"


def text_reader(until: str, condition: str, shape: str) -> Callable[[object], object]:
    """Return a function for a `BeforeValidator` that parses a stage length such as `until CONDITION, at most TIME`.

    `until` becomes the value of the key `until`; `condition` is the pattern of the words between `until` and `at most`,
    whose named groups become keys; `shape` is the form of the text, for the error message. Values that are no text are
    returned unchanged.
    """
    pattern = re.compile(
        rf"\s*until\s+{condition}\s*,\s*at\s+most\s+(?P<at_most>[^,]+?)\s*"
        r"(?:,\s*at\s+least\s+(?P<at_least>[^,]+?)\s*)?"
    )

    def read(value: object) -> object:
        if not isinstance(value, str):
            return value
        match = pattern.fullmatch(value)
        if match is None:
            raise ValueError(f"must be a time, or '{shape}', got {value!r} instead")
        return {"until": until, **{key: text for key, text in match.groupdict().items() if text is not None}}

    return read
