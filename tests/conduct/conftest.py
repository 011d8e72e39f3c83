"""Fixture of the tests of the conductor."""

import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of `tests/support/fake_engine.py`, which replaces the load engine during the test."""
    path = tmp_path / "towtank-engine"
    path.write_text(f"#!{sys.executable} -I\n" + (SUPPORT / "fake_engine.py").read_text())
    path.chmod(0o755)
    monkeypatch.setenv("TOWTANK_ENGINE", str(path))
    return path
