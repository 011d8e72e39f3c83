from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from towtank.study import Limits, load_study

pytestmark = pytest.mark.waits

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> object:
    """Return a function that imports a module of the folder `benches`, which is not a package."""
    monkeypatch.syspath_prepend(str(BENCHES))
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHES)):
            del sys.modules[name]


def program(folder: Path, name: str, output: str) -> None:
    """Write a stand-in for another tool that prints recorded output."""
    path = folder / name
    path.write_text(f"#!{sys.executable} -I\nprint({output!r})\n")
    path.chmod(0o755)


def test_h2load_reports_its_count(bench) -> None:
    reported = "requests: 9 total, 10 started, 9 done, 9 succeeded, 0 failed, 0 errored, 0 timeout\n"
    http2 = bench("http2")
    assert http2.succeeded(reported) == 9
    for wrong in (reported.replace("0 failed", "1 failed"), "nothing"):
        with pytest.raises(SystemExit, match="h2load failed"):
            http2.succeeded(wrong)


def stalled_log(first_ns: int, *, sends_on: bool) -> np.ndarray:
    """Return a log of ten requests a second over ten seconds. Each takes 1 ms, except during a stall from 4 s
    to 6 s.
    """
    rows = []
    for number in range(100):
        due = number * 100_000_000
        answer = 6_000_000_000 if 4_000_000_000 <= due < 6_000_000_000 else due + 1_000_000
        came = due
        if not sends_on and 4_000_000_000 < due < 6_000_000_000:
            continue
        rows.append((first_ns + came, first_ns + answer))
    return np.array(rows, dtype=np.int64)


@pytest.mark.parametrize("sends_on", [True, False])
def test_the_truth_of_a_stall_does_not_depend_on_what_was_sent_in_it(bench, sends_on):
    log = stalled_log(7_000, sends_on=sends_on)
    found = bench("stall").truth(log, 7_000, 10.0, 10.0, 2.0)
    # Twenty of the hundred requests are due during the stall and wait 2.0, 1.9, ... 0.1 s. So 1.9 s is the second
    # largest of all hundred times, which is the p99.
    assert found == pytest.approx({"p99": 1.9, "p99.9": 2.0, "max": 2.0})


def test_a_ratio_is_taken_within_rounds_and_its_interval_holds_it(bench):
    harness = bench("harness")
    runs = [
        {"round": index, "generator": name, "cpu": drift * cost}
        for index, drift in enumerate([1.0, 1.5, 0.7, 2.0])
        for name, cost in (("ours", 4.0), ("other", 8.0))
    ]
    assert harness.ratio(runs, "cpu", "ours", "other") == (0.5, 0.5, 0.5)
    middle, low, high = harness.interval([1.0, 2.0, 3.0, 4.0, 100.0])
    assert low <= middle == 3.0 <= high


def test_turns_alternate(bench, capsys):
    runs = bench("harness").turns(["a", "b"], 3, lambda name: {"cpu": 1.0})
    assert [run["generator"] for run in runs] == ["a", "b", "b", "a", "a", "b"]


OUTPUTS = {
    "wrk": (
        "  Latency Distribution\n     50%    1.90ms\n     99%   18.52ms\n  56096 requests in 2.00s, 12.35MB read",
        56_096,
        {"p50": 0.0019, "p99": 0.01852},
    ),
    "hey": (
        "  Slowest:\t0.0520 secs\n  50%% in 0.0043 secs\n  99%% in 0.0285 secs\n  [200]\t18077 responses",
        18_077,
        {"p50": 0.0043, "p99": 0.0285, "max": 0.052},
    ),
    "oha": (
        '{"summary": {"slowest": 0.05}, "latencyPercentiles": {"p50": 0.001, "p99": 0.002, "p99.9": 0.003},'
        ' "statusCodeDistribution": {"200": 40, "500": 2}}',
        42,
        {"p50": 0.001, "p99": 0.002, "p99.9": 0.003, "max": 0.05},
    ),
    "locust": (
        '[{"num_requests": 10, "max_response_time": 131.0, "response_times": {"7": 5, "23": 4, "130": 1}}]',
        10,
        {"p50": 0.007, "p99": 0.13, "p99.9": 0.13, "max": 0.131},
    ),
}


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="needs two CPU cores: one for the server, one for the generator"
)
@pytest.mark.parametrize("name", OUTPUTS)
def test_what_a_peer_says_is_read(bench, tmp_path, monkeypatch, name):
    output, requests, times = OUTPUTS[name]
    program(tmp_path, name, output)
    monkeypatch.setattr(bench("harness"), "PEERS", tmp_path / "none")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    reported = bench("peers").drive(name, bench("peers").Case("127.0.0.1:1", 4, 1))
    assert reported.requests == requests
    assert reported.times_s == pytest.approx(times)
    assert reported.cpu_us_per_request > 0


