"""Measures the engine's memory per idle user with its own connection, and the growth of memory under constant load."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from pathlib import Path

import harness
import towtank_load

THINK_S = 60.0
# Number of files that the engine may have open in addition to its connections. [1]
_SPARE_FILES = 200


def run(*, quick: bool) -> None:
    """Measure memory per idle user, and the growth of memory under load; print and store the results."""
    few, many = 1_000, min(12_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - _SPARE_FILES)
    rounds = 2 if quick else 6
    if many < 4 * few:
        raise harness.Skipped(f"only {many} files may be open here (ulimit -n)")
    with harness.null_server() as (address, _):
        runs = harness.turns([str(few), str(many)], rounds, lambda name: _idle(address, int(name)))
        first_s, last_s = (5.0, 30.0) if quick else (60.0, 600.0)
        growth = _growth(address, first_s, last_s)
    sizes = {(row["round"], row["generator"]): row["rss_bytes"] for row in runs}
    each = [(sizes[index, str(many)] - sizes[index, str(few)]) / (many - few) for index in range(rounds)]
    print(f"  {harness.shown(harness.interval(each))} bytes per idle user ({few:,} against {many:,} connections)")
    print(f"  resident memory after {last_s:g} s / after {first_s:g} s, same load: {growth['ratio']:.4f}")
    harness.keep("memory", {"users": [few, many], "think_s": THINK_S}, runs=runs, bytes_per_user=each, growth=growth)


def _resident(pid: int) -> int:
    """Return the resident memory of a process. [bytes]"""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _start(address: str, folder: Path, load: dict[str, object], think_s: float) -> subprocess.Popen[bytes]:
    command = [*towtank_load.command(address, load, folder, think_s), "--until-stdin-closes"]
    return subprocess.Popen(
        ["taskset", "-c", str(harness.cores()[1]), *command], stdin=subprocess.PIPE, start_new_session=True
    )


def _idle(address: str, users: int) -> dict[str, float]:
    """Return the resident memory after the first request of each user, while all users are in their think time."""
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        folder, ramp_s = Path(name), users / 4_000
        with _start(address, folder, towtank_load.closed(users, 4.0, ramp_s), THINK_S) as engine:
            try:
                time.sleep(ramp_s + 2.5)
                size = _resident(engine.pid)
            finally:
                engine.terminate()
        done = towtank_load.read(folder, harness.Spent("", 0.0, 0.0))
        connected = max((interval.connections for interval in done.measurement.recording.intervals), default=0)
        if connected < users:
            raise SystemExit(f"error: only {connected} of {users} users were connected")
    return {"rss_bytes": float(size), "users": float(users)}


def _growth(address: str, first_s: float, last_s: float) -> dict[str, float]:
    """Return the resident memory at two times in a constant load of 2,000 requests/s."""
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        load = towtank_load.closed(200, last_s + 2.0)
        with _start(address, Path(name), load, 0.1) as engine:
            try:
                time.sleep(first_s)
                first = _resident(engine.pid)
                time.sleep(last_s - first_s)
                last = _resident(engine.pid)
            finally:
                engine.terminate()
    return {"first_s": first_s, "last_s": last_s, "first_bytes": first, "last_bytes": last, "ratio": last / first}
