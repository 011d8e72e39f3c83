"""Implements `scripts/soak`.

It runs a study with one long run, samples memory and open files of Towtank's processes, and checks that neither rises.
Then it checks the peak memory of creating the report.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from soaking.slopes import slope_of

STUDY = """
schema: towtank/study/1
name: soak
question: Does Towtank need more memory or files after hours of load?
system: system.yaml
workload: workload.yaml
factors: {{users: [{users}]}}
load: {{kind: closed, stages: {{ramp_up: 10 s, settle: 5 s, steady: {seconds} s}}}}
"""
SYSTEM = """
schema: towtank/system/1
name: soak
hosts: {here: {provider: local}}
services:
  web: {kind: null_server, host: here, settings: {threads: 1}}
  content: {kind: content_server, host: here, population: {scale: 0.00001}}
targets: {web: {service: web}, content: {service: content}}
"""
# The content server gets few requests, just enough that its observers record values.
WORKLOAD = """
schema: towtank/workload/1
name: soak
transactions:
  look: [{{get: /, target: web}}]
  browse: [{{get: /metrics, target: content}}]
groups:
  readers: {{share: 99.9 %, loop: {{think: {{exponential: {think} s}}, mix: {{look: 100}}}}}}
  browsers: {{share: 0.1 %, loop: {{think: {{exponential: {think} s}}, mix: {{browse: 100}}}}}}
"""
SAMPLE_EVERY_S = 2.0
# Largest allowed growth of a process's memory per hour: in bytes, and relative to its memory. [B/h], [1/h]
MEMORY_PER_HOUR, MEMORY_SHARE = 2 * 2**20, 0.01
FILES_PER_HOUR = 0.5
# Largest allowed peak memory of creating the report, so that a small machine can create it. [B]
REPORT_MEMORY = 1024 * 2**20
_RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB", re.MULTILINE)


def main() -> int:
    """Run the command.

    Return 1 if memory or open files of a process rise, if the report takes too much memory, or if the run fails."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=180.0, help="length of the steady stage")
    parser.add_argument("--users", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=2000.0, help="requests per second of all users")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="folder for study, results and figures")
    given = parser.parse_args()
    folder = given.out.absolute()
    folder.mkdir(parents=True)
    seconds, think = round(60 * given.minutes), given.users / given.rate
    (folder / "study.yaml").write_text(STUDY.format(users=given.users, seconds=seconds))
    (folder / "system.yaml").write_text(SYSTEM)
    (folder / "workload.yaml").write_text(WORKLOAD.format(think=f"{think:g}"))
    results = folder / "results"
    command = [sys.executable, "-m", "towtank", "run", str(folder / "study.yaml"), "--out", str(results), "--no-report"]
    with subprocess.Popen([*command, "--quiet"]) as process:
        samples = watch(process, results)
    if process.returncode not in (0, 4):
        print(f"the run ended with status {process.returncode}")
        return 1
    rows = [row for name, series in sorted(samples.items()) for row in judged(name, series)]
    peak = report_memory(results)
    rows.append({"process": "towtank report", "figure": "peak memory [MiB]", "mean": peak / 2**20,
                 "flat": peak <= REPORT_MEMORY})  # fmt: skip
    (folder / "soak.json").write_text(
        json.dumps({"schema": "towtank/soak/1", "seconds": seconds, "rows": rows}, indent=1)
    )
    for row in rows:
        print(line_of(row))
    return 0 if all(row["flat"] for row in rows) else 1


def watch(process: subprocess.Popen[bytes], results: Path) -> dict[str, list[tuple[float, float, float]]]:
    """Sample all processes of the run during the load; return by process the samples of time [s], memory [B], open
    files [1].
    """
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    events = results / "runs" / "r001" / "events.ndjson"
    while process.poll() is None:
        text = events.read_text() if events.exists() else ""
        if '"engine_ended"' in text:
            break
        if '"name":"steady"' in text:
            for pid in (process.pid, *descendants(process.pid)):
                with suppress(OSError):
                    found[name_of(pid)].append((time.monotonic(), *figures(pid)))
        time.sleep(SAMPLE_EVERY_S)
    process.wait()
    return found


def descendants(pid: int) -> Iterator[int]:
    """Yield the process ids of all descendants of a process."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                yield child
                yield from descendants(child)


def name_of(pid: int) -> str:
    """Return a name for a process: its program, up to two arguments, and the process id."""
    words = os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
    name = " ".join([Path(words[0]).name, *[word for word in words[1:4] if not word.startswith("-")][:2]])
    return f"{name} ({pid})"


def figures(pid: int) -> tuple[float, float]:
    """Return the resident memory [B] and the number of open files of a process."""
    match = _RESIDENT.search(Path(f"/proc/{pid}/status").read_text())
    resident = float(match[1]) * 1024 if match else 0.0
    return resident, float(len(os.listdir(f"/proc/{pid}/fd")))  # noqa: PTH208 - counts, and is called often


def judged(name: str, series: list[tuple[float, float, float]]) -> Iterator[dict[str, object]]:
    """Yield a result row for the memory and one for the open files of a process, unless it has too few samples."""
    times = [sample[0] for sample in series]
    for place, figure, unit in ((1, "memory [MiB]", 2.0**20), (2, "open files", 1.0)):
        try:
            slope = slope_of(times, [sample[place] for sample in series])
        except ValueError:
            return
        allowed = FILES_PER_HOUR if place == 2 else max(MEMORY_PER_HOUR, MEMORY_SHARE * slope.mean)
        shown = {key: getattr(slope, key) / unit for key in ("mean", "per_hour", "low", "high")}
        yield {"process": name, "figure": figure, **shown, "allowed_per_hour": allowed / unit,
               "flat": not slope.rises(allowed), "surely_flat": slope.is_flat(allowed)}  # fmt: skip


def report_memory(results: Path) -> int:
    """Create the report; return its peak memory. [B]"""
    program = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    )
    command = [sys.executable, "-c", program, sys.executable, "-m", "towtank", "report", str(results)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Exit statuses 3 and 4 are accepted: `towtank report` creates the report even if the run is invalid, as on a busy
    # machine, or violates an objective.
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(f"towtank report ended with status {done.returncode}: {done.stderr}")
    return int(done.stdout.split()[-1]) * 1024


def line_of(row: dict[str, object]) -> str:
    """Format a result row as a line of text."""
    verdict = "ok" if row["flat"] else "TOO MUCH"
    if "per_hour" not in row:
        return f"{row['process']}: {row['figure']} {row['mean']:.0f}: {verdict}"
    return (
        f"{row['process']}: {row['figure']} {row['mean']:.1f}, {row['per_hour']:+.2f} "
        f"[{row['low']:+.2f}, {row['high']:+.2f}] an hour, allowed {row['allowed_per_hour']:.2f}: {verdict}"
    )
