"""Defines the length of a steady stage, which is a fixed time or the time until throughput is known
precisely enough.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from towtank.fields import FileModel, PositiveDuration, Share
from towtank.study.until import form_of, require_order, text_reader


class SteadyUntil(FileModel):
    """Steady stage that ends when throughput is precise and the system is in steady state."""

    until: Literal["precise"] = Field(
        description=(
            "`precise` ends the stage when no trend remains, and the relative half-width of the 95 % confidence "
            "interval is at most `to` for throughput and at most 25 % for the mean response time."
        )
    )
    to: Share = Field(
        gt=0, description="Largest half-width of the 95 % confidence interval of throughput, relative to throughput."
    )
    at_most: PositiveDuration = Field(description="Longest duration of the stage.")
    at_least: PositiveDuration = Field(10.0, description="Shortest duration of the stage.")

    @model_validator(mode="after")
    def _in_order(self) -> SteadyUntil:
        require_order(self.at_least, self.at_most)
        return self


_TEXT_SCHEMA = {
    "type": "string",
    "pattern": r"^\s*until\s+precise\s+to\s+",
    "examples": ["until precise to 5 %, at most 1 min"],
}
_from_text = text_reader(
    "precise", r"precise\s+to\s+(?P<to>[\d.]+\s*%)", "until precise to SHARE, at most TIME[, at least TIME]"
)
Steady = Annotated[
    Annotated[SteadyUntil, Tag("<mapping>")]
    | Annotated[SteadyUntil, BeforeValidator(_from_text), WithJsonSchema(_TEXT_SCHEMA), Tag("<until>")]
    | Annotated[PositiveDuration, Tag("<plain>")],
    Discriminator(form_of),
]


def steady_document(steady: SteadyUntil | float) -> dict[str, object] | None:
    """Return the end condition of a steady stage as JSON for the manifest of a run; None if the stage lasts a fixed
    time.
    """
    if not isinstance(steady, SteadyUntil):
        return None
    return {"until": steady.until, "to": steady.to, "at_most_s": steady.at_most, "at_least_s": steady.at_least}
