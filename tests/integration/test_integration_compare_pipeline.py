"""Commands of a CI pipeline, `towtank run` and `towtank compare --baseline`, on real runs with known differences.

The server responds after a fixed delay, which the test changes. Other programs may run on the machine at the same time,
because they hardly affect the delay.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench, engine_of

from towtank.engine import binary

pytestmark = pytest.mark.waits

RUNS = ("r001", "r002", "r003")
LIMITS = ("limits.interference=100 %", "limits.not_attributed=100 %")
# Changes of the CPU time per request below this threshold may be caused by the machine.
THRESHOLD = "25 %"


def options(out: Path, delay: str) -> list[str | Path]:
    sets = [*LIMITS, f"services.content.settings.delay={delay}"]
    return [
        *("run", "study.yaml", "--out", out, "--quiet", "--no-report", "--repetitions", str(len(RUNS))),
        *(word for each in sets for word in ("--set", each)),
    ]


def compare(bench: Bench, result: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return bench.towtank("compare", result, "--baseline", "main", "--threshold", THRESHOLD, *more)


def document_of(bench: Bench, result: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(compare(bench, result, "--json").stdout)
    return document


@pytest.fixture
def pipeline(bench: Bench) -> Bench:
    """A study of four users and a server with a delay of 20 ms. Its results are stored as the baseline."""
    bench.study(users=[4], steady="3 s")
    ended = bench.towtank(*options(bench.folder / "main", "20 ms"))
    assert ended.returncode == 0, ended.stderr
    assert compare(bench, bench.folder / "main", "--keep").returncode == 0
    return bench


@pytest.mark.parametrize(("delay", "status", "verdict"), [("20 ms", 0, None), ("40 ms", 7, "worse")])
def test_a_slower_server_is_a_regression_and_an_equal_server_is_none(
    pipeline: Bench, delay: str, status: int, verdict: str | None
) -> None:
    now = pipeline.folder / "now"
    ran = pipeline.towtank(*options(now, delay))
    assert ran.returncode == 0, ran.stderr
    ended = compare(pipeline, now)
    assert (ended.returncode, ended.stderr) == (status, ""), ended.stdout
    found = {each["name"]: each for each in document_of(pipeline, now)["metrics"] if each["transaction"] is None}
    mean = found["response_time_mean"]
    assert mean["ratio"]["value"] == pytest.approx(1.0 if verdict is None else 2.0, rel=0.1)
    assert (mean["verdict"] == "worse") is (verdict == "worse")


def test_runs_whose_generator_stood_still_decide_nothing(pipeline: Bench) -> None:
    now = pipeline.folder / "results"
    started = pipeline.start(*options(now, "40 ms"))
    for run in RUNS:
        pipeline.await_stage(run, "steady")
        engine = engine_of(started.pid)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(engine, signal.SIGCONT)
    started.communicate()
    assert started.returncode == 4
    ended = compare(pipeline, now)
    assert (ended.returncode, ended.stderr) == (4, ""), ended.stdout
    assert ended.stdout.startswith("not valid: ")
    document = document_of(pipeline, now)
    assert (document["valid"], document["b"]["runs"], document["b"]["left_out"]) == (False, 0, len(RUNS))


def test_releases_of_a_server_are_compared_in_blocks_of_one_study(bench: Bench) -> None:
    for name, delay_ms in (("old", 20), ("new", 40)):
        path = bench.folder / name / "server"
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nexec "{binary()}" null-server --delay {delay_ms} --listen "$1"\n')
        path.chmod(0o755)
    study = bench.study(users=[4], steady="3 s")
    levels = "".join(f"    {name}: {{services.content.program: {name}/server}}\n" for name in ("old", "new"))
    study.write_text(
        study.read_text()
        .replace("load:\n", "repetitions: 3\nload:\n")
        .replace("factors:\n", f"factors:\n  release:\n{levels}")
    )
    system = bench.folder / "system.yaml"
    command = "{kind: command, host: here, program: old/server, arguments: ['${address}'], port: 0}"
    lines = [f"  content: {command}" if "null_server" in line else line for line in system.read_text().splitlines()]
    system.write_text("\n".join(lines) + "\n")
    ran = bench.run_study(*(word for each in LIMITS for word in ("--set", each)))
    assert ran.returncode == 0, ran.stderr
    order = [bench.manifest(run)["factors"]["release"] for run in sorted(bench.statuses())]
    assert [sorted(order[index : index + 2]) for index in (0, 2, 4)] == [["new", "old"]] * 3
    sides = [f"{bench.results}:release {name}" for name in ("old", "new")]
    ended = bench.towtank("compare", *sides, "--threshold", THRESHOLD, "--json")
    assert ended.returncode == 7, ended.stderr
    document = json.loads(ended.stdout)
    mean = next(each for each in document["metrics"] if each["name"] == "response_time_mean")
    assert mean["ratio"]["value"] == pytest.approx(2.0, rel=0.1)
