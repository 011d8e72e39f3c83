"""Counts the generator's system calls per request with strace, compared with wrk; tracing slows both generators."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import harness
import peers
import towtank_load

CONNECTIONS, SECONDS = 64, 3


def run(*, quick: bool) -> None:  # noqa: ARG001 - a single run is enough, because counts hardly vary
    """Count the system calls of Towtank and wrk per request, and print and store the counts."""
    strace = harness.program("strace")
    if strace is None:
        raise harness.Skipped("strace is not installed (apt-get install strace)")
    found = {}
    with harness.null_server() as (address, _), tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        folder = Path(name)
        load = towtank_load.closed(CONNECTIONS, SECONDS)
        found["towtank"] = _count(
            strace,
            towtank_load.command(address, load, folder),
            folder,
            lambda spent: int(towtank_load.read(folder, spent).engine["totals"]["ok"]),
        )
        if wrk := harness.program("wrk"):
            options = ["-t", "1", "-c", str(CONNECTIONS), "-d", f"{SECONDS}s", f"http://{address}/"]
            found["wrk"] = _count(strace, [wrk, *options], folder, _wrk_requests)
        else:
            print(f"  skipped: wrk is not installed ({peers.PEERS['wrk'].hint})")
    for name, counts in found.items():
        most = sorted(counts["calls"].items(), key=lambda pair: -pair[1])[:4]
        shares = ", ".join(f"{call} {count / counts['requests']:.3f}" for call, count in most)
        print(f"  {name}: {counts['per_request']:.3f} system calls per request ({shares})")
    harness.keep("syscalls", {"connections": CONNECTIONS, "seconds": SECONDS}, runs=found)


def _wrk_requests(spent: harness.Spent) -> int:
    found = re.search(r"(\d+) requests in", spent.output)
    if found is None:
        raise SystemExit(f"error: no count of requests in the output of wrk:\n{spent.output}")
    return int(found[1])


def _count(
    strace: str, command: list[str], folder: Path, requests: Callable[[harness.Spent], int]
) -> dict[str, float | dict[str, int]]:
    table = folder / "strace.txt"
    spent = harness.spend([strace, "-f", "-c", "-o", str(table), *command])
    calls = {}
    # Columns of strace's table: % time, seconds, usecs/call, calls, [errors,] syscall.
    for line in table.read_text().splitlines():
        columns = line.split()
        if len(columns) >= 5 and columns[3].isdecimal() and columns[-1] not in ("total", "syscall"):
            calls[columns[-1]] = int(columns[3])
    done = requests(spent)
    return {"requests": done, "per_request": sum(calls.values()) / done, "calls": calls}
