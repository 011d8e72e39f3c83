"""Reads configuration sheets, which describe systems that Towtank did not start. A sheet states properties of a system
as `name: value` with units.
"""

from __future__ import annotations

from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.sizing.rules.facts import COMMON, OF_A_KIND, OF_A_TIER, TIER, Fact, SystemFacts, bound_names
from towtank.sizing.rules.file import SHEET_SCHEMA
from towtank.sizing.rules.loading import Rules, load_rules, rules_beside
from towtank.sizing.rules.quantities import parse_quantity
from towtank.sizing.rules.rule import Rule, truth
from towtank.spelling import did_you_mean
from towtank.units import shown
from towtank.yamlfile import Document, Node


def load_sheet(path: Path | str, rules: Rules) -> SystemFacts:
    """Read a configuration sheet.

    Raises
    ------
    StudyError
        If the sheet is invalid; contains every fault.
    """
    facts, faults = read_sheet(yamlfile.load(path), rules)
    if faults:
        raise StudyError(faults)
    return facts


def check_sheet(document: Document) -> list[Fault]:
    """Return all faults of a configuration sheet. Names that only rules in the folder `rules` next to the sheet use are
    allowed too.
    """
    return read_sheet(document, load_rules(rules_beside(document.path)))[1]


def read_sheet(document: Document, rules: Rules) -> tuple[SystemFacts, list[Fault]]:
    """Return the system properties of a configuration sheet, and all faults: unknown names, and values that no rule can
    read.
    """
    root = document.root
    if not isinstance(root.value, dict):
        return {}, [document.fault((), f"must be a mapping of names to values, got {shown(root.plain())} instead")]
    facts: SystemFacts = {}
    faults: list[Fault] = []
    schema = root.child("schema")
    if schema is not None and schema.value != SHEET_SCHEMA:
        faults.append(document.fault(("schema",), f"must be {SHEET_SCHEMA}, got {shown(schema.plain())} instead"))
    known = known_names(rules)
    for name, node in _leaves(root):
        if name == "schema":
            continue
        if name not in known:
            message = f"must be a property that rules use, got unknown {name!r}{did_you_mean(name, list(known))}"
            faults.append(Fault(node.file, node.line, node.column, name, message))
        elif isinstance(node.value, list) or node.value is None:
            message = f"must be one value, got {shown(node.plain())} instead"
            faults.append(Fault(node.file, node.line, node.column, name, message))
        else:
            place = (node.file, node.line, node.column)
            facts[name] = Fact(name, node.value, f"{node.file}:{node.line}", place)
    wrong = {fault.where: fault for rule in reversed(rules.values()) for fault in _unreadable(rule, facts)}
    return facts, sorted({*faults, *wrong.values()})


def _unreadable(rule: Rule, facts: SystemFacts) -> list[Fault]:
    """Return a fault for each value that cannot be read in the unit of a rule. A value outside the range of a rule
    causes no fault here; the evaluation of the rule reports it.
    """
    faults = []
    for name, quantity in rule.entry.inputs.items():
        for fact in (facts[bind] for bind in quantity.binds if bind in facts):
            try:
                if quantity.choices:
                    rule.read(name, str(fact.value))
                elif rule.units[name].is_truth:
                    truth(fact.value)
                else:
                    parse_quantity(fact.value, rule.units[name])
            except ValueError as error:
                if fact.place is not None:
                    faults.append(Fault(*fact.place, fact.name, str(error)))
    return faults


def known_names(rules: Rules) -> dict[str, None]:
    """Return all names that a configuration sheet may contain."""
    names = dict.fromkeys([*COMMON, *(f"{TIER}.{key}" for key in OF_A_TIER)])
    for kind, table in OF_A_KIND.items():
        names |= dict.fromkeys(f"{kind}.{key}" for key in (*table, *OF_A_TIER))
    return names | bound_names(rules.values())


def _leaves(node: Node, path: str = "") -> list[tuple[str, Node]]:
    """Return the dotted name and the value of every leaf of nested mappings."""
    if not isinstance(node.value, dict):
        return [(path, node)]
    found = []
    for key, child in node.value.items():
        found += _leaves(child, f"{path}.{key}" if path else key)
    return found
