"""Fixtures: a running null server, and a tiny study of this server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_study import write_tiny_study

from towtank.engine import binary


@pytest.fixture
def address() -> Iterator[str]:
    """Address of a server that responds to every request immediately."""
    command = [str(binary()), "null-server", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().rpartition(" ")[2].strip()
        server.kill()


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of a study with two runs of one second each."""
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    return write_tiny_study(tmp_path)
