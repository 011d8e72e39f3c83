"""The real engine on a plan, and what it recorded of it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from towtank.engine import binary
from towtank.results import segments

# No test takes so long; a machine that is busy otherwise may. [s]
_ENDS_WITHIN_S = 120


def drive(plan: dict[str, Any], folder: Path) -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    """Run the engine on a plan; what it says of the run, and sums of each step by its name."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    command = [str(binary()), "load", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ENDS_WITHIN_S)
    assert ended.returncode == 0, ended.stderr
    out = Path(plan["out"])
    recording = segments.read(out)
    names = [name.partition(" / ")[2] for name in segments.names(recording, "step")]
    sums = {name: Counter[str]() for name in names}
    for one in (one for interval in recording.intervals for one in interval.series if one.of == "step"):
        sums[names[one.number]].update({"ok": one.ok, "in": one.bytes_in, "out": one.bytes_out})
    return json.loads((out / "engine.json").read_text()), sums
