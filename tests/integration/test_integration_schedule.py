"""Loads that follow a schedule, from the study file to the summary."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench

pytestmark = pytest.mark.waits

EXAMPLE = Path(__file__).parents[2] / "examples" / "trace"
OPEN_LOAD = """
load:
  kind: open
  arrivals: constant
  users_at_most: 3
  backlog_at_most: 5
  schedule:
    - {phase: settle, for: 200 ms, rate: 10 /s}
    - {phase: steady, for: 2 s, rate: 200 /s}
"""


def summary(bench: Bench, study: str, *options: str) -> dict[str, Any]:
    ended = bench.towtank("run", study, "--out", bench.results, "--quiet", "--no-report", *options)
    assert ended.returncode in (0, 4), ended.stderr
    found: dict[str, Any] = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert found["accounting"]["holds"]
    return found


def kinds(found: dict[str, Any]) -> set[str]:
    return {reason["kind"] for reason in found["verdict"]["reasons"]}


def test_bounds_of_a_study_file_reach_the_summary(bench: Bench) -> None:
    study = bench.study()
    text = study.read_text()
    text = text[: text.index("factors:")] + OPEN_LOAD
    study.write_text(text)
    workload = bench.folder / "workload.yaml"
    workload.write_text(workload.read_text().replace("[{get: /}]", "[{get: /}, {think: 300 ms}]"))
    found = summary(bench, "study.yaml")
    # 402 arrivals are due in 2.2 s. Three users complete at most 3 x 2.2 s / 0.3 s = 22 of them, 3 are in progress and
    # 5 wait. The other 372 are dropped.
    assert 350 <= found["accounting"]["not_started"]["overflow"] <= 395
    assert "overflow" in kinds(found)
    assert "generator_saturated" not in kinds(found)


@pytest.fixture
def example(bench: Bench) -> Bench:
    shutil.copytree(EXAMPLE, bench.folder, dirs_exist_ok=True)
    return bench


def test_the_example_of_a_day_follows_its_curve(example: Bench) -> None:
    found = summary(example, "study.yaml", "--set", "load.trace.stretch=0.25", "--set", "load.trace.settle=200 ms")
    assert (found["window"]["steady"], "no_steady_state" in kinds(found)) == (False, False)
    # Mean rate of the curve in `day.csv`, whose 24 hours take a quarter of a second each in this run. [1/s]
    assert found["rate"] == pytest.approx(1681 / 24)
    asked = {test["test"]: test["asked"] for test in found["audit"]["tests"]}
    assert asked["number of arrivals"]["rate_per_s"] == pytest.approx(1681 / 24)
    assert found["audit"]["verdict"] == "ok"
    assert (example.results / "files" / "day.csv").read_text() == (EXAMPLE / "day.csv").read_text()


def test_the_example_of_a_batch_job_has_users_by_group(example: Bench) -> None:
    study = example.folder / "batch.yaml"
    study.write_text(re.sub(r"for: (\d+) s", lambda found: f"for: {int(found[1]) / 2} s", study.read_text()))
    found = summary(example, "batch.yaml")
    assert found["users"]["asked"] == 22
    # If the machine pauses, users start late.
    assert 21.0 < found["users"]["mean"] <= 22.0 + 1e-6
    plan = json.loads((example.results / "runs" / "r001" / "plan.json").read_text())
    assert [stage["users_by_group"] for stage in plan["load"]["stages"]] == [[20, 0], [20, 0], [20, 2], [20, 2], [0, 0]]
    segment = example.results / "runs" / "r001" / "engine" / "worker-00.0000.ndjson"
    header = json.loads(segment.read_text().splitlines()[0][9:])
    assert [stage["users"] for stage in header["stages"]] == [20, 20, 22, 22, 0, 0]
