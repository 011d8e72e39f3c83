"""`towtank judge`: evaluates result files of any tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Result files of k6, JMeter, Locust, Gatling, hey, oha, vegeta, wrk2, fio or pgbench, or a CSV with "
            "the columns start_s and elapsed_ms; also compressed with gzip. The format is detected from the content."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> int:
    """Evaluate result files of any tool: print steady window, confidence intervals and doubts. The exit status is 4 if
    a file is not valid."""
    from towtank.analysis import judge_files  # noqa: PLC0415 - imports the analysis
    from towtank.cli.judge_table import judge_table  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415

    judgement = judge_files(files)
    if json:
        print_json(judgement.document())
    else:
        for part in judge_table(judgement):
            printer().print(part, markup=False, soft_wrap=isinstance(part, str))
    return ExitStatus.INVALID_MEASUREMENT if judgement.is_invalid else ExitStatus.DONE
