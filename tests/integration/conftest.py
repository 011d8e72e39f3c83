"""Fixtures that run tiny studies against the null server, and assert that no process remains."""

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

# Time limit for the end of all processes of a run, on a busy machine. It includes the grace periods of the guard
# processes and the engine. [s]
GONE_WITHIN_S = 30.0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    # With a common state folder, parallel tests could not start systems that use the same data.
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
    assert left == [], "processes of the test still run"


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """A function that starts a null server and returns its address."""
    with ExitStack() as stack:

        def start(*options: str) -> str:
            command = [str(binary()), "null-server", "--listen", "127.0.0.1:0", *options]
            server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(server.kill)
            assert server.stdout is not None
            return server.stdout.readline().rpartition(" ")[2].strip()

        yield start
