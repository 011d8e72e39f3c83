"""Models of rule files, which hold rules of thumb as data: formula, units, range, source and worked examples."""

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
    """Quantity that a rule needs, or compares its result with."""

    unit: UnitText = Field("1", description="Unit of values given without one; `yes or no` of a switch.")
    meaning: str = Field(description="Meaning of the quantity.")
    role: Literal["given", "set", "seen"] = Field(
        "given",
        description="`given` to the rule; or the value that is `set`, or was `seen`, and is compared with the rule.",
    )
    at_least: Scalar | None = Field(None, description="Smallest value that the rule takes.")
    above: Scalar | None = Field(None, description="Bound that a value must be above.")
    at_most: Scalar | None = Field(None, description="Largest value that the rule takes.")
    below: Scalar | None = Field(None, description="Bound that a value must be below.")
    default: Scalar | None = Field(None, description="Value if none is given.")
    choices: list[Text] = Field([], description="Words that it may be; then it has no unit.")
    binds: Names = Field([], description="Facts of a system that give it; the first known one is taken.")


class RuleStep(FileModel):
    """Intermediate value on the way to the result."""

    formula: Text = Field(description="Expression of inputs and earlier steps.")
    unit: UnitText = Field("1", description="Unit it is shown in.")


class RuleRow(FileModel):
    """One row of a table."""

    when: dict[Name, str] = Field(min_length=1, description="The choice of each input that picks this row.")
    value: Scalar = Field(description="Value of the table, in `value_unit`, or in the unit of the result.")
    note: str = Field("", description="Note to the value.")


class RuleResult(FileModel):
    """Result of a rule."""

    unit: UnitText = Field("1", description="Unit it is shown in; `yes or no` of a condition.")
    meaning: str = Field(description="Meaning of the result.")


class RuleSource(FileModel):
    """Place of a rule in its document."""

    document: Name = Field(description="Short name, one of `documents`.")
    section: Text = Field("", description="Section, table or page.")
    lines: Text = Field("", description="Lines of the document's text.")


class RuleExample(FileModel):
    """Case with its answer."""

    inputs: dict[Name, Scalar] = Field({}, description="Values by name.")
    result: Scalar = Field(description="Result, in its unit; `yes` or `no` of a condition.")
    tolerance: Scalar = Field(0, description="Greatest difference, in the unit of the result; 0 is all but rounding.")
    origin: Literal["source", "derived", "inferred"] = Field(
        description="Printed in the source; worked out from its formula; or an input was chosen to give the printed "
        "result, which proves nothing."
    )
    case: Text = Field("", description="Place in the source, or description of the case.")


class RuleEntry(FileModel):
    """One rule."""

    title: str = Field(description="The rule in one line.")
    topic: Name | None = Field(None, description="Topic of the rule; that of the file if none.")
    kind: Literal["formula", "threshold", "table", "advice"] = Field(
        "formula", description="A formula, a limit, a table to look up, or advice without a number."
    )
    catalogue: Names = Field([], description="Numbers of the rule in the catalogue of the shipped set.")
    formula: Text | None = Field(None, description="Expression of inputs, steps and, of a table, `value`.")
    steps: dict[Name, RuleStep] = Field({}, description="Intermediate values, computed first and in this order.")
    table: list[RuleRow] = Field([], description="Rows of a table.")
    value_unit: UnitText | None = Field(None, description="Unit of the values of a table; that of the result if none.")
    inputs: dict[Name, RuleInput] = Field({}, description="Inputs of the rule, by name.")
    result: RuleResult | None = Field(None, description="Result of the rule.")
    range: str = Field("", description="Range in which the rule is true, in words.")
    valid_when: Text | None = Field(
        None, description="The range as a condition of the inputs; if it is `no`, the answer has a doubt."
    )
    applies_when: Text | None = Field(None, description="Condition of inputs: the rule is about this system.")
    follows_when: Text | None = Field(None, description="Condition of inputs and `result`: the system follows it.")
    identity: bool = Field(
        False,
        description="The rule is a law between figures of the same seconds: it is judged on them as they were counted, "
        "and their intervals, which are about other seconds, are not combined.",
    )
    source: RuleSource = Field(description="Place in a document.")
    examples: list[RuleExample] = Field([], description="Cases with their answers.")
    caution: str = Field("", description="Caution before use.")
    advice: str = Field("", description="Advice for a system that differs from the rule.")


class RuleFile(FileModel):
    """Rules of thumb, with the documents they come from."""

    schema_: Literal["towtank/rule-file/1"] = Field(alias="schema", description="The format of the file.")
    topic: Name = Field(description="Topic of the rules.")
    documents: dict[Name, str] = Field({}, description="Full titles of documents by short name.")
    rules: dict[Name, RuleEntry] = Field(min_length=1, description="The rules, by name.")
