"""Defines the length of a settle stage, which is a fixed time or the time until the system is in steady state."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from towtank.fields import Duration, FileModel, PositiveDuration
from towtank.study.until import form_of, require_order, text_reader


class SettleUntil(FileModel):
    """Settle stage that ends when the system is in steady state."""

    until: Literal["steady"] = Field(
        description="`steady` ends the stage when throughput, response time and backlog show no trend."
    )
    at_most: PositiveDuration = Field(
        description="Longest duration of the stage; the run reports a stage that reached this limit."
    )
    at_least: Duration = Field(0.0, description="Shortest duration of the stage.")

    @model_validator(mode="after")
    def _in_order(self) -> SettleUntil:
        require_order(self.at_least, self.at_most)
        return self

    def document(self) -> dict[str, object]:
        """Return the end condition as JSON for manifests. [s]"""
        return {"until": self.until, "at_most_s": self.at_most, "at_least_s": self.at_least}


_TEXT_SCHEMA = {
    "type": "string",
    "pattern": r"^\s*until\s+steady\s*,\s*at\s+most\s+",
    "examples": ["until steady, at most 5 min"],
}
_from_text = text_reader("steady", "steady", "until steady, at most TIME[, at least TIME]")
Settle = Annotated[
    Annotated[SettleUntil, Tag("<mapping>")]
    | Annotated[SettleUntil, BeforeValidator(_from_text), WithJsonSchema(_TEXT_SCHEMA), Tag("<until>")]
    | Annotated[Duration, Tag("<plain>")],
    Discriminator(form_of),
]
