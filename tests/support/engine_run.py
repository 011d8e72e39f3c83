"""Runs the real load engine on a plan, and reads the engine's results."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from towtank.engine import binary
from towtank.results import segments
from towtank.workload import compile_workload, load_workload

# Time limit of the engine, which no test reaches even on a busy machine. [s]
_ENDS_WITHIN_S = 120


def plan_of(
    folder: Path, targets: dict[str, list[str]], *, users: int, seconds: float = 1.0, **changes: Any
) -> dict[str, Any]:
    """Return a load plan for the workload in a folder, with one steady stage on one thread.

    `changes` are additional keys of the plan.
    """
    stage = {"name": "s", "phase": "steady", "level": 0, "duration_s": seconds, "users": users}
    return {
        "schema": "towtank/plan/1",
        "run": "test",
        "seed": 3,
        "out": str(folder / "engine"),
        "threads": 1,
        "cpus": [],
        **compile_workload(load_workload(folder / "workload.yaml"), targets=targets),
        "load": {"kind": "closed", "users_at_most": users, "stages": [stage]},
        **changes,
    }


def drive(plan: dict[str, Any], folder: Path) -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    """Run the engine on a plan. Return the content of `engine.json`, and the numbers of successes and of transferred
    bytes by step name.
    """
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    command = [str(binary()), "load", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ENDS_WITHIN_S)
    assert ended.returncode == 0, ended.stderr
    out = Path(plan["out"])
    recording = segments.read(out)
    names = [name.partition(" / ")[2] for name in segments.names_of(recording, "step")]
    sums = {name: Counter[str]() for name in names}
    for row in (row for interval in recording.intervals for row in interval.series if row.of == "step"):
        sums[names[row.number]].update({"ok": row.ok, "in": row.bytes_in, "out": row.bytes_out})
    return json.loads((out / "engine.json").read_text()), sums
