"""`towtank report`: writes the report of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    out: Annotated[Path | None, typer.Option(help="File to write; default: report.html in the results folder.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print headline and verdict of the report as JSON.")] = False,
) -> int:
    """Write the report of a results folder again, as one file that opens offline."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.digging import dig  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415
    from towtank.report import (  # noqa: PLC0415
        REPORT_FILE,
        headline,
        load_results,
        relaxed_limits_note,
        unchecked_note,
        verdict_level,
        write_loaded_report,
    )

    check = OptionCheck()
    check.target("--out", out)
    check.refuse_faults()
    with contained() as parts:
        found = load_results(results)
        path = write_loaded_report(found, out or results / REPORT_FILE, results)
    print_failed(parts)
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
    else:
        printer().print(headline(found), markup=False)
        remark = "".join(f"; {words}" for words in (relaxed_limits_note(found), unchecked_note(found)) if words)
        printer().print(f"verdict: {verdict_level(found)}{remark}\nreport: {path}", markup=False)
    if open_:
        _show(path)
    return parts.status(ExitStatus.INVALID_MEASUREMENT if verdict_level(found) == "invalid" else ExitStatus.DONE)


def _show(path: Path) -> None:
    """Open the report in the user's browser; print a message if no browser is found."""
    import webbrowser  # noqa: PLC0415

    from towtank.cli.output import console  # noqa: PLC0415

    if not webbrowser.open(path.resolve().as_uri()):
        console().print(f"no browser was found to open {path}", markup=False)
