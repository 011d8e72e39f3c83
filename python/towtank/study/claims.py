"""Defines claims: statements about comparable systems, quoted from a reference and tested by the runs of a study.

The measure of a claim is a value, a ratio, a difference, a trend over the levels of a factor, or the level at which a
quantity is highest or lowest. Absolute values from other machines are not comparable, so most claims state a ratio, a
direction or a level.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, StringConstraints, Tag

from towtank.fields import FileModel, Name, Share, Text

Comparison = tuple[str, ...]
Step = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
VALUE_MEASURE, RATIO_MEASURE, DIFFERENCE_MEASURE, TREND_MEASURE, HIGHEST_MEASURE, LOWEST_MEASURE = (
    "value",
    "ratio",
    "difference",
    "trend",
    "highest",
    "lowest",
)
QUANTITIES: Comparison = (VALUE_MEASURE, RATIO_MEASURE, DIFFERENCE_MEASURE)
"""Kinds of measures that yield a number."""
COURSES: Comparison = (TREND_MEASURE, HIGHEST_MEASURE, LOWEST_MEASURE)
"""Kinds of measures that compare a quantity over all levels of a factor."""
MEASURES = (*QUANTITIES, *COURSES)


LevelsAt = Annotated[
    Annotated[list[Text], Field(min_length=1), Tag("<list>")] | Annotated[Text, Tag("<plain>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<plain>"),
]
Place = dict[Name, LevelsAt]
_AT = (
    "Level of each factor: its name, `first`, `last`, `lowest` or `highest`; a list or `all` averages over the levels."
)
_OF = "Quantity to compare, as in objectives (for example `p95 of search`), or a path in the summary of a run."
_PER = "Quantity by which `of` is divided in each run; `load` stands for the planned number of users or arrival rate."
_TOTAL = (
    "Factor over whose levels the quantity is added up instead of averaged, for example if each level is a query. "
    "If `at` lists levels of the factor, only these are added up."
)


class ValueMeasure(FileModel):
    """Measure of a claim: a quantity at one combination of factor levels."""

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    at: Place = Field(default_factory=dict, description=_AT)
    total_over: Name | None = Field(None, description=_TOTAL)


class PairMeasure(FileModel):
    """Measure of a claim: a comparison of a quantity at two combinations of factor levels."""

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    at: Place = Field(default_factory=dict, description=_AT)
    total_over: Name | None = Field(None, description=_TOTAL)
    to: Place = Field(min_length=1, description="Levels of the factors to compare with, where they differ from `at`.")


class CourseMeasure(FileModel):
    """Measure of a claim: values of a quantity at all levels of a factor, in the order of the file.

    If `to` is set, the quantity at each level is divided by its value at `to`.
    """

    of: str = Field(min_length=1, description=_OF)
    per: str | None = Field(None, min_length=1, description=_PER)
    over: Name = Field(description="Name of the factor whose levels are compared, in the order of the file.")
    at: Place = Field(default_factory=dict, description="Level of each other factor.")
    to: Place | None = Field(
        None,
        min_length=1,
        description=(
            "Levels of the factors to compare with; if set, the measure is the ratio to the quantity there, for "
            "each level of `over`."
        ),
    )
    allow: Share = Field(
        0.05,
        description=(
            "Tolerance: largest relative change that still counts as equal, or that a trend may make in the "
            "opposite direction."
        ),
    )


AnyMeasure = ValueMeasure | PairMeasure | CourseMeasure


class Measure(FileModel):
    """Measure of a claim, which is computed from the runs; exactly one key is set."""

    value: ValueMeasure | None = Field(None, description="Value of a quantity at the levels in `at`.")
    ratio: PairMeasure | None = Field(None, description="Ratio of the quantity at `at` to the quantity at `to`.")
    difference: PairMeasure | None = Field(
        None, description="Difference of a quantity: its value at `at` minus its value at `to`."
    )
    trend: CourseMeasure | None = Field(
        None, description="Trend of a quantity over the levels of a factor: rising, falling or constant."
    )
    highest: CourseMeasure | None = Field(None, description="Level of a factor at which a quantity is highest.")
    lowest: CourseMeasure | None = Field(None, description="Level of a factor at which a quantity is lowest.")

    @property
    def kinds(self) -> list[str]:
        """Keys of this measure that are set; each names a kind of measure."""
        return [name for name in MEASURES if getattr(self, name) is not None]

    @property
    def kind(self) -> str:
        """Kind of the measure, which is its only key. The checks refuse claims with another number of keys."""
        return self.kinds[0]

    @property
    def given(self) -> AnyMeasure:
        """Settings of the measure, which depend on its kind."""
        found: AnyMeasure = getattr(self, self.kind)
        return found


class Claim(FileModel):
    """Claim from a reference, and the condition that confirms the claim."""

    says: str = Field(min_length=1, description="The claim, as one sentence.")
    source: str = Field("", description="Reference that makes the claim: document, table or figure.")
    measure: Measure | None = Field(None, description="Measure to compute from the runs; `holds` is its condition.")
    holds: Text | None = Field(
        None,
        description=(
            "Condition that `measure` must meet: `> 1.1`, `between 0.9 and 1.1`; for a trend `rises`, "
            "`falls` or `stays`; for a level `at LEVEL` or `inside`."
        ),
    )
    not_testable: str | None = Field(
        None, min_length=1, description="Reason why this system cannot test the claim; replaces `measure` and `holds`."
    )
    differs: str | None = Field(
        None,
        min_length=1,
        description="Reason why the result here differs, or may differ, from the source; reports print it.",
    )
    then: Step | None = Field(
        None,
        description="Consequence if the claim is confirmed, as an instruction; the report prints it as next step.",
    )
    otherwise: Step | None = Field(
        None,
        description="Consequence if the claim is refuted, as an instruction; the report prints it as next step.",
    )
    required: bool = Field(
        False,
        description=(
            "If true, the study ends with status 3 if the claim is refuted, and with status 4 if it is undecided."
        ),
    )

    def document(self) -> dict[str, object]:
        """Return the claim as JSON for the manifest of a study; `Claim.model_validate` reads this JSON."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return written if self.required else {key: value for key, value in written.items() if key != "required"}
