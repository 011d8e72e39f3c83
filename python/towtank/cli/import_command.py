"""`towtank import`: creates a workload from another tool's recording, script, description or log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.workload import ImportResult

# Largest number of positions that are printed with each note; the JSON document contains all positions. [1]
_PLACES_SHOWN = 10


def command(
    form: Annotated[
        str, typer.Argument(metavar="FORMAT", help="Format of the file: har, jmx, k6, openapi, curl or accesslog.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to import.")],
    *,
    out: Annotated[Path | None, typer.Option(help="Workload file to write; default: standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="Import requests to this host; repeatable. Default: the main host, such as the host of the first page."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print targets, transactions and notes of the import as JSON.")
    ] = False,
) -> int:
    """Convert a file of another tool into a workload file, and report what could not be converted."""
    from towtank.cli.output import print_json  # noqa: PLC0415
    from towtank.importing import import_file  # noqa: PLC0415
    from towtank.workload import import_document  # noqa: PLC0415

    imported = import_file(form, file, out, host or (), force=force)
    if json:
        print_json(import_document(imported, str(out) if out is not None else None))
    elif out is None:
        print(imported.text, end="")
    print_notes(imported, out)
    return ExitStatus.DONE


def print_notes(
    imported: ImportResult, out: Path | None, *, places: int = _PLACES_SHOWN, addresses: bool = False
) -> None:
    """Print the notes on an imported file, with at most `places` positions each, and the next command for the user, on
    standard error. If `addresses` is set, the command contains the addresses of the imported requests, instead of
    HOST:PORT.
    """
    import sys  # noqa: PLC0415

    from towtank.terminal import visible  # noqa: PLC0415
    from towtank.workload import import_note_lines  # noqa: PLC0415

    draft = imported.draft
    for note in draft.notes.sorted():
        for line in import_note_lines(draft.source, note, places):
            print(visible(line), file=sys.stderr)
    for line in draft.findings.get("summary", []):
        print(visible(line), file=sys.stderr)
    if out is not None:
        goals = {name: address.removeprefix("http://") for name, address in draft.targets.items()}
        named = [f"--address {name}={goals[name] if addresses else 'HOST:PORT'}" for name in goals]
        targets = " ".join(named or ["--address HOST:PORT"])
        line = f"{out}: {len(draft.transactions)} transactions. Try: towtank drive {out} {targets}"
        print(visible(line), file=sys.stderr)
