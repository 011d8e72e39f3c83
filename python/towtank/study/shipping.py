"""Finds the studies that come with Towtank, by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

STUDY_FILE = "study.yaml"


def shipped_folders() -> list[Path]:
    """Return the existing folders of studies that come with Towtank, in the order in which they are searched."""
    named = os.environ.get("TOWTANK_STUDIES")
    checkout = Path(__file__).resolve().parents[3] / "studies"
    installed = Path(sys.prefix) / "share" / "towtank" / "studies"
    return [folder for folder in ([Path(named)] if named else [checkout, installed]) if folder.is_dir()]


def shipped_studies() -> dict[str, Path]:
    """Return the study files of all studies that come with Towtank, by name."""
    found: dict[str, Path] = {}
    for folder in shipped_folders():
        for file in sorted(folder.glob(f"*/{STUDY_FILE}")):
            found.setdefault(file.parent.name, file)
    return found


def find_shipped(name: str) -> Path | None:
    """Return the study file of a study that comes with Towtank; None if no such study has this name."""
    return shipped_studies().get(name)
