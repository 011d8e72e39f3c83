"""HTTP/2 with the null server, by `towtank drive` and by a study. A server without HTTP/2 causes a clear message."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from integration_bench import Bench

from towtank.engine import binary

pytestmark = pytest.mark.waits


@contextmanager
def null_server(*options: str) -> Iterator[str]:
    command = [str(binary()), "null-server", "--until-stdin-closes", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.stdin.close()


def drive(bench: Bench, *arguments: str) -> dict[str, Any]:
    window = ["--users", "8", "--think", "20ms", "--duration", "1s", "--threads", "1"]
    ended = bench.towtank("drive", *arguments, *window, "--json", "--quiet")
    assert ended.stderr == ""
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.mark.parametrize(
    "options", [[], ["--connections", "2", "--streams", "4"], ["--connections", "2"], ["--connections", "new"]]
)
def test_every_model_of_connections(bench: Bench, options: list[str]) -> None:
    with null_server("--http2") as address:
        document = drive(bench, f"http://{address}/", "--http2", *options)
    assert document["errors"] == 0
    assert document["requests"] > 0


@pytest.mark.smoke
def test_a_workload_with_streams(bench: Bench) -> None:
    (bench.folder / "one.yaml").write_text(
        "schema: towtank/workload/1\nname: one\ndefaults: {connections: {pool: 1, streams: 3}}\n"
        "transactions: {view: [{get: /}]}\ngroups: {all: {loop: {think: 20 ms, mix: {view: 100}}}}\n"
    )
    with null_server("--http2", "--delay", "5") as address:
        window = ["--users", "8", "--duration", "1s", "--threads", "1", "--json", "--quiet"]
        ended = bench.towtank("drive", "one.yaml", "--address", f"web={address}", "--http2", *window)
    document = json.loads(ended.stdout)
    assert document["errors"] == 0
    assert document["requests"] > 0


def test_a_server_without_http2_is_reported(bench: Bench) -> None:
    with null_server() as address:
        document = drive(bench, f"http://{address}/", "--http2")
    assert document["errors_by_kind"]["connect"] == document["errors"] == document["requests"] > 0
    (reason,) = document["connect_failures"]
    assert reason.startswith("the server closed the connection before it had sent its HTTP/2 settings: ")
