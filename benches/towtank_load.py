"""Runs Towtank's engine as a load generator: writes a plan, runs the engine, and reads its records."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.engine import binary
from towtank.results import segments

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
_WEIGHTS = {"first": 70.0, "second": 30.0}


@dataclass(frozen=True)
class Done:
    """Results of a load that the engine generated.

    Attributes
    ----------
    spent : Spent
        Output, CPU time and elapsed time of the engine process.
    engine : dict
        Content of `engine.json`.
    measurement : Measurement
        The recorded segments.
    origin_ns : int
        Value of CLOCK_MONOTONIC at the start of the run. [ns]
    """

    spent: harness.Spent
    engine: dict[str, Any]
    measurement: Measurement
    origin_ns: int

    @property
    def steady(self) -> Mask:
        """Mask of the time bins that belong to steady stages."""
        return self._bins("steady")

    @property
    def staged(self) -> Mask:
        """Mask of the time bins that belong to a stage of the plan; the drain after the last stage is excluded."""
        return self._bins("ramp_up", "settle", "steady")

    def _bins(self, *phases: str) -> Mask:
        numbers = [number for number, stage in enumerate(self.measurement.stages) if stage.get("phase") in phases]
        return np.isin(self.measurement.stage, numbers)

    def times_s(self, of: str, everything: bool = False) -> dict[str, float]:
        """Return quantiles and maximum of a recorded time: `response`, `exchange` or `lag`. [s]

        Only requests in steady stages count, or all requests if `everything` is true.
        """
        timed = self.measurement.lag if of == "lag" else getattr(self.measurement.requests, of)
        chosen = np.ones(self.measurement.bins, dtype=bool) if everything else self.steady
        merged = timed.merged(chosen)
        if merged is None:
            raise SystemExit(f"error: the engine recorded no {of} time")
        return {**{name: merged.quantile(value) for name, value in QUANTILES.items()}, "max": merged.maximum_s}


def closed(users: int, seconds: float, ramp_s: float = 0.0) -> dict[str, Any]:
    """Return a closed load for a plan: users that start during `ramp_s` and then run for `seconds`."""
    common = {"level": 0, "users": users}
    return {
        "kind": "closed",
        "users_at_most": users,
        "stages": [
            {"name": "ramp_up", "phase": "ramp_up", "duration_s": ramp_s, **common},
            {"name": "steady", "phase": "steady", "duration_s": seconds, **common},
        ],
    }


def opened(rate: float, seconds: float, arrivals: str, users: int = 10_000, settle_s: float = 0.0) -> dict[str, Any]:
    """Return an open load for a plan, with its full rate from the start."""
    settle = {"name": "settle", "phase": "settle", "level": 0, "duration_s": settle_s, "rate": rate}
    steady = {"name": "steady", "phase": "steady", "level": 0, "duration_s": seconds, "rate": rate}
    return {
        "kind": "open",
        "arrivals": arrivals,
        "users_at_most": users,
        "backlog_at_most": 1_000_000,
        "stages": [settle, steady] if settle_s else [steady],
    }


def plan(address: str | list[str], load: dict[str, Any], out: Path, think_s: float = 0.0) -> dict[str, Any]:
    """Return a plan with two weighted transactions, status checks, and one load thread on the generator's core."""
    addresses = [address] if isinstance(address, str) else address
    request = {"op": "request", "target": 0, "method": "GET", "checks": [{"kind": "status", "in": [200]}]}
    return {
        "schema": "towtank/plan/1",
        "run": "bench",
        "seed": 1,
        "out": str(out),
        "threads": 1,
        "cpus": [harness.cores()[1]],
        "targets": [
            {"name": "null", "scheme": "http", "addresses": addresses, "balance": "round_robin", "host": addresses[0]}
        ],
        "connections": {"mode": "per_user"},
        "timeouts": {"connect_s": 5, "response_s": 30, "drain_s": 5},
        "limits": {},
        "pools": [],
        "variables": [],
        "lists": [],
        "steps": [{"name": name, "transaction": name} for name in _WEIGHTS],
        "pages": [],
        "transactions": [
            {"name": name, "ops": [{**request, "step": step, "path": [f"/{name}"]}]}
            for step, name in enumerate(_WEIGHTS)
        ],
        "groups": [
            {
                "name": "all",
                "share": 1.0,
                "once": [],
                "think": {"dist": "fixed", "mean_s": think_s} if think_s else None,
                "pacing": None,
                "exit": [],
                "mix": [{"transaction": step, "weight": weight} for step, weight in enumerate(_WEIGHTS.values())],
            }
        ],
        "load": load,
    }


def command(address: str, load: dict[str, Any], folder: Path, think_s: float = 0.0) -> list[str]:
    """Write the plan of a load into a folder; return the command that runs it and records into the subfolder
    `engine`.
    """
    (folder / "plan.json").write_text(json.dumps(plan(address, load, folder / "engine", think_s)))
    return load_command(folder)


def load_command(folder: Path) -> list[str]:
    """Return the command that runs the plan `plan.json` in a folder."""
    return [str(binary()), "load", str(folder / "plan.json")]


def read(folder: Path, spent: harness.Spent) -> Done:
    """Read the records of a load.

    Raises
    ------
    SystemExit
        If a request failed. Requests that the engine could not start in time raise no error.
    """
    engine = json.loads((folder / "engine" / "engine.json").read_text())
    if engine["totals"]["failed"]:
        raise SystemExit(f"error: requests of the engine failed: {engine['totals']}")
    recording = segments.read(folder / "engine")
    return Done(spent, engine, Measurement(recording), int((recording.header or {})["monotonic_ns"]))


def drive_plan(document: dict[str, Any], folder: Path) -> Done:
    """Run a plan on the generator's core; the plan must name the subfolder `engine` for its records."""
    path = folder / "plan.json"
    path.write_text(json.dumps(document))
    return read(folder, harness.spend([str(binary()), "load", str(path)]))


def drive(address: str, load: dict[str, Any], think_s: float = 0.0) -> Done:
    """Run a load on the generator's core."""
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        folder = Path(name)
        return read(folder, harness.spend(command(address, load, folder, think_s)))
