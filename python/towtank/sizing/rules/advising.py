"""Compares a system with rules of thumb. Each applicable rule gives a result and a verdict on the system."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Literal

from towtank.containment import attempt_or
from towtank.errors import ModelError
from towtank.sizing.rules.examples import inputs_with_defaults
from towtank.sizing.rules.facts import Fact, Situation, SystemFacts, is_uncertain
from towtank.sizing.rules.loading import Rules
from towtank.sizing.rules.quantities import parse_quantity, shown_estimate
from towtank.sizing.rules.reach import Ends, reach
from towtank.sizing.rules.rule import FOLLOWS, InputValue, Rule, RuleAnswer, answer_rule, shown_given

Verdict = Literal["follows", "differs", "says", "does_not_apply", "cannot_be_told"]
VERDICTS: tuple[Verdict, ...] = ("differs", "follows", "says", "does_not_apply", "cannot_be_told")
# Largest number of pairs of services for which a rule on two kinds of services is evaluated. [1]
_PAIRS_AT_MOST = 64
# Relative width of an interval up to which the interval counts as a rounding error. For example, if a CPU was busy in
# every second, the interval of its utilization has no width. [ratio]
_ROUNDING = 1e-9


@dataclass
class Advice:
    """Answer of a rule of thumb for a system, with the verdict: `follows`, `differs`, `says` (the rule has a result but
    requires nothing), `does_not_apply`, or `cannot_be_told` (the verdict is undecided). `why` is the reason of the last
    two, otherwise doubts about the verdict. `values` has the text and the origin of each input. `is_left_open` is True
    if all inputs are known, but their intervals leave the verdict undecided.
    """

    rule: Rule
    verdict: Verdict
    why: str
    services: tuple[str, ...]
    answer: RuleAnswer
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    is_left_open: bool = False


def advise(rules: Rules, situation: Situation) -> list[Advice]:
    """Return the advice of every rule for which the system provides at least one input, sorted by verdict."""
    found = [
        advice
        for name, rule in rules.items()
        for advice in attempt_or(f"rule {name}", [], _all_of_rule, rule, situation)
    ]
    order = {verdict: place for place, verdict in enumerate(VERDICTS)}
    return sorted(found, key=lambda item: order[item.verdict])


def _all_of_rule(rule: Rule, situation: Situation) -> list[Advice]:
    return list(_of_rule(rule, situation))


def _of_rule(rule: Rule, situation: Situation) -> Iterator[Advice]:
    if rule.follows_when is None and not rule.is_workable:
        return
    for names, facts in _scopes(rule, situation):
        found = _advice(rule, facts, names)
        if found is not None:
            yield found


def _scopes(rule: Rule, situation: Situation) -> Iterator[tuple[tuple[str, ...], SystemFacts]]:
    """Yield the services to which a rule applies, with their known properties. A rule on two kinds of services applies
    to each pair.
    """
    prefixes = dict.fromkeys(
        bind.partition(".")[0] for quantity in rule.entry.inputs.values() for bind in quantity.binds
    )
    choices = [found for prefix in prefixes if (found := situation.instances(prefix))]
    for picked in islice(product(*choices), _PAIRS_AT_MOST):
        facts = dict(situation.common)
        for _, own in picked:
            facts |= own
        yield tuple(name for name, _ in picked), facts


def _advice(rule: Rule, facts: SystemFacts, services: tuple[str, ...]) -> Advice | None:
    """Evaluate a rule with the known properties of a system, and decide if the system follows it; None if no input of
    the rule is known.
    """
    known: dict[str, Fact] = {}
    for name, quantity in rule.entry.inputs.items():
        fact = next((facts[bind] for bind in quantity.binds if bind in facts), None)
        if fact is not None:
            known[name] = fact
    if not known:
        return None
    given, refused = _read(rule, known)
    given = inputs_with_defaults(rule, given)
    seen = {name for name, fact in known.items() if fact.place is None}
    values = {
        name: (_shown(rule, name, value, known.get(name)), _origin(known.get(name))) for name, value in given.items()
    }
    wanted = rule.judged if rule.follows_when is not None else rule.needed
    missing = [name for name in wanted if name not in given]
    try:
        found = answer_rule(rule, given, seen)
    except ModelError as error:
        return Advice(rule, "cannot_be_told", str(error), services, RuleAnswer(None, ""), values)
    verdict, why = _verdict(rule, found, missing, refused)
    item = Advice(rule, verdict, why, services, found, values)
    if not rule.entry.identity:
        intervals = {name: ends for name in given if (ends := _ends(rule, name, given[name], known.get(name)))}
        if intervals:
            _hold_over_intervals(item, given, intervals, seen)
        _state_missing_intervals(item, known, intervals)
    return item


def _hold_over_intervals(
    item: Advice, given: Mapping[str, InputValue], intervals: Mapping[str, Ends], seen: Collection[str]
) -> None:
    """Evaluate the rule over the intervals of its inputs. If the verdict is not the same everywhere in the intervals,
    it becomes undecided.
    """
    found, rule = item.answer, item.rule
    try:
        reached = reach(rule, given, intervals, seen)
    except ModelError as error:
        _withdraw(item, f"no answer for some values within the interval of {_and(intervals)}: {error}")
        return
    if reached.ends is not None and found.value is not None and not isinstance(found.value, bool):
        low, high = reached.ends
        if high - low > _ROUNDING * abs(found.value):
            found.text = shown_estimate(found.value, low, high, rule.unit)
    more = [f"within the intervals: {doubt}" for doubt in reached.doubts if doubt not in found.doubts]
    if more:
        found.doubts += more
        item.why = _joined(item.why, *more)
    if not reached.is_certain:
        changes = "applies" if len(reached.applies) > 1 else "is followed" if len(reached.follows) > 1 else "says yes"
        _withdraw(
            item,
            f"whether the rule {changes} depends on the value within the interval of "
            f"{_and(_deciding(item, given, intervals))}",
        )


def _deciding(item: Advice, given: Mapping[str, InputValue], intervals: Mapping[str, Ends]) -> list[str]:
    """Return the inputs whose interval alone changes the verdict. If no single interval changes the verdict, return all
    inputs with intervals.
    """
    alone = [name for name in intervals if not reach(item.rule, given, {name: intervals[name]}, ()).is_certain]
    return alone or list(intervals)


def _withdraw(item: Advice, why: str) -> None:
    """Change a verdict to undecided, and remove the line of arithmetic that decides if the rule is followed.

    A verdict that is already undecided, because inputs are missing, does not change.
    """
    if item.verdict == "cannot_be_told":
        return
    if isinstance(item.answer.value, bool) and item.verdict == "says":
        item.answer.text = "yes or no"
    item.answer.lines = [line for line in item.answer.lines if line.name != FOLLOWS]
    item.verdict, item.why, item.is_left_open = "cannot_be_told", why, True


def _state_missing_intervals(item: Advice, known: Mapping[str, Fact], intervals: Collection[str]) -> None:
    """Add a doubt if the verdict depends on a measured value whose interval is unknown."""
    rule = item.rule
    used = rule.judged if rule.follows_when is not None else rule.needed
    bare = [name for name in used if name not in intervals and name in known and is_uncertain(known[name])]
    if bare and item.verdict in ("follows", "differs", "says"):
        item.answer.doubts.append(f"the interval of {_and(bare)} is unknown")
        item.why = _joined(item.why, item.answer.doubts[-1])


def _joined(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def _and(names: Iterable[str]) -> str:
    return ", ".join(names)


def _ends(rule: Rule, name: str, value: InputValue, fact: Fact | None) -> Ends | None:
    """Return the ends of the interval of a measured input, in base units; None if the input has no interval."""
    if fact is None or fact.ends is None or isinstance(value, bool | str):
        return None
    low, high = (parse_quantity(end, rule.units[name]) for end in fact.ends)
    return (low, high) if high - low > _ROUNDING * abs(value) else None


def _shown(rule: Rule, name: str, value: InputValue, fact: Fact | None) -> str:
    """Render the value of an input with its interval if known. A measured value without an interval has few digits."""
    ends = _ends(rule, name, value, fact)
    if ends is not None:
        assert not isinstance(value, str)
        return shown_estimate(value, *ends, rule.units[name])
    return shown_given(rule, name, value, measured=fact is not None and fact.place is None)


def _read(rule: Rule, known: dict[str, Fact]) -> tuple[dict[str, InputValue], dict[str, str]]:
    """Return the values that the rule accepts, in base units, and the reason for each value that it refuses."""
    given: dict[str, InputValue] = {}
    refused: dict[str, str] = {}
    for name, fact in known.items():
        try:
            given[name] = rule.read(name, fact.value)
        except ValueError as error:
            refused[name] = str(error)
    return given, refused


def _origin(fact: Fact | None) -> str:
    return f"{fact.name}, {fact.origin}" if fact is not None else "default of the rule"


def _verdict(rule: Rule, found: RuleAnswer, missing: list[str], refused: dict[str, str]) -> tuple[Verdict, str]:
    if found.applies is False:
        return "does_not_apply", f"{rule.entry.applies_when} does not hold"
    if missing:
        return "cannot_be_told", "; ".join(_lacks(rule, name, refused) for name in missing)
    if rule.follows_when is None:
        return "says", "; ".join(found.doubts)
    if found.follows is None:
        return "cannot_be_told", "the properties that decide the verdict are unknown"
    return ("follows" if found.follows else "differs"), "; ".join(found.doubts)


def _lacks(rule: Rule, name: str, refused: dict[str, str]) -> str:
    quantity = rule.entry.inputs[name]
    if name in refused:
        return f"{name} {refused[name]}"
    name_in_sheet = f", as {quantity.binds[0]} in a sheet" if quantity.binds else ""
    return f"{name} is not known{name_in_sheet}"


def document_of(item: Advice) -> dict[str, object]:
    """Return the advice of a rule of thumb as a JSON object: verdict, values, arithmetic and source."""
    entry = item.rule.entry
    return {
        "rule": item.rule.name,
        "title": entry.title,
        "topic": item.rule.topic,
        "verdict": item.verdict,
        "why": item.why,
        "services": list(item.services),
        "says": item.answer.text or None,
        "set": _by_role(item, "set"),
        "seen": _by_role(item, "seen"),
        "given": _by_role(item, "given"),
        "arithmetic": [vars(line) for line in item.answer.lines],
        "doubts": item.answer.doubts,
        "advice": entry.advice or None,
        "caution": entry.caution or None,
        "range": entry.range or None,
        "source": rule_source_text(item.rule),
    }


def _by_role(item: Advice, role: str) -> dict[str, dict[str, str]]:
    inputs = item.rule.entry.inputs
    return {
        name: {"value": value, "from": origin, "meaning": inputs[name].meaning}
        for name, (value, origin) in item.values.items()
        if inputs[name].role == role
    }


def rule_source_text(rule: Rule) -> str:
    """Render the source of a rule of thumb: document, section and lines."""
    source = rule.entry.source
    section = f", {source.section}" if source.section else ""
    lines = f", lines {source.lines}" if source.lines else ""
    return f"{rule.document}{section}{lines}"
