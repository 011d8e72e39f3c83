"""Evaluates a rule of thumb, with parsed formulas, units and table, for given inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.errors import ModelError
from towtank.sizing.rules.file import RuleEntry, RuleInput
from towtank.sizing.rules.language import Tree, names
from towtank.sizing.rules.quantities import (
    DIGITS,
    MEASURED_DIGITS,
    TRUTH,
    Unit,
    parse_quantity,
    parse_unit,
    shown_quantity,
)
from towtank.sizing.rules.working import Value, work_out, written

InputValue = Value | str
RESULT, VALUE, FOLLOWS = "result", "value", "follows"
_TRUTHS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


@dataclass(frozen=True)
class StepTree:
    """Intermediate step of a rule, with its parsed formula."""

    name: str
    tree: Tree
    unit: Unit


@dataclass
class Rule:
    """Rule of thumb with parsed formulas.

    Attributes
    ----------
    name, topic, file : str
        Name, topic, and file of the rule.
    entry : RuleEntry
        The rule as written in its file.
    document : str
        Full title of the source document.
    formula, valid_when, applies_when, follows_when : Tree or None
    steps : list of StepTree
    units : dict of str to Unit
        Unit of every input.
    unit : Unit
        Unit of the result.
    """

    name: str
    topic: str
    file: str
    entry: RuleEntry
    document: str
    formula: Tree | None = None
    valid_when: Tree | None = None
    applies_when: Tree | None = None
    follows_when: Tree | None = None
    steps: list[StepTree] = field(default_factory=list)
    units: dict[str, Unit] = field(default_factory=dict)
    unit: Unit = field(default_factory=lambda: parse_unit("1"))

    @property
    def is_workable(self) -> bool:
        """True if the rule has a result, from a formula or a table."""
        return self.formula is not None or bool(self.entry.table)

    @property
    def keys(self) -> list[str]:
        """Names of the inputs that select a row of the rule's table."""
        return list(self.entry.table[0].when) if self.entry.table else []

    @property
    def needed(self) -> list[str]:
        """Names of the inputs from which the result of the rule is computed, in the order of the file."""
        return self._inputs_of([*self._trees_of_result()], self.keys)

    @property
    def judged(self) -> list[str]:
        """Names of the inputs that decide if a system follows the rule."""
        trees = [tree for tree in (self.applies_when, self.follows_when) if tree is not None]
        needs_result = any(RESULT in names(tree) for tree in trees)
        return self._inputs_of([*trees, *(self._trees_of_result() if needs_result else ())], self.keys)

    def _trees_of_result(self) -> list[Tree]:
        return [*(step.tree for step in self.steps), *([self.formula] if self.formula is not None else [])]

    def _inputs_of(self, trees: list[Tree], more: list[str]) -> list[str]:
        used = {name for tree in trees for name in names(tree)} | set(more)
        if used & {step.name for step in self.steps}:
            used |= {name for step in self.steps for name in names(step.tree)}
        return [name for name in self.entry.inputs if name in used]

    def read(self, name: str, value: object) -> InputValue:
        """Return the value of an input in base units, or the choice for an input with choices.

        Raises ValueError if the rule does not allow the value.
        """
        field_, unit = self.entry.inputs[name], self.units[name]
        if field_.choices:
            if value not in field_.choices:
                raise ValueError(f"must be one of {', '.join(field_.choices)}, got {value!r} instead")
            return str(value)
        if unit.is_truth:
            return truth(value)
        found = parse_quantity(value, unit)
        _within(found, value, field_, unit)
        return found

    def nearest(self, name: str, value: float) -> float:
        """Return the allowed value of an input that is nearest to the given value, both in base units.

        Raises
        ------
        ModelError
            If the value is beyond a bound and the bound itself is not allowed.
        """
        field_, unit = self.entry.inputs[name], self.units[name]
        for key, words, holds in _BOUNDS:
            bound = getattr(field_, key)
            if bound is None or holds(value, limit := parse_quantity(bound, unit)):
                continue
            if key in ("above", "below"):
                raise ModelError(f"{name} must be {words} {shown_quantity(limit, unit)}")
            value = limit
        return value


def truth(value: object) -> bool:
    """Parse yes or no (also true, false, on, off) as a truth value."""
    if isinstance(value, bool):
        return value
    found = _TRUTHS.get(str(value).lower())
    if found is None:
        raise ValueError(f"must be yes or no, got {value!r} instead")
    return found


_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("at_least", "at least", operator.ge),
    ("above", "above", operator.gt),
    ("at_most", "at most", operator.le),
    ("below", "below", operator.lt),
)


def _within(found: float, value: object, field_: RuleInput, unit: Unit) -> None:
    """Raise ValueError if a value is outside the bounds of an input."""
    for key, words, holds in _BOUNDS:
        bound = getattr(field_, key)
        if bound is not None and not holds(found, parse_quantity(bound, unit)):
            limit = shown_quantity(parse_quantity(bound, unit), unit)
            raise ValueError(f"must be {words} {limit}, got {value!r} instead")


