"""CPU time of the load generator per request, beside its peers, in one run.

Server and generator are pinned to different cores; the generators take turns (ABBA), so that drift of the machine
meets all of them alike. The answer is a ratio to the reference peer with a 95 % bootstrap interval over the rounds;
raw runs go to `benches/raw/`.

    python benches/generator_cpu.py [--rounds 6] [--seconds 5] [--connections 64] [--body 128]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from towtank import __version__
from towtank.engine import binary

RAW = Path(__file__).parent / "raw"
SERVER_CPU, GENERATOR_CPU = 0, 1


@dataclass(frozen=True)
class Case:
    """What every generator is asked to do: `connections` users without think time for `seconds`."""

    address: str
    connections: int
    seconds: int
    folder: Path

    @property
    def url(self) -> str:
        """The page that is asked for."""
        return f"http://{self.address}/"


@dataclass(frozen=True)
class Measured:
    """What one generator did in one round."""

    requests: int
    cpu_s: float
    wall_s: float

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time per request. [us]"""
        return self.cpu_s / self.requests * 1e6


@contextmanager
def null_server(body_bytes: int) -> Iterator[str]:
    """Start the null server on its core and give its address."""
    command = [
        str(binary()),
        "null-server",
        "--listen",
        "127.0.0.1:0",
        "--body",
        str(body_bytes),
        "--cpus",
        str(SERVER_CPU),
    ]
    with subprocess.Popen(
        [*command, "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


def spend(command: list[str]) -> tuple[str, float, float]:
    """Run a command on the generator's core; its output, CPU time and wall time. [s]"""
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        child = subprocess.Popen(
            ["taskset", "-c", str(GENERATOR_CPU), *command], stdout=output, stdin=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"error: {command[0]} ended with status {child.returncode}")
        output.seek(0)
        return output.read(), usage.ru_utime + usage.ru_stime, time.monotonic() - start


def towtank(case: Case) -> Measured:
    """Two transactions with weights and status checks, everything recorded."""
    request = {
        "op": "request",
        "target": 0,
        "method": "GET",
        "headers": [],
        "auth": None,
        "body": None,
        "extract": [],
        "timeout_s": None,
        "on_failure": "end",
        "checks": [{"kind": "status", "in": [200]}],
    }
    names = ["first", "second"]
    plan = {
        "schema": "towtank/plan/1",
        "run": "bench",
        "seed": 1,
        "out": str(case.folder / f"engine-{time.monotonic_ns()}"),
        "threads": 1,
        "cpus": [GENERATOR_CPU],
        "targets": [
            {
                "name": "null",
                "scheme": "http",
                "addresses": [case.address],
                "balance": "round_robin",
                "host": case.address,
            }
        ],
        "connections": {"mode": "per_user"},
        "timeouts": {"connect_s": 5, "response_s": 30, "drain_s": 5},
        "limits": {"header_bytes": 65536, "body_bytes": 1 << 30, "capture_bytes": 1 << 20},
        "pools": [],
        "variables": [],
        "lists": [],
        "steps": [{"name": name, "transaction": name} for name in names],
        "pages": [],
        "transactions": [
            {"name": name, "ops": [{**request, "step": step, "path": [f"/{name}"]}]} for step, name in enumerate(names)
        ],
        "groups": [
            {
                "name": "all",
                "share": 1.0,
                "once": [],
                "think": None,
                "pacing": None,
                "exit": [],
                "mix": [{"transaction": 0, "weight": 70.0}, {"transaction": 1, "weight": 30.0}],
            }
        ],
        "load": {
            "kind": "closed",
            "users_at_most": case.connections,
            "stages": [
                {"name": "ramp_up", "phase": "ramp_up", "level": 0, "duration_s": 0.0, "users": case.connections},
                {
                    "name": "steady",
                    "phase": "steady",
                    "level": 0,
                    "duration_s": float(case.seconds),
                    "users": case.connections,
                },
            ],
        },
    }
    path = case.folder / "plan.json"
    path.write_text(json.dumps(plan))
    _, cpu_s, wall_s = spend([str(binary()), "load", str(path)])
    result = json.loads((Path(str(plan["out"])) / "engine.json").read_text())
    return Measured(result["totals"]["ok"], cpu_s, wall_s)


def wrk(case: Case) -> Measured:
    """`wrk` with one thread."""
    output, cpu_s, wall_s = spend(
        ["wrk", "-t", "1", "-c", str(case.connections), "-d", f"{case.seconds}s", "--latency", case.url]
    )
    found = re.search(r"(\d+) requests in", output)
    if found is None:
        raise SystemExit(f"error: no count of requests in the output of wrk:\n{output}")
    return Measured(int(found[1]), cpu_s, wall_s)


GENERATORS: dict[str, tuple[Callable[[Case], Measured], str | None]] = {
    "towtank": (towtank, None),
    "wrk": (wrk, "apt-get install wrk"),
}


def available() -> list[str]:
    """Names of the generators that are here; the others are named with what installs them."""
    names = []
    for name, (_, hint) in GENERATORS.items():
        if hint is None or shutil.which(name):
            names.append(name)
        else:
            print(f"skipped: {name} is not installed ({hint})")
    return names


def take_turns(names: list[str], rounds: int, case: Case) -> list[dict[str, Any]]:
    """Run every generator once a round, in alternating order."""
    runs = []
    for index in range(rounds):
        for name in names if index % 2 == 0 else reversed(names):
            measured = GENERATORS[name][0](case)
            runs.append(
                {
                    "round": index,
                    "generator": name,
                    "requests": measured.requests,
                    "cpu_s": measured.cpu_s,
                    "wall_s": measured.wall_s,
                    "cpu_us_per_request": measured.cpu_us_per_request,
                }
            )
            speed = f"{measured.cpu_us_per_request:6.2f} us/request  {measured.requests / measured.wall_s:9.0f} /s"
            print(f"round {index + 1}  {name:8}  {speed}")
    return runs


def ratio(runs: list[dict[str, Any]], name: str, reference: str) -> tuple[float, float, float]:
    """Median over rounds of the ratio of CPU time per request, with a 95 % bootstrap interval over rounds."""
    by_round = {(run["round"], run["generator"]): run["cpu_us_per_request"] for run in runs}
    ratios = np.array(
        [by_round[index, name] / by_round[index, reference] for index in sorted({run["round"] for run in runs})]
    )
    samples = np.random.default_rng(1).choice(ratios, (5000, len(ratios)))
    low, high = np.quantile(np.median(samples, axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def main() -> int:
    """Measure, print the ratios, keep the raw runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--rounds", 6), ("--seconds", 5), ("--connections", 64), ("--body", 128)):
        parser.add_argument(option, type=int, default=default)
    arguments = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        print("skipped: server and generator need a core each")
        return 0
    names = available()
    with tempfile.TemporaryDirectory() as folder, null_server(arguments.body) as address:
        runs = take_turns(
            names, arguments.rounds, Case(address, arguments.connections, arguments.seconds, Path(folder))
        )
    for name in names[1:]:
        middle, low, high = ratio(runs, names[0], name)
        interval = f"{middle:.2f} [{low:.2f}, {high:.2f}]"
        print(f"CPU per request, towtank / {name}: {interval} (median of {arguments.rounds} rounds, 95 %)")
    RAW.mkdir(exist_ok=True)
    kept = RAW / f"{time.strftime('%Y-%m-%d')}-{platform.node() or 'host'}-generator-cpu.json"
    kept.write_text(
        json.dumps(
            {
                "towtank": __version__,
                "arguments": vars(arguments),
                "kernel": platform.release(),
                "runs": runs,
            },
            indent=1,
        )
        + "\n"
    )
    print(f"raw runs: {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
