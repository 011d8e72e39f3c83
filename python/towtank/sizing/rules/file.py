"""Defines the format of rule files, which contain rules of thumb with formula, units, range, source and examples."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from towtank.fields import FileModel, Name, Text, one_or_more
from towtank.sizing.rules.quantities import parse_unit

SCHEMA = "towtank/rule-file/1"
SHEET_SCHEMA = "towtank/sheet/1"

KINDS = ("formula", "threshold", "table", "advice")


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
    """Input of a rule: a quantity from which the result is computed, or with which it is compared."""

    unit: UnitText = Field("1", description="Unit of values that are written without a unit; `yes or no` for a switch.")
    meaning: str = Field(description="Description of the quantity.")
    role: Literal["given", "set", "seen"] = Field(
        "given",
        description=(
            "Role of the input: `given` is used by the rule; `set` (a setting) and `seen` (an "
            "observation) are compared with its result."
        ),
    )
    at_least: Scalar | None = Field(None, description="Smallest allowed value of the input.")
    above: Scalar | None = Field(None, description="Bound that the value of the input must exceed.")
    at_most: Scalar | None = Field(None, description="Largest allowed value of the input.")
    below: Scalar | None = Field(None, description="Bound that the value of the input must stay below.")
    default: Scalar | None = Field(None, description="Value of the input if the user gives none.")
    choices: list[Text] = Field([], description="Allowed words, for an input that is a choice and has no unit.")
    binds: Names = Field(
        [], description="Names of the facts of a system that can supply the value; the first known fact is used."
    )


class RuleStep(FileModel):
    """Intermediate value of a rule."""

    formula: Text = Field(description="Expression that uses inputs and earlier steps.")
    unit: UnitText = Field("1", description="Unit in which the value is displayed.")


class RuleRow(FileModel):
    """Row in the table of a rule: values of inputs, and the result for these values."""

    when: dict[Name, str] = Field(min_length=1, description="Choice of each input for which this row applies.")
    value: Scalar = Field(description="Value of the row, in `value_unit` or in the unit of the result.")
    note: str = Field("", description="Note about the value.")


class RuleResult(FileModel):
    """Unit and meaning of a rule's result."""

    unit: UnitText = Field("1", description="Unit in which the result is displayed; `yes or no` for a condition.")
    meaning: str = Field(description="Description of the result.")


class RuleSource(FileModel):
    """Document, and the section in this document, where a rule is stated."""

    document: Name = Field(description="Short name of the document, from `documents`.")
    section: Text = Field("", description="Section, table or page of the document.")
    lines: Text = Field("", description="Line numbers in the text of the document.")


class RuleExample(FileModel):
    """Example of a rule: inputs with the expected result."""

    inputs: dict[Name, Scalar] = Field({}, description="Values of the inputs, by name.")
    result: Scalar = Field(description="Expected result, in the unit of the result; `yes` or `no` for a condition.")
    tolerance: Scalar = Field(
        0,
        description=(
            "Largest allowed difference from `result`, in the unit of the result; 0 allows rounding errors only."
        ),
    )
    origin: Literal["source", "derived", "inferred"] = Field(
        description=(
            "Origin of the expected result: `source` (printed there), `derived` (from the formula of the "
            "source), or `inferred` (an input was chosen to give the printed result, which proves "
            "nothing)."
        )
    )
    case: Text = Field("", description="Place of the example in the source, or description of the example.")


class RuleEntry(FileModel):
    """Rule of thumb with its formula, range, source and examples."""

    title: str = Field(description="Title of the rule, in one line.")
    topic: Name | None = Field(None, description="Topic of the rule; default: `topic` of the file.")
    kind: Literal["formula", "threshold", "table", "advice"] = Field(
        "formula", description="Kind of rule: a formula, a threshold, a table to look up, or advice without a number."
    )
    catalogue: Names = Field([], description="Numbers of the rule in the catalogue of rules that Towtank ships.")
    formula: Text | None = Field(
        None, description="Expression for the result; it uses inputs, steps and, for a table, `value`."
    )
    steps: dict[Name, RuleStep] = Field(
        {}, description="Intermediate values, computed in this order before the formula."
    )
    table: list[RuleRow] = Field([], description="Rows of the table, for a rule of kind `table`.")
    value_unit: UnitText | None = Field(
        None, description="Unit of the values in the table; default: the unit of the result."
    )
    inputs: dict[Name, RuleInput] = Field({}, description="Inputs of the rule by name.")
    result: RuleResult | None = Field(None, description="Unit and description of the result.")
    range: str = Field("", description="Range of inputs in which the rule is valid, in words.")
    valid_when: Text | None = Field(
        None,
        description=("Validity range as a condition on the inputs; if the condition is false, the result has a doubt."),
    )
    applies_when: Text | None = Field(
        None, description="Condition on the inputs; the rule applies to the system if the condition is true."
    )
    follows_when: Text | None = Field(
        None,
        description=("Condition on the inputs and `result`; the system follows the rule if the condition is true."),
    )
    identity: bool = Field(
        False,
        description=(
            "Whether the rule is a law between measurements of the same period. Such a rule is checked with the "
            "measured values, without their intervals."
        ),
    )
    source: RuleSource = Field(description="Document and place that the rule comes from.")
    examples: list[RuleExample] = Field(
        [], description="Examples with inputs and expected result, which check the rule."
    )
    caution: str = Field("", description="Warning to read before the rule is used.")
    advice: str = Field("", description="Advice for systems that do not follow the rule.")


class RuleFile(FileModel):
    """Rules of thumb, and the documents that they come from."""

    schema_: Literal["towtank/rule-file/1"] = Field(alias="schema", description="Name and version of the file format.")
    topic: Name = Field(description="Topic of the rules in the file.")
    documents: dict[Name, str] = Field({}, description="Full titles of the documents, by short name.")
    rules: dict[Name, RuleEntry] = Field(min_length=1, description="Rules by name.")
