"""Observes programs that count their own resource use, and compares the observed values with the programs' counts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certification import Certified

from towtank.observe import Observation
from towtank.observe.observation import RemoteProbe
from towtank.results import observe
from towtank.results.folder import RunFolder

PROGRAM = Path(__file__).with_name("self_counting.py")
SECTION = "Observers"
CASES = (
    "duty_cycle",
    "threads",
    "children",
    "grandchildren",
    "detached",
    "detached_program",
    "sleeps",
    "sleeping_threads",
    "buffered_writes",
    "direct_writes",
    "shared_memory",
    "many_sessions",
)
WITHIN_S = 90.0
TICK_S = 0.01
# Allowed difference of the counted context switches. Besides the program, its guard process, its shell and the printing
# of the result cause context switches.
_AROUND = 15
_MIB = 1 << 20
_CPU = ("cpu_user_s_total", "cpu_system_s_total")


def command(case: str, folder: Path | str) -> list[str]:
    return [sys.executable, "-S", str(PROGRAM), case, str(folder)]


def counts_in(text: str) -> dict[str, float] | None:
    """Return the counts that a program has printed, or None if no complete line with counts was printed yet."""
    lines = [line for line in text.split("\n")[:-1] if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def await_counts(read: Callable[[], str]) -> dict[str, float]:
    deadline = time.monotonic() + WITHIN_S
    while (found := counts_in(read())) is None:
        assert time.monotonic() < deadline, f"the program printed no counts within {WITHIN_S:g} s: {read()}"
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class Samples:
    """Samples of process groups: while the programs work, and later while all programs are idle."""

    working: list[dict[str, Any]]
    resting: list[dict[str, Any]]


def observe_groups(
    folder: Path, groups: dict[str, int], texts: dict[str, Callable[[], str]], *, probes: Sequence[RemoteProbe] = ()
) -> tuple[dict[str, dict[str, float]], Samples]:
    """Observe process groups until their programs have printed their resource use. Return the printed counts and the
    samples.

    The true memory is unknown while processes start. Therefore, a second observation, which begins when all programs
    are idle, measures memory. The first observation cannot: a memory measurement takes time in proportion to the
    memory, and the pause before the next measurement is a multiple of this time.
    """
    run, rest = (RunFolder.create(folder / name, {"run": name}) for name in ("r001", "r002"))
    with Observation(run, groups, interval_s=0.5, probes=probes) as working:
        counts = {name: await_counts(read) for name, read in texts.items()}
        time.sleep(1.0)
    with Observation(rest, groups, interval_s=0.5, probes=probes) as resting:
        time.sleep(1.0)
    assert [*working.failures(), *resting.failures()] == []
    return counts, Samples(_samples(run), _samples(rest))


def _samples(run: RunFolder) -> list[dict[str, Any]]:
    remote = observe.read_remote_probes(run.observe)
    return (next(iter(remote.values())) if remote else observe.read_probe(run.observe)).samples


def judge(certified: Certified, case: str, counts: dict[str, float], samples: Samples, group: str) -> None:
    """Certify the observed values of a process group against the counts that its program printed."""
    shown = samples.working[-1]["groups"][group]
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
        memory = [
            each["memory_bytes"] for sample in samples.resting if "memory_bytes" in (each := sample["groups"][group])
        ]
        certified(SECTION, case, "memory", truth=counts["memory"] / _MIB, shown=memory[-1] / _MIB, unit="MiB")
        assert shown["processes"] >= counts["processes"]
