"""The small study as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_study import Files, write_files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """The three files, written into a folder of the test."""
    return write_files(tmp_path)
