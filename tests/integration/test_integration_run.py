"""`towtank run` from the study file to the report, and its failures."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from integration_bench import WORKLOAD, Bench, processes_of
from waiting import until

from towtank.results import segments

pytestmark = pytest.mark.waits


@pytest.mark.smoke
def test_study_ends_with_verdict_and_report(bench: Bench) -> None:
    bench.study()
    ended = bench.run_study("--report", "--json")
    document = json.loads(ended.stdout)
    assert ended.returncode in (0, 4), ended.stderr
    assert ended.returncode == document["exit_status"]
    assert document["schema"] == "towtank/run-study/1"
    assert document["verdict"] == document["summary"]["verdict"]
    assert bench.statuses() == {"r001": "complete", "r002": "complete"}
    assert (bench.results / "report.html").stat().st_size > 10_000
    assert document["report"] == str(bench.results / "report.html")
    # On a busy machine the run may be invalid (status 4), which adds a line to the output.
    assert len(ended.stderr.splitlines()) == (ended.returncode == 4), ended.stderr
    engine = json.loads((bench.results / "runs" / "r001" / "engine" / "engine.json").read_text())
    assert engine["reason"] == "finished"
    assert engine["totals"]["failed"] == {}
    assert (bench.results / "files" / "workload.yaml").read_text() == (bench.folder / "workload.yaml").read_text()
    pinning = bench.manifest("r001")["pinning"]
    assert not set(pinning["system"]) & set(pinning["generator"])
    assert bool(pinning["system"]) == (len(os.sched_getaffinity(0)) > 1)
    assert not bench.strays()


def test_outcome_for_people_and_progress_apart(bench: Bench) -> None:
    bench.study(users=[2])
    ended = bench.towtank("run", ".", "--out", bench.results, "--no-report")
    assert "verdict" in ended.stdout
    assert "r001 (1/1) users 2" in ended.stderr
    assert not (bench.results / "report.html").exists()


def test_changes_from_the_command_line_are_in_force_and_kept(bench: Bench) -> None:
    bench.study(users=[2])
    ended = bench.run_study("--repetitions", "2", "--seed", "7", "--set", "load.stages.steady=500 ms")
    assert ended.returncode in (0, 4), ended.stderr
    assert len(bench.statuses()) == 2
    manifest = json.loads((bench.results / "study.json").read_text())
    assert manifest["command"]["changes"] == ["load.stages.steady=500 ms"]
    plan = json.loads((bench.results / "runs" / "r001" / "plan.json").read_text())
    assert [stage["duration_s"] for stage in plan["load"]["stages"] if stage["phase"] == "steady"] == [0.5]


def test_port_taken(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        bench.study(port=port)
        ended = bench.run_study()
    assert ended.returncode == 6
    assert f"content: port {port} on 127.0.0.1 is already in use by" in ended.stderr
    assert f"(pid {os.getpid()})" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert set(bench.statuses().values()) == {"failed"}


def test_server_that_fails_to_start_shows_its_last_log_lines(bench: Bench) -> None:
    bench.study()
    system = bench.folder / "system.yaml"
    system.write_text(
        "schema: towtank/system/1\nname: broken\nhosts: {here: {provider: local}}\nservices:\n"
        "  content: {kind: content_server, host: here, population: {scale: 0.00001},"
        " settings: {users: missing.txt}}\n"
    )
    ended = bench.run_study()
    assert ended.returncode == 6
    assert "content ended with status 1 before it was ready" in ended.stderr
    assert "missing.txt" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_server_killed_in_the_steady_stage(bench: Bench) -> None:
    bench.study(users=[2, 4], steady="6 s")
    process = bench.start_study("--report")
    bench.await_stage("r001", "steady")
    time.sleep(0.5)
    os.kill(bench.group("r001"), signal.SIGKILL)
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    assert bench.statuses() == {"r001": "failed", "r002": "complete"}
    assert "content ended by signal 9 in stage steady" in bench.manifest("r001")["reason"]
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert summary["verdict"]["level"] == "invalid"
    assert "service_died" in {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert summary["accounting"]["ok"] > 0
    assert (bench.results / "report.html").exists()


def test_engine_killed(bench: Bench) -> None:
    bench.study(users=[2, 4], steady="6 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    engine = bench.results / "runs" / "r001" / "engine"
    until(lambda: any(series.ok for interval in segments.read(engine).intervals for series in interval.series))
    pid = next(event["pid"] for event in bench.events("r001") if event["k"] == "engine_started")
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    assert bench.statuses() == {"r001": "failed", "r002": "complete"}
    assert bench.manifest("r001")["reason"].startswith("the engine ended by signal 9")
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert summary["verdict"]["level"] == "invalid"
    assert summary["accounting"]["ok"] > 0


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.smoke), 2, 3, 4])
def test_conductor_killed_at_a_random_moment(bench: Bench, seed: int) -> None:
    bench.study(users=[2, 3], steady="1500 ms")
    process = bench.start_study()
    until((bench.results / "study.json").exists, 60.0)
    time.sleep(random.Random(seed).uniform(0.0, 5.0))
    process.kill()
    process.communicate()
    bench.await_no_strays()
    before = {run: list((bench.results / "runs" / run / "engine").glob("*.ndjson")) for run in bench.statuses()}
    recorded = {path: path.read_bytes() for paths in before.values() for path in paths}
    assert bench.towtank("report", bench.results).returncode in (0, 4)
    resumed = bench.towtank("run", "--resume", bench.results, "--quiet", "--no-report")
    assert resumed.returncode in (0, 4), resumed.stderr
    statuses = bench.statuses()
    assert statuses["r001"] == statuses["r002"] == "complete"
    for path, content in recorded.items():
        aside = bench.results / "runs" / f"{path.parents[1].name}.interrupted-1" / "engine" / path.name
        kept = aside if aside.exists() else path
        assert kept.read_bytes() == content
    bench.await_no_strays()


def test_ctrl_c_once_finishes_cleanly(bench: Bench) -> None:
    bench.study(users=[2, 4], steady="60 s")
    process = bench.start_study("--report")
    bench.await_stage("r001", "steady")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 5
    assert "a second Ctrl-C or signal exits immediately" in errors
    assert "Traceback" not in errors
    assert bench.statuses() == {"r001": "stopped"}
    engine = json.loads((bench.results / "runs" / "r001" / "engine" / "engine.json").read_text())
    assert engine["reason"] == "stopped"
    assert (bench.results / "report.html").exists()
    assert not bench.strays()


def test_sigterm_is_ctrl_c(bench: Bench) -> None:
    bench.study(users=[2], steady="60 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=240)
    assert process.returncode == 5
    assert bench.statuses() == {"r001": "stopped"}


def test_ctrl_c_twice_leaves_at_once(bench: Bench) -> None:
    bench.study(users=[2], steady="60 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=240)
    assert process.returncode == 5
    bench.await_no_strays()
    assert list((bench.results / "runs" / "r001" / "engine").glob("worker-*.ndjson"))


def test_resume_after_ctrl_c_does_what_is_missing(bench: Bench) -> None:
    bench.study(users=[2, 3], steady="5 s")
    process = bench.start_study()
    bench.await_stage("r002", "steady")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    first = (bench.results / "runs" / "r001" / "run.json").read_text()
    resumed = bench.towtank("run", "--resume", bench.results, "--quiet", "--no-report")
    assert resumed.returncode in (0, 4), resumed.stderr
    assert bench.statuses() == {"r001": "complete", "r002": "complete", "r002.interrupted-1": "stopped"}
    assert (bench.results / "runs" / "r001" / "run.json").read_text() == first


def test_resume_works_on_from_the_copies_when_the_study_has_changed(bench: Bench) -> None:
    bench.study(users=[2, 3], steady="1 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    process.kill()
    process.communicate()
    bench.await_no_strays()
    bench.study(users=[9], steady="5 s")
    resumed = bench.towtank("run", "--resume", bench.results, "--quiet", "--no-report")
    assert resumed.returncode in (0, 4), resumed.stderr
    assert bench.manifest("r002")["users"] == 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"needs a file system of its own, which only root can mount: {mounted.stderr.strip()}; use sudo")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_full_disk_ends_the_study_with_a_clear_message(bench: Bench, small_disk: Path) -> None:
    bench.study(users=[2, 3], steady="30 s")
    results = small_disk / "results"
    process = bench.start("run", "study.yaml", "--out", results, "--quiet", "--no-report")
    events = results / "runs" / "r001" / "events.ndjson"
    until(lambda: events.exists() and '"steady"' in events.read_text(), 60.0)
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 1
    assert f"the disk is full: nothing more can be written to {results}" in errors
    assert "Traceback" not in errors
    assert json.loads((results / "runs" / "r001" / "run.json").read_text())["status"] == "running"
    assert list((results / "runs" / "r001" / "engine").glob("worker-*.ndjson"))
    until(lambda: not processes_of(results))
    (small_disk / "filler").unlink()
    assert bench.towtank("report", results).returncode in (0, 1, 4)


def test_two_conductors_in_one_folder(bench: Bench) -> None:
    bench.study(users=[2], steady="60 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    second = bench.towtank("run", "--resume", bench.results)
    assert second.returncode == 2
    assert "another Towtank process is writing to it" in second.stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "STUDY: must name a study, or a results folder with --resume"),
        (["no-such-study"], "no-such-study"),
        (["--resume", "nowhere"], "must be a results folder with a study.json, got nothing there"),
        (["study.yaml", "--resume", "results"], "must be left out with --resume"),
        (["study.yaml", "--set", "seed"], "--set: must be path.to.key=value, got 'seed' instead"),
        (["study.yaml", "--preset", "slow"], "--preset"),
        (["study.yaml", "--repetitions", "0"], "--repetitions"),
    ],
)
def test_wrong_command_lines(bench: Bench, arguments: list[str], words: str) -> None:
    bench.study()
    ended = bench.towtank("run", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not bench.results.exists()


def test_system_outside_of_private_ranges_needs_leave(bench: Bench) -> None:
    bench.study()
    (bench.folder / "system.yaml").write_text(
        "schema: towtank/system/1\nname: far\nservices:\n  content: {kind: existing, address: 'http://192.0.2.1:80'}\n"
        "start_timeout: 1 s\n"
    )
    ended = bench.run_study()
    assert ended.returncode == 2
    assert "--i-may-load 192.0.2.1" in ended.stderr


def test_existing_system_that_is_not_there(bench: Bench) -> None:
    bench.study(users=[2])
    (bench.folder / "system.yaml").write_text(
        "schema: towtank/system/1\nname: gone\nservices:\n  content: {kind: existing, address: 'http://127.0.0.1:1'}\n"
        "start_timeout: 1 s\n"
    )
    ended = bench.run_study()
    assert ended.returncode == 6
    assert "content cannot be reached: 127.0.0.1:1: Connection refused" in ended.stderr


CONTENT = """
schema: towtank/system/1
name: content
hosts: {here: {provider: local}}
services:
  content: {kind: content_server, host: here, population: {scale: 0.0001}}
