"""Writes the report of a results folder, or of results that are already in memory."""

from __future__ import annotations

from pathlib import Path

from towtank.containment import contained
from towtank.errors import ReportError
from towtank.files import put_text
from towtank.report.source import Results, load_results
from towtank.results import ResultsFolder

REPORT_FILE = "report.html"


def write_report(results: ResultsFolder | Path, path: Path | None = None) -> Path:
    """Write the report of a results folder as one self-contained HTML file.

    Parameters
    ----------
    results : ResultsFolder or Path
        The results folder, complete or interrupted.
    path : Path, optional
        File to write; `report.html` in the results folder by default.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    StudyError
        If the folder is not a results folder.
    ReportError
        If the file cannot be written.
    """
    folder = results.path if isinstance(results, ResultsFolder) else results
    with contained():
        return write_loaded_report(load_results(folder), path or folder / REPORT_FILE, folder)


def write_loaded_report(results: Results, path: Path, folder: Path | None = None) -> Path:
    """Write the report of results that are already in memory, in one atomic step.

    Parameters
    ----------
    results : Results
        All data that the report shows.
    path : Path
        File to write.
    folder : Path, optional
        The results folder. It stores the pictures of the report, so that the next report need not draw them again.
    """
    from towtank.report.content import build_document  # noqa: PLC0415 - jinja2 and Vega are heavy
    from towtank.report.html import render  # noqa: PLC0415
    from towtank.report.pictures import PICTURES_FILE, Pictures  # noqa: PLC0415

    pictures = Pictures(None if folder is None else folder / PICTURES_FILE)
    with contained():
        page = render(build_document(results), pictures)
    pictures.keep()
    try:
        put_text(path, page, follow=folder is None or path.parent != folder)
    except OSError as error:
        raise ReportError.unwritten("the report could not be written", path, error) from error
    return path
