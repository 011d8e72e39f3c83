"""Waits for a condition, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Time limit, which no test reaches, even on a busy machine that suspends processes for seconds. [s]
PATIENCE_S = 60.0


def until(true: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
    """Call a function until it returns a true value; return this value."""
    deadline = time.monotonic() + within_s
    while not (value := true()):
        assert time.monotonic() < deadline, f"condition not met within {within_s} s"
        time.sleep(0.02)
    return value
