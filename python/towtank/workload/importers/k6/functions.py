"""Functions of JavaScript and k6 whose values are known before the run."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.k6.syntax import shown
from towtank.workload.importers.k6.values import Random, Unknown

# Functions of JavaScript from numbers to numbers: halves are rounded up.
OF_NUMBERS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("Number", "parseFloat"), lambda number: number),
    **dict.fromkeys(("parseInt", "Math.trunc"), int),
    **{"Math.floor": math.floor, "Math.ceil": math.ceil, "Math.abs": abs},
    "Math.round": lambda number: math.floor(number + 0.5),
}


def base64_of(text: str, variant: Any) -> str | None:
    """Encode a text in the variant of base64 that k6 names; return None for any other."""
    if variant not in {"std", "rawstd", "url", "rawurl"}:
        return None
    encode = base64.urlsafe_b64encode if variant.endswith("url") else base64.b64encode
    encoded = encode(text.encode()).decode()
    return encoded.rstrip("=") if variant.startswith("raw") else encoded


def of_number(name: str, value: float | Random, node: Node) -> Any:
    """Apply a function of JavaScript to a number."""
    if isinstance(value, Random):
        if name in {"Math.floor", "Math.trunc", "parseInt"}:
            return Random(int(value.low), int(value.high), whole=True)
        return Unknown(f"{shown(node)} has no counterpart in a workload")
    try:
        return OF_NUMBERS[name](value)
    except (OverflowError, ValueError):
        return Unknown(f"{shown(node)} is no number")