start_timeout: 60 s
"""


def test_a_tier_that_runs_out_of_open_files_is_named_with_the_limit_in_force(bench: Bench) -> None:
    """Server and engine have the same open-file limit. The engine uses several file tables, each with this limit, so it
    can open more files than the server.
    """
    bench.study(users=[100], steady="4 s")
    (bench.folder / "system.yaml").write_text(CONTENT)
    (bench.folder / "workload.yaml").write_text(WORKLOAD.replace("get: /", "get: /metrics").replace("20 ms", "1 s"))
    command = ["prlimit", "--nofile=100:100", sys.executable, "-m", "towtank", "run", "study.yaml", "--quiet"]
    ended = subprocess.run(
        [*command, "--out", str(bench.results)],
        cwd=bench.folder,
        env=bench.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 4, ended.stderr
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    doubts = {reason["kind"]: reason["message"] for reason in summary["verdict"]["reasons"]}
    assert re.fullmatch(
        r"content ran out of file descriptors: (9[5-9]|100) in use, its limit is 100", doubts["tier_limit"]
    )
    assert "errors_above_limit" in doubts
    assert doubts["tier_limit"] in (bench.results / "report.html").read_text("utf-8")
    # The run's manifest states the open-file limit in force for each tier.
    assert bench.manifest("r001")["tiers"]["content"]["limits"]["open_files"] == 100
