"""Fixture with a stand-in engine for tests of the conductor; see `tests/support/fake_engine.py`."""

import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of the stand-in engine, which the test uses as the engine."""
    path = tmp_path / "towtank-engine"
    path.write_text(f"#!{sys.executable} -I\n" + (SUPPORT / "fake_engine.py").read_text())
    path.chmod(0o755)
    monkeypatch.setenv("TOWTANK_ENGINE", str(path))
    return path
