"""`towtank validate`: checks studies, workloads, systems, models and other files of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.filecheck import FileReport


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help=(
                "Files to check: studies, workloads, systems, models, machines, sizings, rules, sheets, "
                "browser scripts."
            ),
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the checked files and their faults as JSON.")] = False,
) -> int:
    """Check study, workload, system, model, machine and sizing files; a study is checked together with the files that
    it names.
    """
    import sys  # noqa: PLC0415

    from towtank.cli.output import print_json  # noqa: PLC0415
    from towtank.filecheck import check_file  # noqa: PLC0415
    from towtank.terminal import visible  # noqa: PLC0415

    reports = [check_file(_path_of(name)) for name in files]
    faults = sorted({fault for report in reports for fault in report.faults})
    if json:
        print_json(_document(reports))
    else:
        for report in reports:
            if not report.faults:
                print(f"{report.file}: ok ({report.kind})")
        for fault in faults:
            print(visible(str(fault)).replace("\n", "\\n"), file=sys.stderr)
    return ExitStatus.INPUT if faults else ExitStatus.DONE


def _path_of(name: str) -> str:
    """Return the path of a file; for the name of a shipped study, return the path of the study."""
    from pathlib import Path  # noqa: PLC0415

    from towtank.study import find_shipped  # noqa: PLC0415

    shipped = find_shipped(name) if not Path(name).exists() else None
    return str(shipped) if shipped is not None else name


def _document(reports: list[FileReport]) -> dict[str, Any]:
    faults = sorted({fault for report in reports for fault in report.faults})
    return {
        "schema": "towtank/validate/1",
        "valid": not faults,
        "files": [{"file": report.file, "kind": report.kind, "valid": not report.faults} for report in reports],
        "faults": [
            {
                "file": fault.file,
                "line": fault.line,
                "column": fault.column,
                "where": fault.where,
                "message": fault.message,
            }
            for fault in faults
        ],
    }
