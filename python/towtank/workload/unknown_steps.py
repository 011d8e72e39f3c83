"""Builds the message about an unknown kind of step: its keys, the nearest known key, and the equivalent step."""

from __future__ import annotations

from typing import Any

from towtank.yamlfile import did_you_mean

# Number of keys shown in a message.
_KEYS_SHOWN = 5
# Step names of other tools, with the equivalent step; None without an equivalent.
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


def no_step(value: dict[str, Any], keys: list[str]) -> str:
    """Return the message about a mapping that is not a step.

    Parameters
    ----------
    value : dict
        The mapping.
    keys : list of str
        Keys of all kinds of steps.
    """
    return f"must be a step with one of the keys {', '.join(keys)}, got {_unknown_keys(value, keys)}"


def _unknown_keys(value: dict[str, Any], keys: list[str]) -> str:
    names = [str(name) for name in value]
    if not names:
        return "an empty mapping instead"
    got = f"{', '.join(map(repr, names[:_KEYS_SHOWN]))} instead"
    for name in names:
        if name in _ELSEWHERE:
            here = _ELSEWHERE[name]
            return got + (f": {here!r} does this here" if here else f": no step does this, {_GUIDE}")
        if near := did_you_mean(name, keys):
            return got + near
    return f"{got}, {_GUIDE}"
