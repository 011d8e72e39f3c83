"""Renders the output of `towtank rules` as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towtank.sizing import Rule, RuleAnswer, RuleExample, example_outcome, input_bounds_text, rule_source_text


def listed(topics: Mapping[str, list[Rule]]) -> Iterator[str]:
    """Render the rules by topic, one line for each rule."""
    width = max(len(rule.name) for rules in topics.values() for rule in rules)
    for topic, rules in topics.items():
        yield f"\n{topic.replace('_', ' ')}"
        for rule in rules:
            yield f"  {rule.name:{width}}  {rule.entry.kind:9}  {rule.entry.title}"
    yield "\n`towtank rules NAME` shows a rule, `towtank rules NAME --set INPUT=VALUE` computes its result."


def shown(rule: Rule) -> Iterator[str]:
    """Render one rule with its formulas, inputs, source and examples."""
    entry = rule.entry
    yield f"{rule.name}: {entry.title}"
    yield f"  {entry.kind}, topic {rule.topic.replace('_', ' ')}"
    yield from _formulas(rule)
    for name, quantity in entry.inputs.items():
        form = f"one of {', '.join(quantity.choices)}" if quantity.choices else f"[{quantity.unit}]"
        role = f", {quantity.role}" if quantity.role != "given" else ""
        facts = f"; bound to {', '.join(quantity.binds)}" if quantity.binds else ""
        yield f"  {name} {form}{role}: {quantity.meaning}{input_bounds_text(quantity)}{facts}"
    for row in entry.table:
        picked = ", ".join(row.when.values())
        yield f"  {picked}: {row.value}{f'  ({row.note})' if row.note else ''}"
    for title, text in (("range", entry.range), ("caution", entry.caution), ("advice", entry.advice)):
        if text:
            yield f"  {title}: {text}"
    yield f"  source: {rule_source_text(rule)}"
    for example in entry.examples:
        yield f"  example{f' {example.case}' if example.case else ''}: {_example(rule, example)}"


def _formulas(rule: Rule) -> Iterator[str]:
    entry = rule.entry
    for name, step in entry.steps.items():
        yield f"  {name} = {step.formula}  [{step.unit}]"
    if entry.result is not None:
        formula = entry.formula or f"table by {', '.join(rule.keys)}"
        yield f"  result = {formula}  [{entry.result.unit}]: {entry.result.meaning}"
    for title, text in (("applies when", entry.applies_when), ("followed when", entry.follows_when)):
        if text:
            yield f"  {title} {text}"


def _example(rule: Rule, example: RuleExample) -> str:
    inputs = ", ".join(f"{name} {value}" for name, value in example.inputs.items()) or "no inputs"
    proves = (
        "; an input was chosen to give the stated result, so this example does not check the rule"
        if example.origin == "inferred"
        else ""
    )
    found = example_outcome(rule, example)
    off = "" if found.comes_out else ", WHICH IS OUTSIDE ITS TOLERANCE"
    return f"{inputs} gives {found.got}; stated {example.result}, {example.origin}{proves}{off}"


def worked_out(rule: Rule, answer: RuleAnswer) -> Iterator[str]:
    """Render the calculation of a rule's result, step by step."""
    yield f"{rule.name}: {rule.entry.title}"
    for line in answer.lines:
        yield f"  {line.name} = {line.formula}" if line.name != "follows" else f"  follows: {line.formula}"
        if line.numbers != line.formula:
            yield f"    = {line.numbers}"
        yield f"    = {line.result}"
    if answer.applies is False:
        yield f"  does not apply: {rule.entry.applies_when} does not hold"
    for doubt in answer.doubts:
        yield f"  doubt: {doubt} ({rule.entry.range})"
    if rule.entry.result is not None:
        yield f"  {rule.entry.result.meaning.rstrip('.')}: {answer.text}"
    if rule.entry.caution:
        yield f"  caution: {rule.entry.caution}"
    yield f"  source: {rule_source_text(rule)}"
