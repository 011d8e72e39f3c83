"""Fixtures of the tests of systems."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patient_scrapers import patient_scrapers

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """Gives metrics scrapers a longer time limit for responses, in all tests of a module."""
    with patient_scrapers():
        yield


@pytest.fixture
def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of `tests/support/fake_engine.py`, which replaces the load engine during the test."""
    path = tmp_path / "towtank-engine"
    path.write_text(f"#!{sys.executable} -I\n" + (SUPPORT / "fake_engine.py").read_text())
    path.chmod(0o755)
    monkeypatch.setenv("TOWTANK_ENGINE", str(path))
    return path
