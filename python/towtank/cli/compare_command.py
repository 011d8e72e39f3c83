"""`towtank compare`: two results, with intervals over runs and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from towtank.analysis import Compared
    from towtank.errors import ExitStatus

_RESULT = "results folder, `FOLDER:CONFIGURATION`, run folder, or result file of any tool that `towtank judge` reads"


def command(
    results: Annotated[
        list[str] | None, typer.Argument(metavar="[A B]", help=f"Two results; each a {_RESULT}.")
    ] = None,
    *,
    a: Annotated[list[str] | None, typer.Option("--a", help="A result of A, one run a file; repeat for more.")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", help="A result of B, one run a file; repeat for more.")] = None,
    threshold: Annotated[
        str, typer.Option(help="Smallest change that matters; a smaller one is never a regression.")
    ] = "2 %",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown, for the comment of a pull request.")] = False,
) -> int:
    """Compare two results. Status 7 if B is worse beyond chance and by the threshold, 4 if a side is not valid."""
    from towtank.analysis import compare, side_of  # noqa: PLC0415 - imports the analysis
    from towtank.cli.compare_sides import sides_of_command, threshold_of  # noqa: PLC0415
    from towtank.cli.compare_table import compare_markdown, compare_table  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    names = sides_of_command(results or [], a or [], b or [])
    share = threshold_of(threshold)
    compared = compare(side_of(names[0]), side_of(names[1]), share)
    if json:
        print_json(compared.document())
    elif markdown:
        print(compare_markdown(compared))
    else:
        for part in compare_table(compared):
            printer().print(part, markup=False, soft_wrap=isinstance(part, str))
    return _status(compared)


def _status(compared: Compared) -> ExitStatus:
    from towtank.errors import ExitStatus  # noqa: PLC0415

    if compared.is_invalid:
        return ExitStatus.INVALID_MEASUREMENT
    return ExitStatus.REGRESSION if compared.is_worse else ExitStatus.DONE
