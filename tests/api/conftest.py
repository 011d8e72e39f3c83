"""Fixtures: a server that receives load, and a tiny study of this server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_study import write_tiny_study

from towtank.engine import binary


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of a server that responds to every request."""
    command = [str(binary()), "null-server", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().rpartition(" ")[2].strip()
        server.kill()


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a study of two runs of one second each; return its path."""
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    return write_tiny_study(tmp_path)
