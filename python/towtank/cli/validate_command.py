"""`towtank validate`: checks files that users write, such as studies, workloads and systems."""

from __future__ import annotations

from typing import Annotated

import typer

from towtank.errors import ExitStatus


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
    """Check files such as studies, workloads, systems and models; a study is checked together with the files that it
    names.
    """
    import sys  # noqa: PLC0415

    from towtank.cli.output import print_json  # noqa: PLC0415
    from towtank.filecheck import check_file, named_file, report_document  # noqa: PLC0415
    from towtank.terminal import visible  # noqa: PLC0415

    reports = [check_file(named_file(name)) for name in files]
    faults = sorted({fault for report in reports for fault in report.faults})
    if json:
        print_json(report_document(reports))
    else:
        for report in reports:
            if not report.faults:
                print(f"{report.file}: ok ({report.kind})")
        for fault in faults:
            print(visible(str(fault)).replace("\n", "\\n"), file=sys.stderr)
    return ExitStatus.INPUT if faults else ExitStatus.DONE
