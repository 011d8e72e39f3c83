"""Runs self-counting programs beside the observers, and holds what these show against what the programs count."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from certification import Certified

PROGRAM = Path(__file__).with_name("self_counting.py")
SECTION = "Observers"
WITHIN_S = 90.0
TICK_S = 0.01
# Switches of the guard itself, of the shell before it, and of printing the result.
_AROUND = 15
_MIB = 1 << 20
_CPU = ("cpu_user_s_total", "cpu_system_s_total")


def command(case: str, folder: Path | str) -> list[str]:
    """Command of one case."""
    return [sys.executable, "-S", str(PROGRAM), case, str(folder)]


def counts_in(text: str) -> dict[str, float] | None:
    """What a program has printed so far; None before its line is whole."""
    lines = [line for line in text.split("\n")[:-1] if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def await_counts(read: Callable[[], str]) -> dict[str, float]:
    """Wait until a program has printed what it used."""
    deadline = time.monotonic() + WITHIN_S
    while (found := counts_in(read())) is None:
        assert time.monotonic() < deadline, f"nothing was printed within {WITHIN_S:g} s: {read()}"
        time.sleep(0.05)
    return found


def judge(certified: Certified, case: str, counts: dict[str, float], samples: list[dict[str, Any]], group: str) -> None:
    """Hold the last sample of a group against the program's own counts."""
    shown = samples[-1]["groups"][group]
    if "cpu_s" in counts:
        seen = sum(shown[key] for key in _CPU)
        certified(SECTION, case, "CPU time", truth=counts["cpu_s"], shown=seen, unit="s", absolute=TICK_S)
    if "voluntary" in counts:
        seen = shown["voluntary_switches_total"]
        certified(SECTION, case, "voluntary switches", truth=counts["voluntary"], shown=seen, unit="", absolute=_AROUND)
    if "written" in counts:
        seen = shown["write_bytes_total"] / _MIB
        certified(SECTION, case, "bytes written", truth=counts["written"] / _MIB, shown=seen, unit="MiB")
    if "memory" in counts:
        memory = [one["groups"][group]["memory_bytes"] for one in samples if "memory_bytes" in one["groups"][group]]
        certified(SECTION, case, "memory", truth=counts["memory"] / _MIB, shown=memory[-1] / _MIB, unit="MiB")
        assert shown["processes"] >= counts["processes"]
