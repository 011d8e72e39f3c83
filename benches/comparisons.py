"""Counts how often `towtank compare` is right, on real runs of servers of known response times (`known_times.py`).

`towtank drive` measures 60 runs of server A, 60 further runs of A, and 60 runs of server B, in random order, with three
runs at the same time. One transaction of B takes 20 % longer than that of A. Then the bench compares A with A, and A
with B: 20 times three runs with three runs, and 20 times a single run with a single run. The comparisons of a kind have
no runs in common. Runs and verdicts are stored in `target/comparisons`; another call adds the missing runs and
verdicts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import harness
import known_times
import numpy as np

PAIRS, RUNS = 20, 3
QUICK_PAIRS = 2
PLANTED, FACTOR = "edit", 1.2
RATE_PER_S, SECONDS = 300, 6
_TOGETHER = 3
# Largest accepted ratio of actual to intended response times of the server; a run above it is repeated. [1]
_KEPT = 1.05
_KINDS = ("first", "second", "changed")
_FOLDER = harness.HERE.parent / "target" / "comparisons"
# Validity limits of the runs. Other programs may use the CPUs, because the log of the server shows whether they delayed
# the server. A start lag of 50 ms is small against the response times, which are long.
_LIMITS = ("interference=100 %", "not_attributed=100 %", "start_lag_p99=50 ms")
_WORKLOAD = """
schema: towtank/workload/1
name: known
transactions:
{transactions}
groups:
  users: {{loop: {{mix: {{{mix}}}}}}}
"""
Found = dict[str, str | int | None]


@dataclass(frozen=True)
class Run:
    """A run, identified by the kind of its server and its number, which determine the seed of server and load."""

    kind: str
    number: int

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return _FOLDER / f"{self.kind}-{self.number:02}"

    @property
    def log(self) -> Path:
        """File with the response times that the server recorded; it exists only if the run is complete."""
        return self.path.with_suffix(".npz")

    @property
    def seed(self) -> int:
        """Seed of the server and of the load."""
        return 1_000 * _KINDS.index(self.kind) + self.number + 1


def run(*, quick: bool, minutes: float | None = None) -> None:
    """Measure the missing runs, compare the runs, print how often the verdicts are right, and store all verdicts.

    Parameters
    ----------
    quick : bool
        If true, make two comparisons of each kind instead of 20.
    minutes : float or None
        Time after which no further run starts. [min]
    """
    pairs = QUICK_PAIRS if quick else PAIRS
    runs = [Run(kind, number) for kind in _KINDS for number in range(pairs * RUNS)]
    missing = [each for each in runs if not each.log.exists()]
    missing = [missing[index] for index in np.random.default_rng(1).permutation(len(missing))]
    deadline = time.monotonic() + 60 * (float("inf") if minutes is None else minutes)
    with ThreadPoolExecutor(_TOGETHER) as threads:
        list(threads.map(lambda each: measure(each, deadline), missing))
    left = [each for each in runs if not each.log.exists()]
    ready = [sides for sides in _compared(pairs) if not {*sides[1], *sides[2]} & {*left}]
    with ThreadPoolExecutor(_TOGETHER) as threads:
        found = list(threads.map(lambda sides: compare(*sides), ready))
    ratios = [known_times.kept(each.log) for each in runs if each not in left]
    if ratios:
        print(f"  times of the servers: at most {max(ratios):.3f} of the intended, median {np.median(ratios):.3f}")
    for line in table(found):
        print(f"  {line}")
    if left:
        print(
            f"  {len(runs) - len(left)} of {len(runs)} runs measured; to measure the missing runs, repeat the command"
        )
        return
    arguments = {"pairs": pairs, "runs": RUNS, "rate_per_s": RATE_PER_S, "seconds": SECONDS, "factor": FACTOR}
    harness.keep("comparisons", arguments, kept=ratios, comparisons=found)


def _compared(pairs: int) -> Iterator[tuple[str, list[Run], list[Run]]]:
    """Yield the kind and both groups of runs of each comparison."""
    for other in _KINDS[1:]:
        for pair in range(pairs):
            numbers = range(pair * RUNS, (pair + 1) * RUNS)
            yield other, [Run("first", number) for number in numbers], [Run(other, number) for number in numbers]
            yield other, [Run("first", numbers[0])], [Run(other, numbers[0])]


def measure(run: Run, deadline: float) -> None:
    """Measure a run; repeat it until it is valid, and its server's response times were as intended.

    No measurement starts after the deadline.
    """
    _FOLDER.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < deadline and not run.log.exists():
        out = run.path.with_name(f"{run.path.name}.try-{time.time_ns()}")
        log, status = drive(run, out)
        ratio = known_times.kept(log)
        print(f"  {run.path.name}: status {status}, times {ratio:.3f} of the intended times", flush=True)
        if status == 0 and ratio <= _KEPT:
            out.rename(run.path)
            log.rename(run.log)


def drive(run: Run, out: Path) -> tuple[Path, int]:
    """Start the server and load it; return the server's log file, and the exit status of `towtank drive`."""
    log = out.with_name(f"{out.name}.npz")
    workload = out.with_name(f"{out.name}.yaml")
    names = known_times.MEAN_S
    transactions = "\n".join(f"  {name}: [{{get: /{name}}}]" for name in names)
    workload.write_text(_WORKLOAD.format(transactions=transactions, mix=", ".join(f"{name}: 1" for name in names)))
    command = [sys.executable, str(harness.HERE / "known_times.py"), "--seed", str(run.seed), "--log", str(log)]
    if run.kind == "changed":
        command += ["--lift", f"{PLANTED}={FACTOR}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        load = [
            "--address",
            f"target={address}",
            "--rate",
            str(RATE_PER_S),
            "--arrivals",
            "poisson",
            "--duration",
            f"{SECONDS} s",
        ]
        limits = [word for limit in _LIMITS for word in ("--limit", limit)]
        written = ["--seed", str(run.seed), "--out", str(out), "--json", "--quiet"]
        done = subprocess.run(
            [sys.executable, "-m", "towtank", "drive", str(workload), *load, *limits, *written],
            capture_output=True,
            text=True,
            check=False,
        )
    workload.unlink()
    if done.returncode not in (0, 4):
        raise SystemExit(f"error: towtank drive ended with status {done.returncode}\n{done.stderr}")
    return log, done.returncode


