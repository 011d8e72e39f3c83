"""Checks that the worked examples of rules give the results that their sources state."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.errors import ModelError
from towtank.sizing.rules.file import RuleExample
from towtank.sizing.rules.quantities import parse_quantity, shown_quantity
from towtank.sizing.rules.rule import InputValue, Rule, answer_rule, result_of_example

# Relative tolerance for results that a source states as exact. It is needed because decimal fractions are rounded to
# binary fractions. [ratio]
EXACT = 1e-9


@dataclass(frozen=True)
class Outcome:
    """Result of a worked example, compared with the result that the source states.

    Attributes
    ----------
    got : str
        Computed result, with its unit.
    difference : float
        Absolute difference from the stated result, in base units; 1 if one result is yes and the other is no.
    comes_out : bool
        True if the difference is within the tolerance of the example.
    """

    example: RuleExample
    got: str
    difference: float
    comes_out: bool


def example_outcome(rule: Rule, example: RuleExample) -> Outcome:
    """Evaluate a worked example and compare the result with the stated result."""
    try:
        found = answer_rule(rule, inputs_with_defaults(rule, {k: rule.read(k, v) for k, v in example.inputs.items()}))
    except ModelError as error:
        return Outcome(example, str(error), float("inf"), False)
    if found.value is None:
        return Outcome(example, "nothing", float("inf"), False)
    expected = result_of_example(rule, example.result)
    difference = abs(float(found.value) - float(expected))
    allowed = 0.0 if rule.unit.is_truth else parse_quantity(example.tolerance, rule.unit)
    return Outcome(
        example,
        shown_quantity(found.value, rule.unit),
        difference,
        difference <= allowed + EXACT * abs(float(expected)),
    )


def inputs_with_defaults(rule: Rule, given: dict[str, InputValue]) -> dict[str, InputValue]:
    """Return the given input values, and the defaults of the rule for all inputs that are not given."""
    defaults = {
        name: rule.read(name, quantity.default)
        for name, quantity in rule.entry.inputs.items()
        if quantity.default is not None
    }
    return {**defaults, **given}