@dataclass(frozen=True)
class Line:
    """One line of the arithmetic of a rule: the formula, the formula with numbers instead of names, and the result with
    its unit.
    """

    name: str
    formula: str
    numbers: str
    result: str


@dataclass
class RuleAnswer:
    """Result of a rule for given inputs, in base units and as text, with its arithmetic, and reasons why the rule may
    not hold. The value is None for advice. `follows` is True if the system follows the rule; None if the rule does not
    require anything, or is undecided. `applies` is None if undecided.
    """

    value: Value | None
    text: str
    lines: list[Line] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    follows: bool | None = None
    applies: bool | None = None


@dataclass
class _Work:
    """Evaluation of a rule in progress, with the values known so far, as numbers and as texts."""

    rule: Rule
    given: Mapping[str, InputValue]
    values: dict[str, Value]
    texts: dict[str, str]
    found: RuleAnswer
    digits: int = DIGITS

    def knows(self, tree: Tree) -> bool:
        return all(name in self.values for name in names(tree))

    def line(self, name: str, tree: Tree, unit: Unit) -> None:
        """Evaluate a formula and append a line with its result to the arithmetic of the rule."""
        self.values[name] = work_out(tree, self.values)
        numbers = written(tree, self.texts)
        self.texts[name] = shown_quantity(self.values[name], unit, self.digits)
        self.found.lines.append(Line(name, written(tree), numbers, self.texts[name]))

    def result(self) -> None:
        """Evaluate the steps, the table and the formula of the rule, in this order."""
        rule = self.rule
        for step in rule.steps:
            self.line(step.name, step.tree, step.unit)
        if rule.entry.table:
            self._look_up(VALUE if rule.formula is not None else RESULT)
        if rule.formula is not None:
            self.line(RESULT, rule.formula, rule.unit)
        self.found.value, self.found.text = self.values[RESULT], self.texts[RESULT]

    def _look_up(self, name: str) -> None:
        rule = self.rule
        unit = parse_unit(rule.entry.value_unit) if rule.entry.value_unit else rule.unit
        self.values[name] = _row(rule, self.given, unit)
        self.texts[name] = shown_quantity(self.values[name], unit, self.digits)
        picked = ", ".join(f"{key} {self.given[key]}" for key in rule.keys)
        self.found.lines.append(Line(name, f"table by {', '.join(rule.keys)}", picked, self.texts[name]))

    def judge(self) -> None:
        """Determine the doubts, whether the rule applies to the system, and whether the system follows the rule."""
        rule, found = self.rule, self.found
        if rule.valid_when is not None and self.knows(rule.valid_when) and not work_out(rule.valid_when, self.values):
            found.doubts.append(f"outside of the rule's range: {written(rule.valid_when)} does not hold")
        if rule.applies_when is not None and self.knows(rule.applies_when):
            found.applies = bool(work_out(rule.applies_when, self.values))
        if rule.follows_when is not None and self.knows(rule.follows_when) and found.applies is not False:
            self.line(FOLLOWS, rule.follows_when, parse_unit(TRUTH))
            found.follows = bool(self.values[FOLLOWS])


def answer_rule(rule: Rule, given: Mapping[str, InputValue], measured: Collection[str] = ()) -> RuleAnswer:
    """Evaluate a rule for given inputs.

    Inputs are in base units, as `Rule.read` returns them, and may include inputs that are not needed. Measured inputs
    and results are rendered with few digits.

    Raises
    ------
    ModelError
        If the formula has no value for these inputs.
    """
    values: dict[str, Value] = {name: value for name, value in given.items() if not isinstance(value, str)}
    texts = {name: shown_given(rule, name, value, measured=name in measured) for name, value in given.items()}
    work = _Work(rule, given, values, texts, RuleAnswer(None, ""), MEASURED_DIGITS if measured else DIGITS)
    if rule.is_workable and all(name in given for name in rule.needed):
        work.result()
    work.judge()
    return work.found


def _row(rule: Rule, given: Mapping[str, InputValue], unit: Unit) -> Value:
    for row in rule.entry.table:
        if all(given[key] == choice for key, choice in row.when.items()):
            return truth(row.value) if unit.is_truth else parse_quantity(row.value, unit)
    picked = ", ".join(f"{key} {given[key]}" for key in rule.keys)
    raise ModelError(f"the table of {rule.name} has no row for {picked}")


def shown_given(rule: Rule, name: str, value: InputValue, *, measured: bool = False) -> str:
    """Render the value of an input of a rule; a measured value has few digits."""
    digits = MEASURED_DIGITS if measured else DIGITS
    return value if isinstance(value, str) else shown_quantity(value, rule.units[name], digits)


def result_of_example(rule: Rule, value: Any) -> Value:
    """Return the result that a worked example states, in base units."""
    return truth(value) if rule.unit.text == TRUTH else parse_quantity(value, rule.unit)
