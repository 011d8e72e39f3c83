from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_study import Files, write_files

ROOT = Path(__file__).parents[2]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """The three files of the small study (study, workload, system), in the folder of the test."""
    return write_files(tmp_path)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the study files that ship with Towtank."""
    folder = tmp_path_factory.mktemp("shipped")
    for name in ("examples", "studies"):
        shutil.copytree(ROOT / name, folder / name)
    return folder
