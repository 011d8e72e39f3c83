"""Renders the output of `towtank advise` as text."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.sizing import Advice, Situation

_HEADS = {
    "differs": "differs from the rule",
    "follows": "follows the rule",
    "says": "the rule gives",
    "does_not_apply": "does not apply",
    "cannot_be_told": "not decidable",
}
_ALWAYS = ("differs", "follows", "says")


def advice_lines(situation: Situation, advice: list[Advice], *, everything: bool) -> Iterator[str]:
    """Render the advice for one system: deviations from a rule in full, agreement in one line, other rules as a
    count.
    """
    yield f"\n{situation.label} ({situation.note})"
    for verdict, head in _HEADS.items():
        own = [item for item in advice if item.verdict == verdict]
        if not own:
            continue
        if verdict in _ALWAYS or everything:
            yield f"\n{head}:"
            for item in own:
                yield from (_in_full(item) if verdict == "differs" else [_in_short(item)])
            continue
        # For these rules, all inputs are known, but the confidence intervals are too wide for a verdict.
        left_open = [item for item in own if item.is_left_open]
        count = len(own) - len(left_open)
        if left_open:
            yield f"\n{head}:"
            yield from map(_in_short, left_open)
            yield from [f"  and {count} other rule{'s' * (count != 1)} (--all lists them)"] if count else []
        else:
            yield f"\n{head}: {count} rule{'s' * (count != 1)} (--all lists them)"


def _in_full(item: Advice) -> Iterator[str]:
    entry = item.rule.entry
    yield f"  {item.rule.name}: {entry.title}{_services(item)}"
    if item.answer.text and entry.result is not None:
        yield f"    says: {item.answer.text} ({entry.result.meaning.rstrip('.')})"
    for role in ("set", "seen", "given"):
        for name, (value, origin) in item.values.items():
            if entry.inputs[name].role == role:
                yield f"    {role}: {name} {value} ({origin})"
    if item.why:
        yield f"    doubt: {item.why}"
    for title, text in (("true for", entry.range), ("advice", entry.advice), ("caution", entry.caution)):
        if text:
            yield f"    {title}: {text}"


def _in_short(item: Advice) -> str:
    values = ", ".join(f"{name} {value}" for name, (value, _) in item.values.items())
    says = f" says {item.answer.text};" if item.answer.text else ""
    why = f" ({item.why})" if item.why else ""
    return f"  {item.rule.name}{_services(item)}:{says} {values}{why}"


def _services(item: Advice) -> str:
    return f" [{', '.join(item.services)}]" if item.services else ""
