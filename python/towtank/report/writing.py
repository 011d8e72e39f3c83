"""Writes the report of a results folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from towtank.containment import contained
from towtank.errors import ReportError
from towtank.files import put, put_text
from towtank.report.source import Results, load_results
from towtank.results import ResultsFolder

if TYPE_CHECKING:
    from towtank.report.document import Document
    from towtank.report.pictures import Pictures

REPORT_FILE = "report.html"
PDF_FILE, BRIEF_FILE = "report.pdf", "brief.pdf"
_T = TypeVar("_T")


def write_report(results: ResultsFolder | Path, path: Path | None = None) -> Path:
    """Write the report of a results folder as one self-contained HTML file.

    Parameters
    ----------
    results : ResultsFolder or Path
        Results folder of a complete or interrupted study.
    path : Path, optional
        File to write; default: `report.html` in the results folder.

    Returns
    -------
    Path
        Path of the report.

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
    """Write the report of results that have been read already; the file is replaced atomically, and drawings are cached
    in the results folder, if it is given.
    """
    from towtank.report.html import render  # noqa: PLC0415 - jinja2 and Vega are heavy

    page = _made(results, folder, render)
    _put(lambda: put_text(path, page, follow=_is_elsewhere(path, folder)), path)
    return path


def write_loaded_pdf(
    results: Results, path: Path, folder: Path | None = None, *, paper: str = "a4", only_brief: bool = False
) -> Path:
    """Write the report of results that have been read already as PDF, on paper `a4` or `letter`; the file is replaced
    atomically, and drawings are cached in the results folder, if it is given.

    With `only_brief`, write only one page, with question, answer, main figure, summary of the results, and verdict.

    Raises
    ------
    ReportError
        If Typst is not installed or refuses the document, or if the file cannot be written.
    """
    from towtank.report.paper import brief, to_pdf  # noqa: PLC0415 - Vega and Typst are heavy

    def write(document: Document, pictures: Pictures) -> bytes:
        return to_pdf(brief(document) if only_brief else document, pictures, paper=paper, one_page=only_brief)

    made = _made(results, folder, write)
    _put(lambda: put(path, lambda place: place.write_bytes(made), follow=_is_elsewhere(path, folder)), path)
    return path


def _made(results: Results, folder: Path | None, write: Callable[[Document, Pictures], _T]) -> _T:
    """Build the document of results, and render it by `write`."""
    from towtank.report.content import build_document  # noqa: PLC0415 - heavy
    from towtank.report.pictures import PICTURES_FILE, Pictures  # noqa: PLC0415

    pictures = Pictures(None if folder is None else folder / PICTURES_FILE)
    with contained():
        made = write(build_document(results), pictures)
    pictures.keep()
    return made


def _is_elsewhere(path: Path, folder: Path | None) -> bool:
    return folder is None or path.parent != folder


def _put(write: Callable[[], object], path: Path) -> None:
    try:
        write()
    except OSError as error:
        raise ReportError.unwritten("the report could not be written", path, error) from error