def test_a_peer_that_is_missing_is_skipped_by_name_with_what_installs_it(bench, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench("harness"), "PEERS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bench("peers").available() == []
    said = capsys.readouterr().out
    assert "skipped: wrk is not installed (apt-get install wrk)" in said
    assert "skipped: k6 is not installed (make bench-peers)" in said


def test_an_unknown_bench_is_refused():
    done = subprocess.run(
        [sys.executable, str(BENCHES), "nothing"], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 2
    assert "NAME must be one of generator_cpu" in done.stderr


def test_the_table_of_comparisons_counts_differences_by_their_place(bench):
    rows = [
        ("second", 3, "same", "", None),
        ("second", 3, "worse", "throughput of all", None),
        ("changed", 3, "worse", "response_time_mean of all, response_time_p50 of edit", None),
        ("changed", 3, "worse", "cpu_per_transaction of all, response_time_p50 of edit", None),
        ("changed", 3, "worse", "response_time_p50 of view", None),
        ("changed", 1, "undecided", "", 9),
        ("changed", 1, "undecided", "", 18),
    ]
    keys = ("kind", "runs", "verdict", "differing", "runs_needed")
    lines = list(bench("comparisons").table([dict(zip(keys, row, strict=True)) for row in rows]))
    assert lines[0].startswith("equal, 3 and 3 runs, 2 pairs: 1 differ, 0 in edit, 0 only there; 0 undecided")
    assert lines[2].startswith("edit 1.2 times, 3 and 3 runs, 3 pairs: 3 differ, 2 in edit, 1 only there; 0 undecided")
    assert lines[3].endswith("0 differ, 0 in edit, 0 only there; 2 undecided, runs needed 9 to 18")


def test_the_known_times_have_their_means_and_are_repeated_by_the_seed(bench):
    times = bench("known_times")
    drawn, again = (times.Times(1, {"edit": 1.2}) for _ in range(2))
    found = {name: [drawn.draw(name) for _ in range(20_000)] for name in times.MEAN_S}
    assert found == {name: [again.draw(name) for _ in range(20_000)] for name in times.MEAN_S}
    for name, mean_s in times.MEAN_S.items():
        # The standard error of a mean is 1 / 3 / sqrt(20,000) = 0.24 % of it.
        assert np.mean(found[name]) == pytest.approx(mean_s * (1.2 if name == "edit" else 1.0), rel=0.01)


def test_a_study_whose_cpus_are_held_notices_other_programs(bench, tmp_path):
    decisions = bench("decisions")
    held = next(kind for kind in decisions.KINDS if kind.held)
    for name, text in decisions.files_of(held, 1, tmp_path / "starts").items():
        (tmp_path / name).write_text(text)
    study = load_study(tmp_path / "study.yaml").study
    # Without pinned CPUs or with wider limits, the study would not notice the other program. The machine's speed needs
    # ten samples, one per second.
    assert (study.pinning, study.limits) == ("auto", Limits())
    assert study.load.stages.steady >= 10


def test_busy_programs_run_after_half_of_the_starts_of_a_server(bench, tmp_path):
    starts, drawn = tmp_path / "starts", random.Random(1)
    starts.write_text(f"{min(os.sched_getaffinity(0))}\n" * 6)
    expected = sum(drawn.random() < 0.5 for _ in range(6))
    holder = bench("decisions").Holder(starts, 1)
    with holder:
        while len(holder.held_wall_ns) < expected:
            time.sleep(0.01)
    # A busy program that still ran would be reported by the check of processes left behind.
    assert len(holder.held_wall_ns) == expected


@pytest.mark.parametrize(("started_at", "held"), [(5, 0), (15, 1), (25, 0)])
def test_a_run_during_which_another_program_started_is_a_held_run(bench, tmp_path, started_at, held):
    decisions = bench("decisions")
    claims = [{"says": says, "verdict": "undecided"} for says in (decisions._SLOWER, decisions._LESS)]
    files = {
        "claims.json": {"claims": claims},
        "study.json": {"repeat_ended": {"blocks": 3, "because": "undecidable"}},
        "study-summary.json": {"runs": [{"run": "r001", "verdict": "suspect"}, {"run": "r002", "verdict": "invalid"}]},
        "runs/r001/run.json": {"started_wall_ns": 10, "ended_wall_ns": 20},
        "runs/r002/run.json": {"started_wall_ns": 30, "ended_wall_ns": 40},
    }
    for name, document in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(document))
    found = decisions.of_results(decisions.KINDS[1], 0, tmp_path, 1.0, [started_at, 35])
    assert (found.held_runs, found.held_runs_that_count, found.invalid_runs) == (1 + held, held, 1)
