"""`towtank report`: writes the report of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from towtank.containment import Parts
    from towtank.report import Results

# Suffixes of files of the two formats.
_PAGES, _PAPERS = (".html", ".htm"), (".pdf",)


def command(
    results: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; default: report.html, report.pdf or brief.pdf in the results folder."),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write the report as PDF, for paper and archives.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="With --pdf: only one page with question, answer, figure and verdict.")
    ] = False,
    paper: Annotated[str | None, typer.Option(help="With --pdf: size of the paper, a4 (default) or letter.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print headline and verdict of the report as JSON.")] = False,
) -> int:
    """Write the report of a results folder as one self-contained HTML file or as PDF."""
    from towtank.cli.output import print_failed  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415
    from towtank.report import load_results, verdict_level  # noqa: PLC0415

    _check(out, paper, pdf=pdf, brief=brief)
    with contained() as parts:
        found = load_results(results)
        path = _write(found, results, out, paper, pdf=pdf, brief=brief)
    print_failed(parts)
    _print(found, path, parts, json=json)
    if open_:
        _show(path)
    return parts.status(ExitStatus.INVALID_MEASUREMENT if verdict_level(found) == "invalid" else ExitStatus.DONE)


def _check(out: Path | None, paper: str | None, *, pdf: bool, brief: bool) -> None:
    """Raise an error that lists all contradictory options, or if the package that writes PDF is missing."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.report import PAPERS, refuse_without_typst  # noqa: PLC0415

    check = OptionCheck()
    check.target("--out", out)
    if out is not None and out.suffix.lower() in (_PAGES if pdf else _PAPERS):
        asked = "be a PDF file, or --pdf be left out" if pdf else "be an HTML file, or --pdf be given"
        check.fault("--out", f"must {asked}, got {str(out)!r} instead")
    if brief and not pdf:
        check.fault("--brief", "must be given with --pdf only: the first screen of the HTML report is its brief")
    if paper is not None:
        check.one_of("--paper", paper, PAPERS)
        if not pdf:
            check.fault("--paper", "must be given with --pdf only: the HTML report is printed on any paper")
    check.refuse_faults()
    if pdf:
        refuse_without_typst()


def _write(found: Results, folder: Path, out: Path | None, paper: str | None, *, pdf: bool, brief: bool) -> Path:
    from towtank.report import (  # noqa: PLC0415
        BRIEF_FILE,
        PAPERS,
        PDF_FILE,
        REPORT_FILE,
        write_loaded_pdf,
        write_loaded_report,
    )

    if not pdf:
        return write_loaded_report(found, out or folder / REPORT_FILE, folder)
    path = out or folder / (BRIEF_FILE if brief else PDF_FILE)
    return write_loaded_pdf(found, path, folder, paper=paper or PAPERS[0], only_brief=brief)


def _print(found: Results, path: Path, parts: Parts, *, json: bool) -> None:
    from towtank.cli.output import failed_parts, print_json, printer  # noqa: PLC0415
    from towtank.digging import dig  # noqa: PLC0415
    from towtank.report import headline, relaxed_limits_note, unchecked_note, verdict_level  # noqa: PLC0415

    if json:
        document = {
            "schema": "towtank/report/1",
            "report": str(path),
            "headline": headline(found),
            "verdict": verdict_level(found),
            "not_checked": dig(found.summary, "verdict", "not_checked"),
            "relaxed_limits": dig(found.summary, "verdict", "relaxed_limits"),
            **failed_parts(parts),
        }
        print_json(document)
        return
    printer().print(headline(found), markup=False)
    remark = "".join(f"; {words}" for words in (relaxed_limits_note(found), unchecked_note(found)) if words)
    printer().print(f"verdict: {verdict_level(found)}{remark}\nreport: {path}", markup=False)


def _show(path: Path) -> None:
    """Open the report in the user's browser; print a message if no browser is found."""
    import webbrowser  # noqa: PLC0415

    from towtank.cli.output import console  # noqa: PLC0415

    if not webbrowser.open(path.resolve().as_uri()):
        console().print(f"no browser was found to open {path}", markup=False)
