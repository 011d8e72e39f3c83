"""`towtank history`: sorts results folders by time, and finds lasting changes of each metric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folders: Annotated[
        list[Path], typer.Argument(help="Results folders, or folders that contain results folders at any depth.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the history as JSON, with all values.")] = False,
) -> int:
    """Find lasting changes of metrics over time, among results of the same study, configuration, load and machine."""
    from towtank.analysis import history_of  # noqa: PLC0415 - imports the analysis
    from towtank.cli.history_table import history_table  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415

    history = history_of(folders)
    if json:
        print_json(history.document())
    else:
        for part in history_table(history):
            printer().print(part, markup=False, soft_wrap=isinstance(part, str))
    return ExitStatus.DONE
