"""Fixture with a stand-in engine (`tests/support/fake_engine.py`) for tests of the conductor."""

import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-in engine, which replaces the real engine during the test; its path."""
    path = tmp_path / "towtank-engine"
    path.write_text(f"#!{sys.executable} -I\n" + (SUPPORT / "fake_engine.py").read_text())
    path.chmod(0o755)
    monkeypatch.setenv("TOWTANK_ENGINE", str(path))
    return path
