"""The results folder in the repository (format version 1), and copies of it for tests that change it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from towtank.results.folder import ResultsFolder

COMMITTED = Path(__file__).parent.parent / "data" / "results-1"
"""The folder in the repository, which tests only read."""

_COPIES = tempfile.TemporaryDirectory(prefix="results-1-")

RESULTS_1 = Path(shutil.copytree(COMMITTED, Path(_COPIES.name) / "results-1"))
"""A copy of it for this process: a command that opens a results folder writes the summaries that are out of date."""


def copy_of_results_1(folder: Path) -> ResultsFolder:
    """Copy the results folder of the repository without its summaries, so that every run is analysed again."""
    shutil.copytree(RESULTS_1, folder)
    for path in [*folder.glob("runs/*/summary.json"), folder / "study-summary.json"]:
        path.unlink(missing_ok=True)
    for run in folder.glob("runs/*"):
        (run / "logs").mkdir(exist_ok=True)
    return ResultsFolder.open(folder)


@pytest.fixture(scope="session")
def kept_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the capacity model of the results folder in the repository, stored as a report stores it.

    Fitting the model takes most of the time of a first report. So only the first worker that needs the model fits it,
    and all workers share the result.
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
    """Copy the results folder of the repository with its summaries and its capacity model, so that a report only reads
    them.
    """
    shutil.copytree(RESULTS_1, folder)
    return Path(shutil.copy(kept_model, folder)).parent
