"""Functions of JavaScript and k6 whose value is known before the run."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.k6_syntax import shown
from towtank.workload.importers.k6_values import Random, Unknown

# Functions of JavaScript that make a number of one: halves are rounded up.
OF_NUMBERS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("Number", "parseFloat"), lambda number: number),
    **dict.fromkeys(("parseInt", "Math.trunc"), int),
    **{"Math.floor": math.floor, "Math.ceil": math.ceil, "Math.abs": abs},
    "Math.round": lambda number: math.floor(number + 0.5),
}


def base64_of(text: str, variant: Any) -> str | None:
    """A text in the variant of base64 that k6 names; None for any other."""
    if variant not in {"std", "rawstd", "url", "rawurl"}:
        return None
    encode = base64.urlsafe_b64encode if variant.endswith("url") else base64.b64encode
    encoded = encode(text.encode()).decode()
    return encoded.rstrip("=") if variant.startswith("raw") else encoded


def of_number(name: str, value: float | Random, node: Node) -> Any:
    """A number made of another one by a function of JavaScript."""
    if isinstance(value, Random):
        if name in {"Math.floor", "Math.trunc", "parseInt"}:
            return Random(int(value.low), int(value.high), whole=True)
        return Unknown(f"{shown(node)} has no counterpart in a workload")
    try:
        return OF_NUMBERS[name](value)
    except (OverflowError, ValueError):
        return Unknown(f"{shown(node)} is no number")
