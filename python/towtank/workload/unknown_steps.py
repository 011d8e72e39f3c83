"""Builds the message about a step of an unknown kind.

The message lists the keys of the step and suggests the most similar valid key, or the equivalent of another tool's key.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import InitErrorDetails

from towtank.spelling import did_you_mean
from towtank.treecheck import misspelt_key

# Largest number of keys of the faulty mapping that a message lists. [1]
_KEYS_SHOWN = 5
# Keys of steps in other tools, each with the key of the equivalent step of a workload; None if there is no equivalent.
_ELSEWHERE = {
    "wait": "think",
    "sleep": "think",
    "pause": "think",
    "request": "get",
    "repeat": "loop",
    "while": "loop",
    "for_each": "loop",
    "random": "branch",
    "unless": "if",
    "call": "get",
    "data": "draw",
    "ws": None,
    "websocket": None,
    "grpc": None,
    "parallel": None,
    "transaction": None,
    "options": None,
}
_GUIDE = "see docs/guides/write-a-workload.md"


def misspelt_step(value: Mapping[str, object], keys: list[str]) -> InitErrorDetails | None:
    """Return the error for a misspelt key that identifies a step; None if no key of the mapping resembles such a key.

    A key that is the name of a step in another tool does not count as misspelt.
    """
    if any(name in _ELSEWHERE for name in value):
        return None
    return misspelt_key(value, _allowed(keys), keys)


def no_step(value: Mapping[str, object], keys: list[str]) -> str:
    """Return the message about a mapping that is not a step; `keys` are those of all kinds of steps."""
    return f"{_allowed(keys)}, got {_unknown_keys(value, keys)}"


def _allowed(keys: list[str]) -> str:
    return f"must be a step with one of the keys {', '.join(keys)}"


def _unknown_keys(value: Mapping[str, object], keys: list[str]) -> str:
    names = [str(name) for name in value]
    if not names:
        return "an empty mapping instead"
    got = f"{', '.join(map(repr, names[:_KEYS_SHOWN]))} instead"
    for name in names:
        if name in _ELSEWHERE:
            here = _ELSEWHERE[name]
            return got + (f": the equivalent step is {here!r}" if here else f": there is no equivalent step, {_GUIDE}")
        if near := did_you_mean(name, keys):
            return got + near
    return f"{got}, {_GUIDE}"
