"""Service demand of a null server that works a known time for each request, measured and fitted in the usual way."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from certification import Certified, Section, Tabled, percent
from covering import SERIES
from integration_bench import Bench

pytestmark = pytest.mark.waits

WORK_S, THINK_S = 0.010, 0.200
KNEE, LIMIT = (WORK_S + THINK_S) / WORK_S, 1 / WORK_S
USERS = [6, 16, 24, 40]
STUDIES = max(1, SERIES // 100)
STUDY = """
schema: towtank/study/1
name: known-demand
system: system.yaml
workload: workload.yaml
order: random
seed: {seed}
factors:
  users: {users}
load:
  kind: closed
  stages: {{ramp_up: 200 ms, settle: 2 s, steady: {steady}}}
"""
SYSTEM = """
schema: towtank/system/1
name: known-demand
hosts: {{here: {{provider: local}}}}
services:
  content: {{kind: null_server, host: here, settings: {{work: 10 ms, work_variation: {variation}}}}}
"""
WORKLOAD = """
schema: towtank/workload/1
name: look
transactions:
  look: [{get: /}]
groups:
  readers: {loop: {think: {exponential: 200 ms}, mix: {look: 100}}}
"""
DEMANDS = "Demand of a real server"
FITS = Section(
    "Knee and limit of a real server",
    "quantity | work | true value | studies | with an interval | coverage of these intervals",
    f"{len(USERS)} levels of users who think for {THINK_S:g} s, in {STUDIES} studies each, at a server with one "
    f"thread that works for {WORK_S * 1000:g} ms for each request. With fewer than five studies there is no test. "
    "Otherwise, at least half of the studies must have an interval, and the coverage of the 95 % intervals must be "
    "in the range that chance leaves in 999 of 1,000 cases.",
)


def measured(bench: Bench, number: int, variation: str) -> Path:
    steady = "8 s" if SERIES else "12 s"
    files = {
        "study.yaml": STUDY.format(users=USERS if SERIES else [10, 24], steady=steady, seed=number),
        "system.yaml": SYSTEM.format(variation=variation),
        "workload.yaml": WORKLOAD,
    }
    for name, text in files.items():
        (bench.folder / name).write_text(text)
    results = bench.folder / f"results-{number}"
    ended = bench.towtank("run", "study.yaml", "--out", results, "--quiet")
    assert (results / "study-summary.json").exists(), ended.stderr
    return results


def runs_of(results: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(results.glob("runs/*/summary.json"))]


def record_fit(tabled: Tabled, quantity: str, variation: str, truth: float, found: list[list[Any]]) -> None:
    """Record the fraction of intervals that contain the true value of a quantity. An interval without a bound counts as
    missing.
    """
    given = [ends for ends in found if ends[0] is not None and ends[1] is not None]
    held = sum(low <= truth <= high for low, high in given)
    least = least_by_chance(len(given))
    cells = (f"{truth:g}", str(len(found)), percent(len(given) / len(found)), percent(held / max(1, len(given))))
    tabled(FITS, quantity, variation, *cells, holds=len(found) < 5 or (held >= least and 2 * len(given) >= len(found)))


def least_by_chance(series: int) -> int:
    """Return the smallest plausible number of 95 % intervals that contain the true value.

    A smaller number has a probability of at most 0.001.
    """
    below, number = 0.0, 0
    while number <= series:
        below += math.comb(series, number) * 0.95**number * 0.05 ** (series - number)
        if below > 0.001:
            return number
        number += 1
    return series


@pytest.mark.certify
@pytest.mark.timeout(1200 * STUDIES)
@pytest.mark.parametrize("variation", ["constant", "exponential"] if SERIES else ["constant"])
def test_a_known_demand_comes_back(bench: Bench, certified: Certified, tabled: Tabled, variation: str) -> None:
    knees: list[list[Any]] = []
    limits: list[list[Any]] = []
    work_s = count = 0.0
    for number in range(1, STUDIES + 1):
        results = measured(bench, number, variation)
        for run in runs_of(results):
            window = run["window"]["end_s"] - run["window"]["start_s"]
            requests = run["request_throughput_per_s"]["value"] * window
            work_s += run["tiers"]["content"]["cpu_demand_s"]["value"] * requests
            count += requests
        # If other programs disturbed all runs, no model was fitted.
        model = next(iter(json.loads((results / "model.json").read_text())["configurations"]), {"knees": []})
        knee = next(
            (estimate for estimate in model["knees"] if estimate["kind"] == "model"), {"low": None, "high": None}
        )
        knees.append([knee["low"], knee["high"]])
        limits.append((model.get("confidence_interval") or {}).get("limit_throughput") or [None, None])
    case = f"{WORK_S * 1000:g} ms for each request, {variation}"
    # The tolerance for random demands is three standard errors. In a single study, a pause of the machine at the edge
    # of a window may also assign the CPU time of one sampling interval wrongly.
    chance = 3 / math.sqrt(count) if variation == "exponential" else 0.0
    relative = 0.02 if SERIES else 0.10
    certified(
        DEMANDS, case, "CPU time per request", truth=1000 * WORK_S, shown=1000 * work_s / count, unit="ms",
        relative=relative + chance,
    )  # fmt: skip
    record_fit(tabled, "knee (D + Z) / D, users", variation, KNEE, knees)
    record_fit(tabled, "limit 1 / D, 1/s", variation, LIMIT, limits)
