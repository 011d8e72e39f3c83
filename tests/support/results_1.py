"""The committed results folder of format version 1, and a copy that may be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

from towtank.results.folder import ResultsFolder

RESULTS_1 = Path(__file__).parent.parent / "data" / "results-1"


def copy_of_results_1(folder: Path) -> ResultsFolder:
    """A copy without the summaries, so that all is analysed anew."""
    shutil.copytree(RESULTS_1, folder)
    for path in [*folder.glob("runs/*/summary.json"), folder / "study-summary.json"]:
        path.unlink(missing_ok=True)
    for run in folder.glob("runs/*"):
        (run / "logs").mkdir(exist_ok=True)
    return ResultsFolder.open(folder)
