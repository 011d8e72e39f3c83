"""Claims: statements of a reference about comparable systems, and the measures that confirm or refute them.

A claim is tested by a direction, a ratio or a level, never by the absolute figures of other machines. Its measure is
one of six kinds: a value, a ratio, a difference, a trend over the levels of a factor, or the level at which a quantity
is highest or lowest.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from towtank.fields import FileModel, Name, Share, Text

Comparison = tuple[str, ...]
VALUE, RATIO, DIFFERENCE, TREND, HIGHEST, LOWEST = "value", "ratio", "difference", "trend", "highest", "lowest"
QUANTITIES: Comparison = (VALUE, RATIO, DIFFERENCE)
"""Kinds of measures that yield a number."""
COURSES: Comparison = (TREND, HIGHEST, LOWEST)
"""Kinds of measures that compare all levels of a factor."""
MEASURES = (*QUANTITIES, *COURSES)


def _list_or_plain(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<plain>"


LevelsAt = Annotated[
    Annotated[list[Text], Field(min_length=1), Tag("<list>")] | Annotated[Text, Tag("<plain>")],
    Discriminator(_list_or_plain),
]
Place = dict[Name, LevelsAt]
_AT = "Levels by factor: one, a list or `all` (then averaged over them), or `first`, `last`, `lowest`, `highest`."
_OF = "Quantity: as in objectives (`p95 of search`), or a path in the summary of a run."
_PER = "Divisor in each run: another quantity, or `load`, the users or the rate asked for."


class ValueMeasure(FileModel):
    """A quantity at one place."""

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    at: Place = Field(default_factory=dict, description=_AT)


class PairMeasure(FileModel):
    """A quantity at one place against the same at another."""

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    at: Place = Field(default_factory=dict, description=_AT)
    to: Place = Field(min_length=1, description="Place to compare with: the levels that differ from `at`.")


class CourseMeasure(FileModel):
    """A quantity over the levels of a factor; with `to` its ratio to another place at each of them."""

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    over: Name = Field(description="Factor whose levels are compared, in the order of the file.")
    at: Place = Field(default_factory=dict, description="One level of each other factor.")
    to: Place | None = Field(
        None, min_length=1, description="If given, the ratio to this place is taken, level by level."
    )
    allow: Share = Field(
        0.05, description="Share by which one step of a trend may go the other way, or a level differ."
    )


AnyMeasure = ValueMeasure | PairMeasure | CourseMeasure


class Measure(FileModel):
    """Measure that is computed from the runs: exactly one of its kinds."""

    value: ValueMeasure | None = Field(None, description="A quantity at one place.")
    ratio: PairMeasure | None = Field(None, description="The quantity at `at` divided by that at `to`.")
    difference: PairMeasure | None = Field(None, description="The quantity at `at` less that at `to`.")
    trend: CourseMeasure | None = Field(None, description="Direction over the levels of a factor.")
    highest: CourseMeasure | None = Field(None, description="The level of a factor at which it is highest.")
    lowest: CourseMeasure | None = Field(None, description="The level of a factor at which it is lowest.")

    @property
    def kinds(self) -> list[str]:
        """Names of the kinds that are given."""
        return [name for name in MEASURES if getattr(self, name) is not None]

    @property
    def kind(self) -> str:
        """The measure that is given; checks see to it that it is one."""
        return self.kinds[0]

    @property
    def given(self) -> AnyMeasure:
        """The measure of the given kind."""
        found: AnyMeasure = getattr(self, self.kind)
        return found


class Claim(FileModel):
    """One claim of a reference."""

    says: str = Field(min_length=1, description="The claim, in one sentence.")
    source: str = Field("", description="Document, table or figure that has it.")
    measure: Measure | None = Field(None, description="Measure that is computed from the runs.")
    holds: Text | None = Field(
        None,
        description="Condition on it: `> 1.1`, `between 0.9 and 1.1`; `rises`, `falls`, `stays`; `at LEVEL`, `inside`.",
    )
    not_testable: str | None = Field(None, min_length=1, description="Why it cannot be tested here, in place of both.")
    required: bool = Field(
        False, description="Whether the study ends with status 3 if the claim is refuted, with 4 if it is not decided."
    )

    def document(self) -> dict[str, Any]:
        """Return the entry of the manifest; `Claim.model_validate` reads it back."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return written if self.required else {key: value for key, value in written.items() if key != "required"}
