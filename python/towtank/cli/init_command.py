"""`towtank init`: writes the three files of a first study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.study import Starter


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Folder for the files; created if missing.")
    ] = Path(),
    *,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of a running application, with the path of a page.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Command that starts the application, as typed in a shell.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Port that the command listens on; '${port}' in the command stands for a free port."
        ),
    ] = None,
    openapi: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="OpenAPI description of the application; GET operations with known parameter values become steps.",
        ),
    ] = None,
    har: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Recording of a browser session (HTTP Archive); its pages become steps."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print files, services, transactions and notes as JSON.")
    ] = False,
) -> int:
    """Write the three files of a first study: study.yaml, system.yaml and workload.yaml."""
    from towtank.cli.output import print_json  # noqa: PLC0415
    from towtank.study import StarterOptions, starter_of, write_starter  # noqa: PLC0415

    found = starter_of(StarterOptions(folder, url, command, port, openapi, har))
    write_starter(found)
    if json:
        print_json(_document(found))
    else:
        _print(found)
    return ExitStatus.DONE


def _document(found: Starter) -> dict[str, object]:
    return {
        "schema": "towtank/init/1",
        "folder": str(found.folder),
        "files": [str(found.folder / name) for name in found.texts],
        "services": found.services,
        "transactions": found.transactions,
        "notes": found.notes,
        "next": found.next_command,
    }


def _print(found: Starter) -> None:
    import sys  # noqa: PLC0415

    from towtank.terminal import visible  # noqa: PLC0415

    for line in found.notes:
        print(visible(line), file=sys.stderr)
    for name in found.texts:
        print(f"wrote {visible(str(found.folder / name))}")
    print(f"next: {visible(found.next_command)}")
