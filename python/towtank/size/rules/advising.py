"""The advisor: every rule that can be bound to a system, what it says, what is set, what was seen, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Literal

from towtank.containment import attempt_or
from towtank.errors import ModelError
from towtank.size.rules.examples import with_defaults
from towtank.size.rules.facts import Fact, Facts, Situation
from towtank.size.rules.loading import Rules
from towtank.size.rules.rule import Answer, Given, Rule, answer, shown_given

Verdict = Literal["follows", "differs", "says", "does_not_apply", "cannot_be_told"]
VERDICTS: tuple[Verdict, ...] = ("differs", "follows", "says", "does_not_apply", "cannot_be_told")
# Services of a kind that a rule joins to those of another: pairs beyond this help nobody.
_PAIRS_AT_MOST = 64


@dataclass
class Advice:
    """What one rule says of one system.

    Attributes
    ----------
    rule : Rule
    verdict : str
        `follows`, `differs`, `says` (the rule has a result and asks for nothing), `does_not_apply`, or
        `cannot_be_told`.
    why : str
        Why it cannot be told, or does not apply; else what it rests on.
    services : tuple of str
        The services it is about.
    answer : Answer
    values : dict of str to (str, str)
        What was put in: as people read it, and where it comes from.
    """

    rule: Rule
    verdict: Verdict
    why: str
    services: tuple[str, ...]
    answer: Answer
    values: dict[str, tuple[str, str]] = field(default_factory=dict)


def advise(rules: Rules, situation: Situation) -> list[Advice]:
    """Hold a system against all rules of which at least one input is known of it."""
    found = [
        advice
        for name, rule in rules.items()
        for advice in attempt_or(f"rule {name}", [], _all_of_rule, rule, situation)
    ]
    order = {verdict: place for place, verdict in enumerate(VERDICTS)}
    return sorted(found, key=lambda one: order[one.verdict])


def _all_of_rule(rule: Rule, situation: Situation) -> list[Advice]:
    return list(_of_rule(rule, situation))


def _of_rule(rule: Rule, situation: Situation) -> Iterator[Advice]:
    if rule.follows_when is None and not rule.is_workable:
        return
    for names, facts in _scopes(rule, situation):
        found = _advice(rule, facts, names)
        if found is not None:
            yield found


def _scopes(rule: Rule, situation: Situation) -> Iterator[tuple[tuple[str, ...], Facts]]:
    """The facts that a rule may look at, once for every service, or pair of services, that it is about."""
    prefixes = dict.fromkeys(bind.partition(".")[0] for one in rule.entry.inputs.values() for bind in one.binds)
    choices = [found for prefix in prefixes if (found := situation.instances(prefix))]
    for picked in islice(product(*choices), _PAIRS_AT_MOST):
        facts = dict(situation.common)
        for _, own in picked:
            facts |= own
        yield tuple(name for name, _ in picked), facts


def _advice(rule: Rule, facts: Facts, services: tuple[str, ...]) -> Advice | None:
    """Bind, work out, judge; None where nothing of the rule is known."""
    known: dict[str, Fact] = {}
    for name, one in rule.entry.inputs.items():
        fact = next((facts[bind] for bind in one.binds if bind in facts), None)
        if fact is not None:
            known[name] = fact
    if not known:
        return None
    given, refused = _read(rule, known)
    given = with_defaults(rule, given)
    seen = {name for name, fact in known.items() if fact.place is None}
    values = {
        name: (shown_given(rule, name, value, measured=name in seen), _origin(known.get(name)))
        for name, value in given.items()
    }
    wanted = rule.judged if rule.follows_when is not None else rule.needed
    missing = [name for name in wanted if name not in given]
    try:
        found = answer(rule, given, seen)
    except ModelError as error:
        return Advice(rule, "cannot_be_told", str(error), services, Answer(None, ""), values)
    verdict, why = _verdict(rule, found, missing, refused)
    return Advice(rule, verdict, why, services, found, values)


def _read(rule: Rule, known: dict[str, Fact]) -> tuple[dict[str, Given], dict[str, str]]:
    """Values that the rule takes, and why it does not take the others."""
    given: dict[str, Given] = {}
    refused: dict[str, str] = {}
    for name, fact in known.items():
        try:
            given[name] = rule.read(name, fact.value)
        except ValueError as error:
            refused[name] = str(error)
    return given, refused


def _origin(fact: Fact | None) -> str:
    return f"{fact.name}, {fact.origin}" if fact is not None else "default of the rule"


def _verdict(rule: Rule, found: Answer, missing: list[str], refused: dict[str, str]) -> tuple[Verdict, str]:
    if found.applies is False:
        return "does_not_apply", f"{rule.entry.applies_when} does not hold"
    if missing:
        return "cannot_be_told", "; ".join(_lacks(rule, name, refused) for name in missing)
    if rule.follows_when is None:
        return "says", "; ".join(found.doubts)
    if found.follows is None:
        return "cannot_be_told", "what it would be judged by is not known"
    return ("follows" if found.follows else "differs"), "; ".join(found.doubts)


def _lacks(rule: Rule, name: str, refused: dict[str, str]) -> str:
    one = rule.entry.inputs[name]
    if name in refused:
        return f"{name} {refused[name]}"
    told = f", as {one.binds[0]} in a sheet" if one.binds else ""
    return f"{name} is not known{told}"


def document_of(one: Advice) -> dict[str, Any]:
    """One piece of advice as plain data."""
    entry = one.rule.entry
    return {
        "rule": one.rule.name,
        "title": entry.title,
        "topic": one.rule.topic,
        "verdict": one.verdict,
        "why": one.why,
        "services": list(one.services),
        "says": one.answer.text or None,
        "set": _by_role(one, "set"),
        "seen": _by_role(one, "seen"),
        "given": _by_role(one, "given"),
        "arithmetic": [vars(line) for line in one.answer.lines],
        "doubts": one.answer.doubts,
        "advice": entry.advice or None,
        "caution": entry.caution or None,
        "range": entry.range or None,
        "source": source_text(one.rule),
    }


def _by_role(one: Advice, role: str) -> dict[str, dict[str, str]]:
    inputs = one.rule.entry.inputs
    return {
        name: {"value": value, "from": origin, "meaning": inputs[name].meaning}
        for name, (value, origin) in one.values.items()
        if inputs[name].role == role
    }


def source_text(rule: Rule) -> str:
    """Where a rule stands, for people."""
    source = rule.entry.source
    section = f", {source.section}" if source.section else ""
    lines = f", lines {source.lines}" if source.lines else ""
    return f"{rule.document}{section}{lines}"
