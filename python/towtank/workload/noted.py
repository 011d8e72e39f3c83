"""What steps say of things that users are told are stored: keys of steps, and what the plan has of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from towtank.fields import Name
from towtank.workload import templates
from towtank.workload.texts import Template

NOTES = ("stores", "replaces", "removes", "reads")
STORED = "stored"
STORED_KEY = f"{STORED}.key"
"""Key of what is to be read back, in the transaction that does it."""


def _key(text: str) -> str:
    """A key is found again by what the user knows: nothing in it may be made up anew."""
    if any(isinstance(part, templates.Function) for part in templates.parse(text)):
        raise ValueError(f"must be a key made of variables and text, got {text!r} instead")
    return text


Keyed = Annotated[dict[Name, Annotated[Template, AfterValidator(_key)]], Field(min_length=1, max_length=1)]
Stores = Annotated[
    Keyed | None,
    Field(
        description="`{KIND: KEY}`: a good answer tells the user that this is stored, found again by its key; noted "
        "with size and digest of what was sent, to be read back after the run. The key may be taken from the answer."
    ),
]
Replaces = Annotated[Keyed | None, Field(description="`{KIND: KEY}`: what was stored by this key gets this content.")]
Removes = Annotated[Keyed | None, Field(description="`{KIND: KEY}`: what was stored by this key goes away.")]
Reads = Annotated[
    Name | None,
    Field(description="Kind whose content the answer is, in the transaction that reads back what is stored."),
]


def given(step: Any) -> list[str]:
    """What a step says that it does to something that is kept.

    Raises
    ------
    ValueError
        If it says several things.
    """
    found = [name for name in NOTES if getattr(step, name) is not None]
    if len(found) > 1:
        raise ValueError(f"must have one of {', '.join(NOTES)}, got {' and '.join(found)} instead")
    return found


def note_of(step: Any) -> tuple[str, str, str] | None:
    """What a step does to something that is kept: `stores` and so on, the kind, the key; None where it says nothing."""
    reads = getattr(step, "reads", None)
    if reads is not None:
        return "reads", reads, f"${{{STORED_KEY}}}"
    for does in NOTES[:-1]:
        for kind, key in (getattr(step, does, None) or {}).items():
            return does, kind, key
    return None


def note_part(step: Any, write: Any) -> dict[str, Any]:
    """The plan's `note` of a step, where it says anything.

    Parameters
    ----------
    step : Request or CallStep
    write : callable
        Writes a template as the plan has it.
    """
    note = note_of(step)
    if note is None:
        return {}
    does, kind, key = note
    return {"note": {"does": does, "of": kind, "key": write(key)}}
