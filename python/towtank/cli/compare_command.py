"""`towtank compare`: compares two results, with confidence intervals over runs and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from towtank.analysis import Compared
    from towtank.cli.compare_sides import Selection
    from towtank.errors import ExitStatus

_RESULT = (
    "results folder, `FOLDER:CONFIGURATION` (label of a configuration, or a unique part of it), run folder, or result "
    "file that `towtank judge` reads"
)


def command(
    results: Annotated[
        list[str] | None, typer.Argument(metavar="[A B]", help=f"Two results; each a {_RESULT}.")
    ] = None,
    *,
    a: Annotated[list[str] | None, typer.Option("--a", help="Result file with a run of A; repeatable.")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", help="Result file with a run of B; repeatable.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Name of a baseline in .towtank/baselines, which replaces result A; --keep creates the baseline."
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Store the result as the new baseline instead of comparing it.")
    ] = False,
    threshold: Annotated[str, typer.Option(help="Smallest change that is reported as better or worse.")] = "2 %",
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a comment in a pull request.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a JUnit file with a test case for each metric.")
    ] = None,
) -> int:
    """Compare two results, A and B. The exit status is 7 if B is significantly worse by at least the threshold, and 4
    if A or B has no usable run.
    """
    from towtank.analysis import compare  # noqa: PLC0415 - imports the analysis
    from towtank.cli.compare_sides import Selection, threshold_of  # noqa: PLC0415
    from towtank.cli.compare_table import compare_markdown, compare_table  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    selection = Selection(tuple(results or ()), tuple(a or ()), tuple(b or ()), baseline)
    share = threshold_of(threshold)
    if keep:
        return _keep(selection, json)
    compared = compare(*selection.sides(), share)
    if junit is not None:
        from towtank.cli.compare_junit import write_junit  # noqa: PLC0415

        write_junit(compared, junit)
    if json:
        print_json(compared.document())
    elif markdown:
        print(compare_markdown(compared))
    else:
        for part in compare_table(compared):
            printer().print(part, markup=False)
    return _status(compared)


def _keep(selection: Selection, json: bool) -> ExitStatus:
    from towtank.cli.output import console, print_json  # noqa: PLC0415 - imports rich
    from towtank.errors import ExitStatus  # noqa: PLC0415
    from towtank.terminal import visible  # noqa: PLC0415

    kept = selection.kept()
    if json:
        print_json(kept.document())
    console().print(visible(str(kept)), markup=False, soft_wrap=True)
    return ExitStatus.INVALID_MEASUREMENT if kept.path is None else ExitStatus.DONE


def _status(compared: Compared) -> ExitStatus:
    from towtank.errors import ExitStatus  # noqa: PLC0415

    if compared.is_worse:
        return ExitStatus.REGRESSION
    return ExitStatus.INVALID_MEASUREMENT if compared.is_invalid else ExitStatus.DONE