def compare(kind: str, a: Sequence[Run], b: Sequence[Run]) -> Found:
    """Compare two groups of runs with `towtank compare`; return the verdict, and the metrics with a difference."""
    kept = _FOLDER / f"{kind}-{len(a)}-{a[0].number:02}.json"
    if kept.exists():
        known: Found = json.loads(kept.read_text())
        return known
    sides = [word for option, side in (("--a", a), ("--b", b)) for run in side for word in (option, str(run.path))]
    done = subprocess.run(
        [sys.executable, "-m", "towtank", "compare", *sides, "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 7):
        raise SystemExit(f"error: towtank compare ended with status {done.returncode}\n{done.stderr}")
    document = json.loads(done.stdout)
    differing = [
        f"{each['name']} of {each['transaction'] or 'all'}"
        for each in document["metrics"]
        if each["verdict"] in ("worse", "better")
    ]
    found: Found = {
        "kind": kind,
        "runs": len(a),
        "first_run": a[0].number,
        "verdict": document["verdict"],
        "differing": ", ".join(differing),
        "runs_needed": document["runs_needed"],
    }
    kept.write_text(json.dumps(found))
    return found


def table(found: Sequence[Found]) -> Iterator[str]:
    """Yield table lines: how often `towtank compare` found a difference between equal and between different servers."""
    for kind in _KINDS[1:]:
        for runs in (RUNS, 1):
            own = [each for each in found if (each["kind"], each["runs"]) == (kind, runs)]
            places = [_places(str(each["differing"])) for each in own]
            there = [PLANTED in each for each in places]
            only = [PLANTED in each and each <= {PLANTED, ""} for each in places]
            undecided = sum(each["verdict"] == "undecided" for each in own)
            needed = sorted(each["runs_needed"] for each in own if isinstance(each["runs_needed"], int))
            shown = f"{needed[0]} to {needed[-1]}" if needed else "-"
            yield (
                f"{'equal' if kind == 'second' else f'{PLANTED} {FACTOR:g} times'}, {runs} and {runs} runs, {len(own)} "
                f"pairs: {sum(map(bool, places))} differ, {sum(there)} in {PLANTED}, {sum(only)} only there; "
                f"{undecided} undecided, runs needed {shown}"
            )


def _places(differing: str) -> set[str]:
    """Return the transactions with a difference.

    The response time over all transactions depends on each of them, so the empty string represents it."""
    found = (each.split(" of ") for each in differing.split(", ") if each)
    return {"" if place == "all" and name.startswith("response_time") else place for name, place in found}
