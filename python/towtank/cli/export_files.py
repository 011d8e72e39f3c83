"""Writes export files atomically: after a crash, each file has its complete old or its complete new content."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from towtank.errors import ReportError, StudyError
from towtank.files import NotAFileError, put
from towtank.results import ExportFile

FOLDER = "exports"
STANDARD_OUTPUT = "-"


def places(files: Sequence[ExportFile], out: str | None, source: Path) -> list[Path]:
    """Return the path for each file of an export. `out` is a file if the export has one file, otherwise a folder; None
    for the folder `exports` in `source`.

    Raises
    ------
    StudyError
        If the export has several files and `out` is an existing file.
    """
    if out is None:
        return [source / FOLDER / file.name for file in files]
    path = Path(out)
    if len(files) == 1 and not path.is_dir() and not out.endswith("/"):
        return [path]
    if path.exists() and not path.is_dir():
        message = f"must name a folder: there are {len(files)} files to write, got the file {out!r} instead"
        raise StudyError.of_option("--out", message)
    return [path / file.name for file in files]


def write(file: ExportFile, path: Path) -> None:
    """Write one file of an export atomically.

    Raises
    ------
    ReportError
        If the file cannot be written.
    """
    try:
        put(path, file.write)
    except NotAFileError as error:
        raise StudyError.of_option("--out", f"{error.strerror}: {str(path)!r}") from error
    except OSError as error:
        raise ReportError.unwritten("the export could not be written", path, error) from error


def print_file(file: ExportFile) -> None:
    """Write one complete file to standard output."""
    with tempfile.TemporaryDirectory(prefix="towtank-export-") as folder:
        path = Path(folder) / "file"
        write(file, path)
        sys.stdout.flush()
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()
