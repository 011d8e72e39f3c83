"""Loads that are disturbed while they run must not be reported as valid."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from integration_bench import Bench, engine_of
from waiting import until

pytestmark = pytest.mark.waits


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server on the loopback interface that calls a function for each connection; yield the server's address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                kept.append(connection)
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        for connection in kept:
            connection.close()


def silent(connection: socket.socket) -> None:
    """Send no response."""


def surplus(connection: socket.socket) -> None:
    while connection.recv(4096):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxmore")


def drive(bench: Bench, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = bench.towtank("drive", *arguments, "--json", "--quiet")
    return ended.returncode, json.loads(ended.stdout)


def kinds(document: dict[str, Any], level: str) -> set[str]:
    return {doubt["kind"] for doubt in document["doubts"] if doubt["level"] == level}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_answers_is_invalid(bench: Bench, scheme: str) -> None:
    options = ("--users", "4", "--duration", "1 s", "--timeout", "1500ms")
    tls = ("--insecure",) if scheme == "https" else ()
    with listening(silent) as address:
        code, document = drive(bench, f"{scheme}://{address}/", *options, *tls)
        text = bench.towtank("drive", f"{scheme}://{address}/", *options, *tls, "--quiet").stdout
    assert code == 4
    assert not document["valid"]
    assert "nothing_completed" in kinds(document, "invalid")
    assert document["requests"] == 0
    assert document["throughput_per_s"] is None
    assert document["in_flight"] == 4
    assert sum(document["failed_later"].values()) == 4
    assert "no throughput" in text
    assert "0.0 requests/s" not in text
    assert "not valid: no transaction completed" in text


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rate", "1e12"),
        ("--threads", "100000"),
        ("--think", "1e9 s"),
        ("--header", "Content-Length: 5"),
        ("--source", "::1"),
    ],
)
def test_a_refusal_of_the_engine_names_the_option(
    bench: Bench, serve: Callable[..., str], option: str, value: str
) -> None:
    out = bench.folder / "out"
    ended = bench.towtank(
        "drive", f"http://{serve()}/", option, value, "--duration", "1 s", "--out", str(out), "--quiet"
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"<command line>: {option}: ")
    assert "plan.json" not in ended.stderr
    assert not out.exists()


@pytest.mark.parametrize("path", ["/a b", ":0/"])
def test_an_address_that_is_none_is_refused(bench: Bench, serve: Callable[..., str], path: str) -> None:
    target = "http://127.0.0.1:0/" if path == ":0/" else f"http://{serve()}{path}"
    ended = bench.towtank("drive", target, "--duration", "1 s", "--quiet")
    assert ended.returncode == 2
    assert ended.stderr.startswith("<command line>: TARGET: ")


@pytest.mark.parametrize("name", ["study.json", "run.json"])
def test_a_run_is_not_mixed_into_results(bench: Bench, name: str) -> None:
    (bench.folder / "there").mkdir()
    (bench.folder / "there" / name).write_text("{}")
    ended = bench.towtank("drive", "http://127.0.0.1:1/", "--out", "there", "--quiet")
    assert ended.returncode == 2
    assert ended.stderr.startswith("<command line>: --out: must be a folder without a run or a study in it")
    assert [entry.name for entry in (bench.folder / "there").iterdir()] == [name]


def test_bytes_behind_answers_are_a_doubt_in_the_printed_text(bench: Bench) -> None:
    with listening(surplus) as address:
        options = ("--users", "2", "--think", "50 ms", "--duration", "4 s")
        code, document = drive(bench, f"http://{address}/", *options)
        text = bench.towtank("drive", f"http://{address}/", *options, "--quiet").stdout
    assert "framing" in kinds(document, "suspect")
    assert "reconnects" in kinds(document, "note")
    assert code == (0 if document["valid"] else 4)
    assert "bytes after a complete response" in text


def test_an_engine_that_stood_still_is_a_doubt(bench: Bench, serve: Callable[..., str]) -> None:
    out = bench.folder / "stalled"
    command = [sys.executable, "-m", "towtank", "drive", f"http://{serve()}/", "--users", "4", "--duration", "6 s"]
    with subprocess.Popen(
        [*command, "--json", "--quiet", "--out", str(out)], stdout=subprocess.PIPE, text=True, cwd=bench.folder
    ) as running:
        until((out / "engine" / "worker-00.0000.ndjson").exists)
        engine = engine_of(running.pid)
        time.sleep(1.0)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(2.0)
        os.kill(engine, signal.SIGCONT)
        stdout, _ = running.communicate(timeout=240)
    document = json.loads(stdout)
    assert running.returncode == 4
    stalled = next(doubt for doubt in document["doubts"] if doubt["kind"] == "generator_stalled")
    # The load generator is stopped for two of six seconds.
    assert stalled["level"] == "invalid"
    assert stalled["seen"] > 1.8
    assert "the load generator stalled for" in stalled["message"]


def test_a_good_drive_names_what_was_not_checked(bench: Bench, serve: Callable[..., str]) -> None:
    code, document = drive(bench, f"http://{serve()}/", "--users", "2", "--think", "20 ms", "--duration", "2 s")
    assert code == (0 if document["valid"] else 4)
    missing = {entry["check"]: entry["why"] for entry in document["not_checked"]}
    assert {"interference", "steal_time"}.isdisjoint(missing)
    assert "service_died" not in missing, "the server process must be found and observed"
    assert "generator_stalled" not in missing
    assert {"physical_bound", "nothing_completed", "framing"}.isdisjoint(doubt["kind"] for doubt in document["doubts"])


def test_other_programs_beside_a_target_of_this_machine_make_a_drive_invalid(
    bench: Bench, serve: Callable[..., str]
) -> None:
    cpus = os.sched_getaffinity(0)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in cpus]
    try:
        code, document = drive(bench, f"http://{serve()}/", "--users", "2", "--think", "20 ms", "--duration", "4 s")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert code == 4
    assert "interference" in kinds(document, "invalid")
