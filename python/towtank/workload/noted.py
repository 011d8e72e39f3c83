"""Defines the keys of steps that concern stored items (`stores`, `replaces`, `removes`, `reads`), and converts them
for the engine's plan.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from towtank.fields import Name
from towtank.workload import templates
from towtank.workload.texts import Template

NOTES = ("stores", "replaces", "removes", "reads")
STORED = "stored"
STORED_KEY = f"{STORED}.key"
"""Name of the variable that contains the key of the stored item to read back."""


def _key(text: str) -> str:
    """Refuse a key with generated parts, because a stored item can be found again only if its key is known."""
    if any(isinstance(part, templates.Function) for part in templates.parse(text)):
        raise ValueError(f"must be a key made of variables and text, got {text!r} instead")
    return text


Keyed = Annotated[dict[Name, Annotated[Template, AfterValidator(_key)]], Field(min_length=1, max_length=1)]
Stores = Annotated[
    Keyed | None,
    Field(
        description=(
            "Item, written `{KIND: KEY}`, that a successful response confirms as stored; its size and "
            "digest are recorded, and it is read back after the run. KEY may come from the response."
        )
    ),
]
Replaces = Annotated[
    Keyed | None, Field(description="Item, written `{KIND: KEY}`, whose stored content the request replaces.")
]
Removes = Annotated[Keyed | None, Field(description="Item, written `{KIND: KEY}`, that the request removes.")]
Reads = Annotated[
    Name | None,
    Field(
        description=(
            "Kind of the item that the response returns, for example `order`; only allowed in the transaction "
            "named in `read_back`, which checks that stored items can be read."
        )
    ),
]


def given(step: Any) -> list[str]:
    """Return the key of a step that concerns stored items, as the only element of a list.

    The list is empty if the step has no such key.

    Raises
    ------
    ValueError
        If the step contains more than one of these keys.
    """
    found = [name for name in NOTES if getattr(step, name) is not None]
    if len(found) > 1:
        raise ValueError(f"must have one of {', '.join(NOTES)}, got {' and '.join(found)} instead")
    return found


def note_of(step: Any) -> tuple[str, str, str] | None:
    """Return how a step refers to a stored item: key of the step (such as `stores`), kind of the item, and key of the
    item.

    The result is None if the step refers to no stored item.
    """
    reads = getattr(step, "reads", None)
    if reads is not None:
        return "reads", reads, f"${{{STORED_KEY}}}"
    for does in NOTES[:-1]:
        for kind, key in (getattr(step, does, None) or {}).items():
            return does, kind, key
    return None


def note_part(step: Any, write: Any) -> dict[str, object]:
    """Return the entry `note` of a step in the form of the engine's plan; an empty mapping if the step refers to no
    stored item.
    """
    note = note_of(step)
    if note is None:
        return {}
    does, kind, key = note
    return {"note": {"does": does, "of": kind, "key": write(key)}}
