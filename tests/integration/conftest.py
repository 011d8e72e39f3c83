"""Tiny studies on the null server, with a check that nothing is left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from integration_bench import Bench

from towtank.engine import binary

# Time that a run may take after its end to disappear: grace periods of guards and engine, on a busy machine. [s]
GONE_WITHIN_S = 30.0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    # Specific to this process: two tests must not bring up systems on the same data.
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    made = Bench(tmp_path, dict(os.environ))
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    made.towtank("system", "down")
    left = []
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := made.strays()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for line in left:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    assert left == [], "processes stayed behind"


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start null servers; yields a function that returns the addresses of the servers."""
    with ExitStack() as stack:

        def start(*options: str) -> str:
            command = [str(binary()), "null-server", "--listen", "127.0.0.1:0", *options]
            server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(server.kill)
            assert server.stdout is not None
            return server.stdout.readline().rpartition(" ")[2].strip()

        yield start
