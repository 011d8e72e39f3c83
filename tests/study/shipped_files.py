"""Checks the study files that ship with Towtank after a test has changed their text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from towtank.errors import Fault
from towtank.filecheck import check_file


def reports(path: Path, text: str) -> Iterator[list[Fault]]:
    """Replace the text of a file. Yield the faults of the file itself, then the faults of the study in its folder."""
    written = path.read_text("utf-8")
    path.write_text(text, "utf-8")
    try:
        yield check_file(path).faults
        if path.name != "study.yaml" and (path.parent / "study.yaml").exists():
            yield check_file(path.parent / "study.yaml").faults
    finally:
        path.write_text(written, "utf-8")
