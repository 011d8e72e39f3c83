"""`towtank diagnose`: finds what limits the system in a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[Path, typer.Argument(help="Results folder of `towtank run` or `towtank drive --out`.")],
    configuration: Annotated[
        str | None, typer.Option(help="Label of the configuration to show; default: all configurations.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the diagnosis as JSON.")] = False,
) -> int:
    """Show what limits the system, with the evidence for and against each possible cause, and measurements that would
    decide between them.
    """
    from towtank.analysis import diagnoses_of  # noqa: PLC0415 - imports the analysis
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415
    from towtank.terminal import visible  # noqa: PLC0415

    found = diagnoses_of(results)
    if configuration is not None:
        found = found.only(configuration)
    if json:
        print_json(found.document())
        return ExitStatus.DONE
    for label, diagnosis in found.by_label.items():
        heading = f"{label}: " if len(found.by_label) > 1 else ""
        printer().print(visible(f"{heading}{diagnosis}"), markup=False, soft_wrap=True)
    return ExitStatus.DONE
