"""Waiting for what comes true some time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Far more than anything here takes: on a machine that is busy otherwise, things stand still for seconds. [s]
PATIENCE_S = 60.0


def until(true: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
    """Wait for something to become true, and return it."""
    deadline = time.monotonic() + within_s
    while not (value := true()):
        assert time.monotonic() < deadline, f"did not come true within {within_s} s"
        time.sleep(0.02)
    return value
