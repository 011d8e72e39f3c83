"""How long a settle stage lasts: a time, or until the system is seen to be steady."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from towtank import units
from towtank.fields import Duration, FileModel, PositiveDuration

_TEXT = re.compile(r"\s*until\s+steady\s*,\s*at\s+most\s+(?P<most>[^,]+?)\s*(?:,\s*at\s+least\s+(?P<least>[^,]+?)\s*)?")
_SHAPE = "a time, or 'until steady, at most TIME[, at least TIME]'"


def require_order(at_least_s: float, at_most_s: float) -> None:
    """Refuse a stage whose shortest time is above its longest.

    Raises
    ------
    ValueError
        With both times.
    """
    if at_least_s > at_most_s:
        raise ValueError(
            f"must have at_least up to at_most ({units.format_duration(at_most_s)}), "
            f"got {units.format_duration(at_least_s)} instead"
        )


def form_of(value: Any) -> str:
    """Tag of the form of a stage's length: a mapping, a text that begins with `until`, or a plain time."""
    if isinstance(value, dict | FileModel):
        return "<mapping>"
    return "<until>" if isinstance(value, str) and value.strip().startswith("until") else "<plain>"


class SettleUntil(FileModel):
    """A settle stage that ends on evidence."""

    until: Literal["steady"] = Field(description="Until throughput, response time and backlog show no trend.")
    at_most: PositiveDuration = Field(description="The stage ends after this time in any case, and the run says so.")
    at_least: Duration = Field(0.0, description="It does not end before.")

    @model_validator(mode="after")
    def _in_order(self) -> SettleUntil:
        require_order(self.at_least, self.at_most)
        return self


def _from_text(value: object) -> object:
    """Read `until steady, at most 5 min, at least 5 s`."""
    if not isinstance(value, str):
        return value
    match = _TEXT.fullmatch(value)
    if match is None:
        raise ValueError(f"must be {_SHAPE}, got {value!r} instead")
    least = {} if match["least"] is None else {"at_least": match["least"]}
    return {"until": "steady", "at_most": match["most"], **least}


_TEXT_SCHEMA = {
    "type": "string",
    "pattern": r"^\s*until\s+steady\s*,\s*at\s+most\s+",
    "examples": ["until steady, at most 5 min"],
}
Settle = Annotated[
    Annotated[SettleUntil, Tag("<mapping>")]
    | Annotated[SettleUntil, BeforeValidator(_from_text), WithJsonSchema(_TEXT_SCHEMA), Tag("<until>")]
    | Annotated[Duration, Tag("<plain>")],
    Discriminator(form_of),
]


def settle_length(settle: SettleUntil | float) -> float:
    """The longest that a settle stage lasts. [s]"""
    return settle.at_most if isinstance(settle, SettleUntil) else settle


def settle_document(settle: SettleUntil | float) -> dict[str, Any] | None:
    """For the manifest of a run; None for a plain time."""
    if not isinstance(settle, SettleUntil):
        return None
    return {"until": settle.until, "at_most_s": settle.at_most, "at_least_s": settle.at_least}
