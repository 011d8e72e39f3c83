"""Measures the speed of computing miss-ratio curves, exactly and from samples: references per second of CPU time.

All times include reading the trace file; even a computation from a sample reads the whole file. The bench prints the
largest deviation of each curve from the exact curve next to the speed.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import harness
import numpy as np

from towtank.engine import binary

_WAYS = {
    "exact": [],
    "exact_bytes": [],
    "rate_1_percent": ["--shards", "0.01"],
    "size_8192": ["--samples", "8192"],
}
_KEYS = 1_000_000
_SKEW = 0.9


def run(*, quick: bool) -> None:
    """Measure each method in every round, print medians with intervals, and store the single results."""
    references = 2_000_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        traces = {weighted: _trace(Path(folder), references, weighted=weighted) for weighted in (False, True)}
        curves: dict[str, dict[int, float]] = {}

        def once(name: str) -> dict[str, Any]:
            spent, curves[name] = _run(traces[name == "exact_bytes"], _WAYS[name])
            return {**spent, "references_per_s": references / spent["cpu_s"]}

        runs = harness.turns(list(_WAYS), 3 if quick else 10, once)
    for name in _WAYS:
        mine = [row for row in runs if row["generator"] == name]
        rates = [row["references_per_s"] / 1e6 for row in mine]
        error = max(
            abs(ratio - curves["exact"][size]) for size, ratio in curves[name].items() if size in curves["exact"]
        )
        shown = harness.shown(harness.interval(rates))
        print(f"  {name}: {shown} M references/s of processor time, largest error {error:.4f}")
    for name in ("rate_1_percent", "size_8192"):
        print(f"  {name} over exact: {harness.shown(harness.ratio(runs, 'references_per_s', name, 'exact'))} times")
    harness.keep("caches", {"references": references, "keys": _KEYS, "skew": _SKEW}, runs=runs)


def _trace(folder: Path, references: int, *, weighted: bool) -> Path:
    """Write a trace whose references follow Zipf's law, with a fixed seed; return its path."""
    numbers = np.random.default_rng(7)
    shares = np.arange(1, _KEYS + 1) ** -_SKEW
    cumulated = np.cumsum(shares / shares.sum())
    keys = np.minimum(np.searchsorted(cumulated, numbers.random(references)), _KEYS - 1)
    path = folder / f"trace-{weighted}.csv"
    with path.open("w", encoding="utf-8") as stream:
        stream.write("key,bytes\n" if weighted else "key\n")
        for part in np.array_split(keys, max(references // 100_000, 1)):
            lines = (f"/data/{key},{1000 + 37 * (key % 101)}\n" if weighted else f"/data/{key}\n" for key in part)
            stream.writelines(lines)
    return path


def _run(trace: Path, options: list[str]) -> tuple[dict[str, Any], dict[int, float]]:
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen([str(binary()), "caches", str(trace), *options], stdout=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"error: the engine ended with status {child.returncode}")
        output.seek(0)
        answer = json.load(output)["answer"]
    return {"cpu_s": usage.ru_utime + usage.ru_stime}, {
        point["entries"]: point["miss_ratio"] for point in answer["curve"]
    }
