"""Rule files: one entry for each rule of thumb, with formula, units, range, source and worked examples. Pure data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from towtank.fields import FileModel, Name, Text, one_or_more
from towtank.size.rules.quantities import parse_unit

SCHEMA = "towtank/rule-file/1"
SHEET_SCHEMA = "towtank/sheet/1"

KINDS = ("formula", "threshold", "table", "advice")
ORIGINS = ("source", "derived", "inferred")


def _unit(text: str) -> str:
    parse_unit(text)
    return text


def _number_or_text(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float | str):
        raise ValueError("must be a number, or text with a unit")
    return value


UnitText = Annotated[Text, AfterValidator(_unit)]
Scalar = Annotated[Any, BeforeValidator(_number_or_text), WithJsonSchema({"type": ["number", "string", "boolean"]})]
Names = Annotated[list[str], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


class RuleInput(FileModel):
    """A quantity that a rule needs, or holds its result against."""

    unit: UnitText = Field("1", description="Unit of values given without one; `yes or no` of a switch.")
    meaning: str = Field(description="What it is.")
    role: Literal["given", "set", "seen"] = Field(
        "given", description="Given to the rule; or what is set, or was seen, for the rule to be held against."
    )
    at_least: Scalar | None = Field(None, description="Smallest value that the rule takes.")
    above: Scalar | None = Field(None, description="Bound that a value must be above.")
    at_most: Scalar | None = Field(None, description="Largest value that the rule takes.")
    below: Scalar | None = Field(None, description="Bound that a value must be below.")
    default: Scalar | None = Field(None, description="Value where none is given.")
    choices: list[Text] = Field([], description="The words of which it is one; then it has no unit.")
    binds: Names = Field([], description="Facts of a system that give it, the first that is known.")


class RuleStep(FileModel):
    """Something worked out on the way to the result."""

    formula: Text = Field(description="Expression of inputs and earlier steps.")
    unit: UnitText = Field("1", description="Unit it is shown in.")


class RuleRow(FileModel):
    """One row of a table."""

    when: dict[Name, str] = Field(min_length=1, description="The choice of each input that picks this row.")
    value: Scalar = Field(description="What the table says, in the unit of `value_unit`, or of the result.")
    note: str = Field("", description="What goes with it.")


class RuleResult(FileModel):
    """What a rule gives."""

    unit: UnitText = Field("1", description="Unit it is shown in; `yes or no` of a condition.")
    meaning: str = Field(description="What it is.")


class RuleSource(FileModel):
    """Where a rule stands."""

    document: Name = Field(description="Short name, one of `documents`.")
    section: Text = Field("", description="Section, table or page.")
    lines: Text = Field("", description="Lines of the document's text.")


class RuleExample(FileModel):
    """A case with its answer."""

    inputs: dict[Name, Scalar] = Field({}, description="Values by name.")
    result: Scalar = Field(description="What comes out, in the unit of the result; `yes` or `no` of a condition.")
    tolerance: Scalar = Field(0, description="Greatest difference, in the unit of the result; 0 is all but rounding.")
    origin: Literal["source", "derived", "inferred"] = Field(
        description="Printed in the source; worked out from its formula; or an input was chosen to give the printed "
        "result, which proves nothing."
    )
    case: Text = Field("", description="Where it stands, or what it is.")


class RuleEntry(FileModel):
    """One rule."""

    title: str = Field(description="What it says, in one line.")
    topic: Name | None = Field(None, description="What it is about; that of the file if none.")
    kind: Literal["formula", "threshold", "table", "advice"] = Field(
        "formula", description="A formula, a limit, a table to look up, or advice without a number."
    )
    catalogue: Names = Field([], description="Numbers of the rule in the catalogue of the shipped set.")
    formula: Text | None = Field(None, description="Expression of inputs, steps and, of a table, `value`.")
    steps: dict[Name, RuleStep] = Field({}, description="Worked out first, in this order.")
    table: list[RuleRow] = Field([], description="Rows of a table.")
    value_unit: UnitText | None = Field(None, description="Unit of the values of a table; that of the result if none.")
    inputs: dict[Name, RuleInput] = Field({}, description="What it needs, by name.")
    result: RuleResult | None = Field(None, description="What it gives.")
    range: str = Field("", description="Where it is true, in words.")
    valid_when: Text | None = Field(None, description="The same as a condition of the inputs: a doubt where it is no.")
    applies_when: Text | None = Field(None, description="Condition of inputs: the rule is about this system.")
    follows_when: Text | None = Field(None, description="Condition of inputs and `result`: the system follows it.")
    source: RuleSource = Field(description="Where it stands.")
    examples: list[RuleExample] = Field([], description="Cases with their answers.")
    caution: str = Field("", description="What to know before using it.")
    advice: str = Field("", description="What to do where a system differs.")


class RuleFile(FileModel):
    """Rules of thumb, with the documents they come from."""

    schema_: Literal["towtank/rule-file/1"] = Field(alias="schema", description="The format of the file.")
    topic: Name = Field(description="What the rules are about.")
    documents: dict[Name, str] = Field({}, description="Full titles of documents by short name.")
    rules: dict[Name, RuleEntry] = Field(min_length=1, description="The rules, by name.")
