"""The results folder in the repository, which has format version 1, and copies of it for tests that change files."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from towtank.results.folder import ResultsFolder

COMMITTED = Path(__file__).parent.parent / "data" / "results-1"
"""The results folder in the repository, which tests do not change."""

_COPIES = tempfile.TemporaryDirectory(prefix="results-1-")

RESULTS_1 = Path(shutil.copytree(COMMITTED, Path(_COPIES.name) / "results-1"))
"""Copy of the results folder for this process. Commands that open it may write summaries that are out of date."""


def copy_of_results_1(folder: Path) -> ResultsFolder:
    """Copy the results folder without its summaries, so that every run is analysed again."""
    shutil.copytree(RESULTS_1, folder)
    for path in [*folder.glob("runs/*/summary.json"), folder / "study-summary.json"]:
        path.unlink(missing_ok=True)
    for run in folder.glob("runs/*"):
        (run / "logs").mkdir(exist_ok=True)
    return ResultsFolder.open(folder)


@pytest.fixture(scope="session")
def kept_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the capacity model that a report stores for the results folder.

    Fitting the model takes most of the time of a report. Therefore only the first pytest worker that needs the model
    fits it, and all workers share the file.
    """
    from towtank.report.source import MODEL_FILE, load_results  # noqa: PLC0415 - heavy, and not needed by most tests

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "kept-model"
    with (shared / "kept-model.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / MODEL_FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(RESULTS_1, folder)
            load_results(folder)
    return folder / MODEL_FILE


def copy_with_model(folder: Path, kept_model: Path) -> Path:
    """Copy the results folder with its summaries and its capacity model, so that a report need not compute them."""
    shutil.copytree(RESULTS_1, folder)
    return Path(shutil.copy(kept_model, folder)).parent
