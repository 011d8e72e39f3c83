"""`towtank drive` against running servers: correct, faulty and hostile ones."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench
from waiting import until

from towtank.system.process import log_tail

pytestmark = pytest.mark.waits

# Memory limit of the engine with a few users, for any response of a server. Program, tables and histograms take tens of
# megabytes; each user takes at most 64 KiB for headers and 1 MiB for captured bodies.
MEMORY_AT_MOST_BYTES = 150 * 2**20


def drive(bench: Bench, *arguments: str) -> tuple[int, dict[str, Any], str]:
    ended = bench.towtank("drive", *arguments, "--json", "--quiet")
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


def offered(out: Path) -> int:
    """Return the number of requests that were due before the end of the load, including requests that started late."""
    return int(json.loads((out / "engine" / "engine.json").read_text())["totals"]["offered"])


@pytest.mark.smoke
def test_closed_load_gives_the_document(bench: Bench, serve: Callable[..., str]) -> None:
    address = serve()
    code, document, errors = drive(
        bench, f"http://{address}/path", "--users", "8", "--think", "10ms", "--duration", "2s"
    )
    assert code == (0 if document["valid"] else 4)
    assert errors == ""
    assert document["schema"] == "towtank/drive/1"
    assert document["target"] == f"http://{address}/path"
    assert document["users"] == 8
    assert document["window_s"] == pytest.approx(2.0)
    assert document["requests"] > 0
    assert document["errors"] == 0
    assert set(document["errors_by_kind"]) >= {"timeout", "status_5xx", "connect", "check"}
    assert document["transactions"]["request"]["count"] == document["requests"]
    times = document["response_time_ms"]
    assert times["min"] <= times["p50"] <= times["p90"] <= times["p99"] <= times["max"]
    assert document["generator"]["peak_rss_bytes"] < MEMORY_AT_MOST_BYTES
    assert list(bench.folder.iterdir()) == []


@pytest.mark.smoke
def test_open_load_offers_its_rate(bench: Bench, serve: Callable[..., str]) -> None:
    out = bench.folder / "kept"
    options = ("--rate", "200", "--duration", "2 s", "--arrivals", "constant", "--out", str(out))
    code, document, _ = drive(bench, f"http://{serve()}/", *options)
    assert code == (0 if document["valid"] else 4)
    assert document["rate"] == 200.0
    assert document["requests"] <= offered(out) == pytest.approx(400, abs=2)


def test_a_trace_is_followed(bench: Bench, serve: Callable[..., str]) -> None:
    # The rate rises to 200 /s within the first second, which gives 100 arrivals, and then stays. With the 200 arrivals
    # of the next second these are 300, or 150 /s on average.
    (bench.folder / "rates.csv").write_text("time,rate\n0,0\n1,200\n2,200\n")
    out = bench.folder / "kept"
    code, document, errors = drive(bench, f"http://{serve()}/", "--trace", "rates.csv", "--out", str(out))
    assert code == (0 if document["valid"] else 4), errors
    assert document["rate"] == pytest.approx(150.0)
    assert document["window_s"] == pytest.approx(2.0)
    assert document["requests"] <= offered(out) == pytest.approx(300, abs=2)
    assert "no_steady_state" not in {doubt["kind"] for doubt in document["doubts"]}


def test_arrivals_beyond_the_bounds_are_turned_away_and_reported(bench: Bench, serve: Callable[..., str]) -> None:
    options = ["--users-at-most", "2", "--backlog-at-most", "3", "--duration", "2 s", "--threads", "1"]
    _, document, _ = drive(bench, f"http://{serve('--delay', '500')}/", "--rate", "100", *options)
    # 200 arrivals are due in 2 s. Two users complete 2 / 500 ms x 2 s = 8 of them, 2 are in progress and 3 wait. The
    # other 187 are dropped.
    assert 150 <= document["not_started"]["overflow"] <= 192
    assert "overflow" in {doubt["kind"] for doubt in document["doubts"]}
    assert "generator_saturated" not in {doubt["kind"] for doubt in document["doubts"]}


def test_workload_file(bench: Bench, serve: Callable[..., str]) -> None:
    bench.study()
    options = ["--address", serve(), "--users", "5", "--duration", "1s"]
    code, document, _ = drive(bench, "workload.yaml", *options)
    assert code == (0 if document["valid"] else 4)
    assert document["transactions"]["look"]["count"] > 0


def test_run_folder_is_kept_where_asked(bench: Bench, serve: Callable[..., str]) -> None:
    url = f"http://{serve()}/"
    out = bench.folder / "kept"
    code, document, _ = drive(bench, url, "--duration", "1s", "--out", str(out), "--think", "5 ms")
    assert code == (0 if document["valid"] else 4)
    plan = json.loads((out / "plan.json").read_text())
    assert plan["load"]["users_at_most"] == 1
    assert list((out / "engine").glob("worker-*.ndjson"))
    code, _, errors = drive(bench, url, "--duration", "1s", "--out", str(out))
    assert code == 2
    assert "--out: must be a folder without a run or a study in it" in errors


def test_what_is_refused_leaves_no_run_folder(bench: Bench) -> None:
    out = bench.folder / "refused"
    code, _, errors = drive(bench, "http://203.0.113.1/", "--duration", "1s", "--out", str(out))
    assert code == 2
    assert "203.0.113.1" in errors
    assert not out.exists()


def test_answer_for_people(bench: Bench, serve: Callable[..., str]) -> None:
    ended = bench.towtank("drive", f"http://{serve()}/", "--duration", "1s", "--think", "5ms")
    assert "requests/s over 1 s" in ended.stdout
    assert "time, ms" in ended.stdout
    assert "generator:" in ended.stdout


@pytest.mark.parametrize(
    ("kind", "failures"),
    [
        ("rubbish", {"protocol"}),
        ("half", {"closed"}),
        ("header-flood", {"protocol", "closed"}),
        ("chunk-garbage", {"protocol"}),
        ("close", {"closed"}),
        ("reset", {"closed"}),
        ("status-500", {"status_5xx"}),
        ("silent", {"timeout"}),
    ],
)
def test_hostile_server_neither_crashes_nor_swells_the_engine(
    bench: Bench, serve: Callable[..., str], kind: str, failures: set[str]
) -> None:
    url = f"http://{serve('--misbehave', kind)}/"
    # Only silent servers get a short timeout. On a machine that pauses at times, a short timeout would turn other
    # failures into timeouts.
    times = ("--duration", "4s", "--timeout", "400ms") if kind == "silent" else ("--duration", "1s", "--timeout", "5s")
    code, document, _ = drive(bench, url, "--users", "4", "--think", "20ms", *times)
    assert code == 4
    assert document["valid"] is False
    assert document["errors"] > 0
    kinds = {name for name, count in document["errors_by_kind"].items() if count}
    assert kinds <= failures
    assert document["generator"]["peak_rss_bytes"] < MEMORY_AT_MOST_BYTES


def test_gzip_bomb_is_counted_as_it_comes(bench: Bench, serve: Callable[..., str]) -> None:
    url = f"http://{serve('--misbehave', 'gzip-bomb')}/"
    _, document, _ = drive(bench, url, "--users", "2", "--duration", "2s", "--think", "100ms")
    assert document["requests"] > 0
    assert document["errors"] == 0
    assert document["generator"]["peak_rss_bytes"] < MEMORY_AT_MOST_BYTES


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://127.0.0.1/", "--insecure"], "--insecure"),
        (["http://127.0.0.1/", "--connections", "many"], "--connections: must be per-user, new, or a number"),
        (["http://127.0.0.1/", "--connections", "1", "--threads", "2"], "--connections: must be at least one for each"),
        (["http://127.0.0.1/", "--source", "here"], "--source: must be an IP address"),
        (["https://127.0.0.1/", "--cacert", "nothing"], "--cacert: must be a PEM file"),
        (["https://127.0.0.1/", "--cert", "pyproject.toml"], "--cert: must be given together with --key"),
        (["http://127.0.0.1/", "--connect-to", "192.0.2.1:80"], "--i-may-load 192.0.2.1"),
        (["http://127.0.0.1/", "--users", "2", "--rate", "3"], "a load is either open or closed"),
        (["http://127.0.0.1/", "--trace", "none.csv"], "none.csv: must be a CSV file that can be read"),
        (
            ["http://127.0.0.1/", "--trace", "none.csv", "--rate", "3"],
            "--trace: must not be given together with --rate",
        ),
        (["http://127.0.0.1/", "--users-at-most", "3"], "--users-at-most: must be given with --rate or --trace only"),
        (["http://127.0.0.1/", "--rate", "3", "--backlog-at-most", "-1"], "--backlog-at-most: must be from 0 to"),
        (["http://127.0.0.1/", "--duration", "15"], "--duration: must be a duration"),
        (["http://127.0.0.1/", "--duration", "0 s"], "--duration: must be more than 0 s"),
        (["http://127.0.0.1/", "--threads", "0"], "--threads: must be at least 1"),
        (["http://127.0.0.1/", "--arrivals", "often"], "--arrivals: must be one of constant, poisson"),
        (["http://127.0.0.1/", "--pin", "9999"], "--pin: must be numbers of CPUs"),
        (["http://127.0.0.1/", "--header", "x"], "--header: must be 'Name: value'"),
        (["http://127.0.0.1/", "--body", "@nothing"], "--body: must name a file"),
        (["http://192.0.2.1/"], "--i-may-load 192.0.2.1"),
        (["nothing.yaml"], "nothing.yaml"),
        ([], "argument"),
    ],
)
def test_wrong_command_lines(bench: Bench, arguments: list[str], words: str) -> None:
    ended = bench.towtank("drive", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_all_faults_of_a_command_line_at_once(bench: Bench) -> None:
    ended = bench.towtank(
        "drive", "http://127.0.0.1/", "--users", "0", "--think", "x", "--duration", "1", "--threads", "-1"
    )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 4


def test_target_that_is_not_there(bench: Bench) -> None:
    ended = bench.towtank("drive", "http://127.0.0.1:1/", "--json")
    assert ended.returncode == 6
    assert "Connection refused" in ended.stderr
    assert ended.stdout == ""


def test_ctrl_c_gives_what_was_measured(bench: Bench, serve: Callable[..., str]) -> None:
    out = bench.folder / "kept"
    arguments = ["--duration", "60s", "--think", "5ms", "--json", "--out", str(out)]
    process = bench.start("drive", f"http://{serve()}/", *arguments)
    until(lambda: len(log_tail(next((out / "engine").glob("*.ndjson"), Path()), 9)) >= 4)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=240)
    assert process.returncode == 5
    assert json.loads(text)["requests"] > 0


def test_a_load_that_clearly_misses_an_objective_ends_early_with_its_records(
    bench: Bench, serve: Callable[..., str]
) -> None:
    out = bench.folder / "kept"
    options = ("--duration", "90 s", "--think", "10 ms", "--abort-on", "p95 < 1 us", "--out", str(out))
    code, document, _ = drive(bench, f"http://{serve()}/", *options)
    assert code == 3
    assert not document["valid"]
    assert any(reason.startswith("ended early by --abort-on p95 < 1 us: ") for reason in document["invalid_because"])
    assert document["requests"] > 0
    engine = json.loads((out / "engine" / "engine.json").read_text())
    assert engine["reason"] == "stopped"


def test_the_first_failure_is_shown_with_what_was_expected(bench: Bench, serve: Callable[..., str]) -> None:
    workload = {
        "schema": "towtank/workload/1",
        "name": "strict",
        "parameters": {"password": "hunter2"},
        "transactions": {
            "look": [
                {"get": "/", "auth": {"user": "ann", "password": "${parameters.password}"}, "check": {"size": "1 MiB"}}
            ]
        },
        "groups": {"readers": {"loop": {"think": {"fixed": "10 ms"}, "mix": {"look": 100}}}},
    }
    path = bench.folder / "strict.yaml"
    path.write_text(json.dumps(workload))
    arguments = (str(path), "--address", f"web={serve('--body', '100')}", "--duration", "1 s", "--quiet")
    ended = bench.towtank("drive", *arguments)
    assert "first failure of look / GET / at" in ended.stdout
    assert "size: expected " in ended.stdout
    assert "got 100 B" in ended.stdout
    assert "hunter2" not in ended.stdout


def test_disk_that_takes_no_more_is_reported(bench: Bench, serve: Callable[..., str]) -> None:
    """A limit of the file size has the same effect as a full disk: a write of the engine returns an error."""
    url = f"http://{serve()}/"
    out = bench.folder / "kept"
    command = ["drive", url, "--duration", "30s", "--think", "5ms", "--out", str(out)]

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    ended = subprocess.run(
        [sys.executable, "-m", "towtank", *command],
        cwd=bench.folder,
        env=bench.environment,
        capture_output=True,
        text=True,
        preexec_fn=small_files,
        check=False,
    )
    assert ended.returncode == 1
    assert "the disk is full" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (out / "run.json").exists()
