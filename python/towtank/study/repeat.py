"""Defines the number of runs of each combination of levels, which is fixed, or grows until all claims and objectives
are decided.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from towtank.fields import FileModel, PositiveDuration, mapping_or_plain

AT_MOST = 10
"""Largest number of runs of each combination of levels, unless the study file sets another. [1]"""
_SHAPE = "until decided[, at most N][, within TIME]"
_TEXT = re.compile(
    r"\s*until\s+decided\s*(?:,\s*at\s+most\s+(?P<at_most>\d+)(?:\s+runs)?\s*)?(?:,\s*within\s+(?P<budget>[^,]+?)\s*)?"
)


class RepeatUntil(FileModel):
    """Repetition of all runs in blocks until every claim and objective is decided."""

    until: Literal["decided"] = Field(
        description="`decided` ends the study when every claim and objective is confirmed or refuted."
    )
    at_most: int = Field(AT_MOST, ge=2, le=1000, description="Largest number of runs of each combination of levels.")
    budget: PositiveDuration | None = Field(
        None,
        description=(
            "Time limit for all runs of a command together: a block of runs does not start if it would probably end "
            "later. At least two blocks run in any case."
        ),
    )

    def document(self) -> dict[str, object]:
        """Return the repetition rule as JSON for the manifest of a study; the time budget is in seconds."""
        return {"until": self.until, "at_most": self.at_most, "budget_s": self.budget}


def _from_text(value: object) -> object:
    """Convert a repetition rule that is written as text to a mapping; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    match = _TEXT.fullmatch(value)
    if match is None:
        raise ValueError(f"must be '{_SHAPE}', got {value!r} instead")
    at_most, budget = match["at_most"], match["budget"]
    most = {} if at_most is None else {"at_most": int(at_most)}
    return {"until": "decided", **most, **({} if budget is None else {"budget": budget})}


_TEXT_SCHEMA = {
    "type": "string",
    "pattern": r"^\s*until\s+decided",
    "examples": ["until decided", "until decided, at most 8, within 10 min"],
}
Repeat = Annotated[
    Annotated[RepeatUntil, Tag("<mapping>")]
    | Annotated[RepeatUntil, BeforeValidator(_from_text), WithJsonSchema(_TEXT_SCHEMA), Tag("<plain>")],
    Discriminator(mapping_or_plain),
]
