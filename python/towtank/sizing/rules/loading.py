"""Reads rule files and checks the meaning of their rules. All faults are reported with file, line and column. The form
of the files is checked by the module `file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.sizing.rules.checking_units import Kind, dimension_of
from towtank.sizing.rules.file import RuleEntry, RuleFile
from towtank.sizing.rules.language import RESERVED, FormulaError, Tree, leaves, parse
from towtank.sizing.rules.quantities import Unit, dimension_text, parse_quantity, parse_unit
from towtank.sizing.rules.rule import FOLLOWS, RESULT, VALUE, Rule, StepTree, result_of_example, truth
from towtank.spelling import did_you_mean
from towtank.treecheck import validate_tree
from towtank.yamlfile import Document, Node, Path_, fault_at

SHIPPED = Path(__file__).parent
FOLDER = "rules"


class Rules(dict[str, Rule]):
    """Rules by name. A rule of a later file replaces an earlier rule of the same name."""

    def topics(self) -> dict[str, list[Rule]]:
        """Return the rules grouped by topic, in the order of the files."""
        found: dict[str, list[Rule]] = {}
        for rule in self.values():
            found.setdefault(rule.topic, []).append(rule)
        return found


@cache
def _shipped() -> Rules:
    return _load(sorted(SHIPPED.glob("*.yaml")))


def load_rules(more: list[Path] | None = None, name: str | None = None) -> Rules:
    """Return the shipped rules and the rules of the user's files and folders.

    The rules in the files and folders `more` of the user replace shipped rules of the same name. With `name`, only
    shipped files that contain the name are read, which is faster for a single rule.

    Raises
    ------
    StudyError
        If a file is invalid; contains the faults of all files.
    """
    shipped = _shipped() if name is None else _load(_with_name(name))
    return Rules({**shipped, **_load(_files(more or []))})


def _with_name(name: str) -> list[Path]:
    return [path for path in sorted(SHIPPED.glob("*.yaml")) if f"\n  {name}:\n" in path.read_text("utf-8")]


def rules_beside(path: Path) -> list[Path]:
    """Return a list with the folder `rules` next to a file; an empty list if the folder has no rule files."""
    folder = path.parent / FOLDER
    return [folder] if any(folder.glob("*.yaml")) else []


def _files(paths: list[Path]) -> list[Path]:
    return [file for path in paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]


def _load(paths: list[Path]) -> Rules:
    rules, faults = Rules(), []
    for path in paths:
        try:
            found, wrong = read_rules(yamlfile.load(path))
        except StudyError as error:
            found, wrong = Rules(), error.faults
        rules.update(found)
        faults += wrong
    if faults:
        raise StudyError(faults)
    return rules


def check_rules(document: Document) -> list[Fault]:
    """Return all faults in the form and meaning of a rule file."""
    return read_rules(document)[1]


def read_rules(document: Document) -> tuple[Rules, list[Fault]]:
    """Return the valid rules of a rule file, and all faults of the file."""
    checked = validate_tree(document.root, RuleFile)
    if checked.model is None:
        return Rules(), checked.faults
    rules, faults = Rules(), list(checked.faults)
    for name, entry in checked.model.rules.items():
        reader = _Reader(checked.tree, document, name, entry)
        rule = reader.rule(checked.model)
        faults += reader.faults
        if not reader.faults:
            rules[name] = rule
    return rules, sorted(set(faults))


class _Reader:
    """Builds one rule from its entry in a rule file, and collects the faults of the rule."""

    def __init__(self, tree: Node, document: Document, name: str, entry: RuleEntry) -> None:
        self._tree, self._document, self._name, self._entry = tree, document, name, entry
        self.faults: list[Fault] = []

    def rule(self, file: RuleFile) -> Rule:
        """Return the rule. It is valid only if the list `faults` of this reader stays empty."""
        entry = self._entry
        documents = {"towtank": "Towtank", **file.documents}
        rule = Rule(
            self._name,
            entry.topic or file.topic,
            self._document.name,
            entry,
            documents.get(entry.source.document, ""),
            units={name: parse_unit(quantity.unit) for name, quantity in entry.inputs.items()},
            unit=parse_unit(entry.result.unit) if entry.result else parse_unit("1"),
        )
        if entry.source.document not in documents:
            self._fault(("source", "document"), f"must be one of {', '.join(documents)}, got {entry.source.document!r}")
        self._shape(rule)
        self._formulas(rule)
        if not self.faults:
            self._values(rule)
        if not self.faults:
            self._examples(rule)
        return rule

    def _fault(self, path: Path_, message: str, *, key: bool = False) -> None:
        self.faults.append(fault_at(self._tree, ("rules", self._name, *path), message, key=key))

    def _shape(self, rule: Rule) -> None:
        """Check that a rule has the keys that its kind requires, and no others."""
        entry = self._entry
        wants = {
            "formula": entry.formula is not None and not entry.table,
            "threshold": entry.formula is not None and not entry.table,
            "table": bool(entry.table),
            "advice": entry.formula is None and not entry.table,
        }
        if not wants[entry.kind]:
            form = {"table": "a 'table'", "advice": "neither 'formula' nor 'table'"}.get(entry.kind, "a 'formula' only")
            self._fault(("kind",), f"must have {form}, as its kind is {entry.kind}")
        workable = entry.formula is not None or bool(entry.table)
        if workable != (entry.result is not None):
            got = "none" if workable else "one"
            self._fault((), f"must have a 'result' if and only if it has a formula or a table, got {got}")
        if workable and not entry.examples:
            self._fault((), "must have at least one example")
        for number, row in enumerate(entry.table):
            if list(row.when) != rule.keys:
                self._fault(("table", number, "when"), f"must have the keys {', '.join(rule.keys)} as the first row")
        for key in rule.keys:
            given = entry.inputs.get(key)
            if given is None or not given.choices:
                self._fault(("table", 0, "when", key), "must be an input with 'choices'", key=True)

    def _formulas(self, rule: Rule) -> None:
        """Parse all formulas of the rule. Steps are parsed before the formulas that use them."""
        entry = self._entry
        kinds: dict[str, Kind] = {}
        for name, quantity in entry.inputs.items():
            if name in {RESULT, VALUE, FOLLOWS} or name in RESERVED:
                self._fault(
                    ("inputs", name), f"must not be named {name!r}, which is a word of the formula language", key=True
                )
            if not quantity.choices:
                unit = rule.units[name]
                kinds[name] = None if unit.is_truth else unit.dimension
        for name, step in entry.steps.items():
            tree = self._expression(("steps", name, "formula"), step.formula, kinds, parse_unit(step.unit))
            kinds[name] = parse_unit(step.unit).dimension if not parse_unit(step.unit).is_truth else None
            if tree is not None:
                rule.steps.append(StepTree(name, tree, parse_unit(step.unit)))
        if entry.table:
            unit = parse_unit(entry.value_unit) if entry.value_unit else rule.unit
            kinds[VALUE] = None if unit.is_truth else unit.dimension
        rule.formula = self._expression(("formula",), entry.formula, kinds, rule.unit)
        truths = parse_unit("yes or no")
        rule.valid_when = self._expression(("valid_when",), entry.valid_when, kinds, truths)
        rule.applies_when = self._expression(("applies_when",), entry.applies_when, kinds, truths)
        if entry.result is not None:
            kinds[RESULT] = None if rule.unit.is_truth else rule.unit.dimension
        rule.follows_when = self._expression(("follows_when",), entry.follows_when, kinds, truths)

    def _expression(self, path: Path_, text: str | None, kinds: Mapping[str, Kind], unit: Unit) -> Tree | None:
        """Parse a formula and check its names and its unit. Return None if the formula is missing or faulty."""
        if text is None:
            return None
        try:
            tree = parse(text)
            for leaf in leaves(tree):
                if leaf.name not in kinds:
                    near = did_you_mean(leaf.name, list(kinds))
                    known = ", ".join(kinds) or "none"
                    message = f"must use names of inputs or earlier steps ({known}), got {leaf.name!r}{near}"
                    raise FormulaError(message, leaf.position)
            found = dimension_of(tree, kinds)
        except FormulaError as error:
            self._at_character(path, text, error)
            return None
        if (found is None) != unit.is_truth or (found is not None and found != unit.dimension):
            gives = "a yes or no" if found is None else dimension_text(found)
            wants = unit.text if unit.is_truth else f"{dimension_text(unit.dimension)}, as {unit.text}"
            self._fault(path, f"must give {wants}, got a formula that gives {gives}")
            return None
        return tree

    def _at_character(self, path: Path_, text: str, error: FormulaError) -> None:
        """Add a fault at the character of the formula where the error is, if the formula is written on a
        single line.
        """
        fault = fault_at(
            self._tree, ("rules", self._name, *path), f"{error}, at character {error.position + 1} of {text!r}"
        )
        lines = self._document.text.splitlines()
        line = lines[fault.line - 1] if 0 < fault.line <= len(lines) else ""
        start = line.find(text, max(0, fault.column - 1))
        column = start + error.position + 1 if start >= 0 else fault.column
        self.faults.append(Fault(fault.file, fault.line, column, fault.where, fault.message))

    def _values(self, rule: Rule) -> None:
        """Check that bounds, defaults and table values can be read in the unit of their input or of the result."""
        for name, quantity in self._entry.inputs.items():
            for key in ("at_least", "above", "at_most", "below"):
                self._quantity(("inputs", name, key), getattr(quantity, key), rule.units[name])
            if quantity.default is not None:
                self._readable(rule, ("inputs", name, "default"), name, quantity.default)
        unit = parse_unit(self._entry.value_unit) if self._entry.value_unit else rule.unit
        seen: list[dict[str, str]] = []
        for number, row in enumerate(self._entry.table):
            self._quantity(("table", number, "value"), row.value, unit)
            for key, choice in row.when.items():
                self._readable(rule, ("table", number, "when", key), key, choice)
            if row.when in seen:
                self._fault(("table", number, "when"), "must not be the key of an earlier row")
            seen.append(row.when)

    def _quantity(self, path: Path_, value: object, unit: Unit) -> None:
        try:
            if value is not None and unit.is_truth:
                truth(value)
            elif value is not None:
                parse_quantity(value, unit)
        except ValueError as error:
            self._fault(path, str(error))

    def _readable(self, rule: Rule, path: Path_, name: str, value: object) -> None:
        try:
            rule.read(name, value)
        except ValueError as error:
            self._fault(path, str(error))

    def _examples(self, rule: Rule) -> None:
        """Check the inputs and the unit of each worked example; `examples.example_outcome` checks the results."""
        for number, example in enumerate(self._entry.examples):
            for name, value in example.inputs.items():
                path = ("examples", number, "inputs", name)
                if name not in self._entry.inputs:
                    near = did_you_mean(name, list(self._entry.inputs))
                    self._fault(path, f"must be an input of the rule, got {name!r}{near}", key=True)
                else:
                    self._readable(rule, path, name, value)
            missing = [
                needed
                for needed in rule.needed
                if needed not in example.inputs and rule.entry.inputs[needed].default is None
            ]
            if missing:
                self._fault(("examples", number, "inputs"), f"must give {', '.join(missing)}")
            try:
                result_of_example(rule, example.result)
            except ValueError as error:
                self._fault(("examples", number, "result"), str(error))
