"""Evaluates functions of JavaScript and k6 before the run."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.k6.syntax import shown
from towtank.workload.importers.k6.values import Random, Unknown

# Numeric functions that give the same results as in JavaScript, where for example `Math.round` rounds halves up.
OF_NUMBERS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("Number", "parseFloat"), lambda number: number),
    **dict.fromkeys(("parseInt", "Math.trunc"), int),
    **{"Math.floor": math.floor, "Math.ceil": math.ceil, "Math.abs": abs},
    "Math.round": lambda number: math.floor(number + 0.5),
}


def base64_of(text: str, variant: Any) -> str | None:
    """Encode a text in a base64 variant of k6; None if the variant is unknown."""
    if variant not in {"std", "rawstd", "url", "rawurl"}:
        return None
    encode = base64.urlsafe_b64encode if variant.endswith("url") else base64.b64encode
    encoded = encode(text.encode()).decode()
    return encoded.rstrip("=") if variant.startswith("raw") else encoded


def of_number(name: str, value: float | Random, node: Node) -> Any:
    """Apply a numeric function of JavaScript to a number."""
    if isinstance(value, Random):
        below = value.low < 0
        if name in {"Number", "parseFloat", "Math.abs"} and not (below and name == "Math.abs"):
            return value
        if value.whole and name != "Math.abs":
            return value
        # Amount to add to a random number before rounding down, so that the result is that of the function. `ceil` is
        # the floor plus 1, because a random number is almost never an integer. Truncation is the floor only for numbers
        # of at least 0.
        more = {"Math.floor": 0.0, "Math.ceil": 1.0, "Math.round": 0.5}.get(name, None if below else 0.0)
        if more is None:
            return Unknown(f"{shown(node)} has no counterpart in a workload")
        return replace(value, low=value.low + more, high=value.high + more, whole=True)
    try:
        return OF_NUMBERS[name](value)
    except (OverflowError, ValueError):
        return Unknown(f"{shown(node)} is no number")
