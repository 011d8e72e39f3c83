"""What `towtank advise` prints for people."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.size.rules.advising import Advice
from towtank.size.rules.facts import Situation

_HEADS = {
    "differs": "differs from the rule",
    "follows": "follows the rule",
    "says": "the rule gives",
    "does_not_apply": "does not apply",
    "cannot_be_told": "cannot be told",
}
_ALWAYS = ("differs", "follows", "says")


def advice_lines(situation: Situation, advice: list[Advice], *, everything: bool) -> Iterator[str]:
    """The advice of one system: what differs in full, what follows in a line, the rest as a count."""
    yield f"\n{situation.label} ({situation.note})"
    for verdict, head in _HEADS.items():
        own = [one for one in advice if one.verdict == verdict]
        if not own:
            continue
        if verdict in _ALWAYS or everything:
            yield f"\n{head}:"
            for one in own:
                yield from (_in_full(one) if verdict == "differs" else [_in_short(one)])
        else:
            yield f"\n{head}: {len(own)} rule{'s' * (len(own) != 1)} (--all lists them)"


def _in_full(one: Advice) -> Iterator[str]:
    entry = one.rule.entry
    yield f"  {one.rule.name}: {entry.title}{_services(one)}"
    if one.answer.text and entry.result is not None:
        yield f"    says: {one.answer.text} ({entry.result.meaning.rstrip('.')})"
    for role in ("set", "seen", "given"):
        for name, (value, origin) in one.values.items():
            if entry.inputs[name].role == role:
                yield f"    {role}: {name} {value} ({origin})"
    if one.why:
        yield f"    doubt: {one.why}"
    for title, text in (("true for", entry.range), ("advice", entry.advice), ("caution", entry.caution)):
        if text:
            yield f"    {title}: {text}"


def _in_short(one: Advice) -> str:
    values = ", ".join(f"{name} {value}" for name, (value, _) in one.values.items())
    says = f" says {one.answer.text};" if one.answer.text else ""
    why = f" ({one.why})" if one.why else ""
    return f"  {one.rule.name}{_services(one)}:{says} {values}{why}"


def _services(one: Advice) -> str:
    return f" [{', '.join(one.services)}]" if one.services else ""
