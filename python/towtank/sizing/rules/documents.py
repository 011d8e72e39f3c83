"""Builds the JSON documents `towtank/rules/1` (a list of rules) and `towtank/advice/1` (advice on a system)."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.sizing.rules.advising import VERDICTS, Advice, document_of, rule_source_text
from towtank.sizing.rules.examples import example_outcome
from towtank.sizing.rules.facts import Situation
from towtank.sizing.rules.file import RuleInput
from towtank.sizing.rules.quantities import in_unit
from towtank.sizing.rules.rule import Rule, RuleAnswer

RULES_SCHEMA = "towtank/rules/1"
ADVICE_SCHEMA = "towtank/advice/1"

__all__ = ["advice_document", "input_bounds_text", "rule_document", "rule_source_text", "rules_document"]


def rules_document(topics: Mapping[str, list[Rule]]) -> dict[str, object]:
    """Return all rules of the given topics as a document `towtank/rules/1`."""
    return {"schema": RULES_SCHEMA, "rules": [_entry(rule) for rules in topics.values() for rule in rules]}


def _entry(rule: Rule) -> dict[str, object]:
    entry = rule.entry.model_dump(mode="json", exclude={"topic", "source", "examples"})
    return {
        "name": rule.name,
        "topic": rule.topic,
        "file": rule.file,
        **entry,
        "source": {**rule.entry.source.model_dump(), "title": rule.document, "text": rule_source_text(rule)},
        "examples": [_example(rule, number) for number in range(len(rule.entry.examples))],
    }


def _example(rule: Rule, number: int) -> dict[str, object]:
    example = rule.entry.examples[number]
    found = example_outcome(rule, example)
    proves = example.origin != "inferred"
    return {**example.model_dump(mode="json"), "got": found.got, "comes_out": found.comes_out, "proves": proves}


def rule_document(rule: Rule, answer: RuleAnswer | None) -> dict[str, object]:
    """Return a rule as a document `towtank/rules/1`, with its computed result if it was evaluated."""
    document: dict[str, object] = {"schema": RULES_SCHEMA, "rules": [_entry(rule)]}
    if answer is not None:
        number = answer.value
        document["answer"] = {
            "value": number if number is None or isinstance(number, bool) else in_unit(number, rule.unit),
            "unit": rule.unit.text,
            "text": answer.text,
            "steps": [vars(line) for line in answer.lines],
            "doubts": answer.doubts,
            "applies": answer.applies,
            "follows": answer.follows,
        }
    return document


def advice_document(source: str, found: list[tuple[Situation, list[Advice]]]) -> dict[str, object]:
    """Return the advice for each configuration of a system, with the number of rules per verdict, as a document
    `towtank/advice/1`.
    """
    return {
        "schema": ADVICE_SCHEMA,
        "source": source,
        "situations": [
            {
                "label": situation.label,
                "note": situation.note,
                "verdicts": {verdict: sum(item.verdict == verdict for item in advice) for verdict in VERDICTS},
                "advice": [document_of(item) for item in advice],
            }
            for situation, advice in found
        ],
    }


def input_bounds_text(quantity: RuleInput) -> str:
    """Render the bounds of an input, such as ` (at least 1, at most 64)`; an empty text if the input has no bounds."""
    parts = [
        f"{words} {bound}"
        for words, bound in (
            ("at least", quantity.at_least),
            ("above", quantity.above),
            ("at most", quantity.at_most),
            ("below", quantity.below),
        )
        if bound is not None
    ]
    if quantity.default is not None:
        parts.append(f"{quantity.default} if not given")
    return f" ({', '.join(parts)})" if parts else ""
