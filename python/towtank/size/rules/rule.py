"""A rule made ready: formulas read, units known, tables by key; and what it says of given values, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.errors import ModelError
from towtank.size.rules.file import Input, RuleEntry
from towtank.size.rules.language import Tree, names
from towtank.size.rules.quantities import TRUTH, Unit, parse_quantity, parse_unit, shown_quantity
from towtank.size.rules.working import Value, work_out, written

Given = Value | str
RESULT, VALUE = "result", "value"
_TRUTHS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


@dataclass(frozen=True)
class StepTree:
    """A step with its formula read."""

    name: str
    tree: Tree
    unit: Unit


@dataclass
class Rule:
    """One rule.

    Attributes
    ----------
    name, topic, file : str
        `file` is where it stands.
    entry : RuleEntry
        As written.
    document : str
        Full title of its source.
    formula, valid_when, applies_when, follows_when : Tree or None
    steps : list of StepTree
    units : dict of str to Unit
        Of every input.
    unit : Unit
        Of the result.
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
        """Whether it gives a result: a formula, a limit or a table."""
        return self.formula is not None or bool(self.entry.table)

    @property
    def keys(self) -> list[str]:
        """Inputs that pick the row of its table."""
        return list(self.entry.table[0].when) if self.entry.table else []

    @property
    def needed(self) -> list[str]:
        """Inputs without which there is no result, in the order of the file."""
        return self._inputs_of([*self._trees_of_result()], self.keys)

    @property
    def judged(self) -> list[str]:
        """Inputs without which it cannot be told whether a system follows it."""
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

    def read(self, name: str, value: object) -> Given:
        """A value of an input in base units, or the choice; raises ValueError where it is none that the rule takes."""
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


def truth(value: object) -> bool:
    """Read a yes or no."""
    if isinstance(value, bool):
        return value
    found = _TRUTHS.get(str(value).lower())
    if found is None:
        raise ValueError(f"must be yes or no, got {value!r} instead")
    return found


def _within(found: float, value: object, field_: Input, unit: Unit) -> None:
    """Refuse what the rule does not take."""
    bounds = (
        ("at_least", "at least", lambda one, bound: one >= bound),
        ("above", "above", lambda one, bound: one > bound),
        ("at_most", "at most", lambda one, bound: one <= bound),
        ("below", "below", lambda one, bound: one < bound),
    )
    for key, words, holds in bounds:
        bound = getattr(field_, key)
        if bound is not None and not holds(found, parse_quantity(bound, unit)):
            limit = shown_quantity(parse_quantity(bound, unit), unit)
            raise ValueError(f"must be {words} {limit}, got {value!r} instead")


@dataclass(frozen=True)
class Line:
    """One step of the arithmetic.

    Attributes
    ----------
    name : str
        What is worked out.
    formula, numbers : str
        The formula, and the same with numbers put in.
    result : str
        What comes out, with its unit.
    """

    name: str
    formula: str
    numbers: str
    result: str


@dataclass
class Answer:
    """What a rule gives for values.

    Attributes
    ----------
    value : float, bool or None
        In base units; None for advice.
    text : str
        With its unit.
    lines : list of Line
        The arithmetic.
    doubts : list of str
        Why the rule may not be true here.
    follows : bool or None
        Whether the system follows it; None where that is not asked, or cannot be told.
    applies : bool or None
        Whether the rule is about this system.
    """

    value: Value | None
    text: str
    lines: list[Line] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    follows: bool | None = None
    applies: bool | None = None


def answer(rule: Rule, given: Mapping[str, Given]) -> Answer:
    """Work a rule out.

    Parameters
    ----------
    rule : Rule
    given : mapping of str to float, bool or str
        In base units, as `Rule.read` gives them; those needed, and any others.

    Raises
    ------
    ModelError
        Where the numbers have no answer.
    """
    found = Answer(None, "")
    texts = {name: shown_given(rule, name, value) for name, value in given.items()}
    values: dict[str, Value] = {name: value for name, value in given.items() if not isinstance(value, str)}
    if rule.is_workable and all(name in given for name in rule.needed):
        _result(rule, given, values, texts, found)
    if rule.valid_when is not None and _known(rule.valid_when, values) and not work_out(rule.valid_when, values):
        found.doubts.append(f"outside of where the rule is true: {written(rule.valid_when)} does not hold")
    if rule.applies_when is not None and _known(rule.applies_when, values):
        found.applies = bool(work_out(rule.applies_when, values))
    if rule.follows_when is not None and _known(rule.follows_when, values) and found.applies is not False:
        found.follows = bool(work_out(rule.follows_when, values))
        says = "yes" if found.follows else "no"
        found.lines.append(Line("follows", written(rule.follows_when), written(rule.follows_when, texts), says))
    return found


def _known(tree: Tree, values: Mapping[str, Value]) -> bool:
    return all(name in values for name in names(tree))


def _result(
    rule: Rule, given: Mapping[str, Given], values: dict[str, Value], texts: dict[str, str], found: Answer
) -> None:
    """Steps, table and formula, in this order; each becomes a line."""
    for step in rule.steps:
        _line(step.name, step.tree, step.unit, values, texts, found)
    if rule.entry.table:
        unit = parse_unit(rule.entry.value_unit) if rule.entry.value_unit else rule.unit
        values[VALUE] = _row(rule, given, unit)
        texts[VALUE] = shown_quantity(values[VALUE], unit)
        picked = ", ".join(f"{key} {given[key]}" for key in rule.keys)
        name = VALUE if rule.formula is not None else RESULT
        found.lines.append(Line(name, f"table by {', '.join(rule.keys)}", picked, texts[VALUE]))
    if rule.formula is not None:
        _line(RESULT, rule.formula, rule.unit, values, texts, found)
    else:
        values[RESULT], texts[RESULT] = values[VALUE], texts[VALUE]
    found.value, found.text = values[RESULT], texts[RESULT]


def _line(name: str, tree: Tree, unit: Unit, values: dict[str, Value], texts: dict[str, str], found: Answer) -> None:
    values[name] = work_out(tree, values)
    numbers = written(tree, texts)
    texts[name] = shown_quantity(values[name], unit)
    found.lines.append(Line(name, written(tree), numbers, texts[name]))


def _row(rule: Rule, given: Mapping[str, Given], unit: Unit) -> Value:
    for row in rule.entry.table:
        if all(given[key] == choice for key, choice in row.when.items()):
            return truth(row.value) if unit.is_truth else parse_quantity(row.value, unit)
    picked = ", ".join(f"{key} {given[key]}" for key in rule.keys)
    raise ModelError(f"the table of {rule.name} has no row for {picked}")


def shown_given(rule: Rule, name: str, value: Given) -> str:
    """A value of an input as people read it."""
    return value if isinstance(value, str) else shown_quantity(value, rule.units[name])


def result_of_example(rule: Rule, value: Any) -> Value:
    """The result of an example in base units."""
    return truth(value) if rule.unit.text == TRUTH else parse_quantity(value, rule.unit)
