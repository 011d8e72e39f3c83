"""`towtank export`: writes results in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.options import MaySend, OptionCheck
from towtank.errors import ExitStatus, Fault, StudyError

if TYPE_CHECKING:
    from towtank.results import ExportFile, ExportFormat, ExportOptions, Material

_FORMATS = "csv, github, hlog, jtl, junit, markdown, openmetrics, otlp, parquet"


def command(
    results: Annotated[Path, typer.Argument(help="Results folder of a study, or the folder of one run.")],
    *,
    to: Annotated[str, typer.Option(help=f"Format: {_FORMATS}.")],
    out: Annotated[
        str | None, typer.Option(help="File or folder to write, or - for standard output; default: exports/.")
    ] = None,
    run: Annotated[
        list[str] | None, typer.Option(help="Name of a run to export; repeatable. Default: all runs.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(help="Also send the data to this URL, for example http://127.0.0.1:4318; with format otlp."),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="HTTP header for --endpoint, 'Name: value'; repeatable.")
    ] = None,
    i_may_send: MaySend = None,
    json: Annotated[bool, typer.Option("--json", help="Print a summary of the export as JSON.")] = False,
) -> int:
    """Write results in a format that other tools read."""
    import os  # noqa: PLC0415

    from towtank.containment import contained  # noqa: PLC0415
    from towtank.results import EXPORT_FORMATS, ExportOptions, find_format  # noqa: PLC0415

    check = OptionCheck()
    check.one_of("--to", to, EXPORT_FORMATS)
    options = ExportOptions(
        endpoint, check.headers(header), os.environ.get("GITHUB_STEP_SUMMARY"), tuple(i_may_send or ())
    )
    if out is not None and not out.strip():
        check.fault("--out", "must name a file or a folder, got '' instead")
    if json and out == "-":
        check.fault("--json", "must not be given with --out -: both write to standard output")
    check.refuse_faults()
    form = find_format(to)
    if faults := form.check(options):
        raise StudyError(faults)
    with contained() as parts:
        return parts.status(_export(form, _gathered(form, results, run or []), out, options, json=json))


def _gathered(form: ExportFormat, path: Path, wanted: list[str]) -> Material:
    """Collect the runs to export. If the format needs recordings, runs without recordings are left out, with a note."""
    from towtank.analysis import gather  # noqa: PLC0415

    material = gather(path, wanted)
    if not form.needs_records:
        return material
    empty = [run.name for run in material.runs if not run.recorded]
    material.runs = [run for run in material.runs if run.recorded]
    if not material.runs:
        message = f"must contain recorded intervals for --to {form.name}, got none in {', '.join(empty)}"
        raise StudyError([Fault(str(path), 0, 0, "", message)])
    material.notes += [f"{name}: left out, no interval was recorded" for name in empty]
    return material


def _export(
    form: ExportFormat, material: Material, out: str | None, options: ExportOptions, *, json: bool
) -> ExitStatus:
    from towtank.cli import export_files  # noqa: PLC0415
    from towtank.cli.output import console, failed_parts, print_json, printer  # noqa: PLC0415
    from towtank.containment import Failed, attempt_unknown, contained  # noqa: PLC0415

    files = form.files(material)
    delivered = {}
    if out == export_files.STANDARD_OUTPUT:
        paths = []
        export_files.print_file(_only(files, options, form))
    else:
        placed = zip(files, export_files.places(files, out, material.path), strict=True)
        made = {path: attempt_unknown(f"file {file.name}", export_files.write, file, path) for file, path in placed}
        paths = [path for path, outcome in made.items() if not isinstance(outcome, Failed)]
        delivered = dict(form.deliver(paths, options)) if len(paths) == len(made) else {}
    with contained() as parts:
        notes = [*material.warnings(), *(failed.sentence for failed in parts.failed)]
    for note in notes:
        console().print(f"note: {note}", markup=False, soft_wrap=True)
    if json:
        print_json(
            {
                "schema": "towtank/export/1",
                "format": form.name,
                "runs": [run.name for run in material.runs],
                "files": [str(path) for path in paths],
                **delivered,
                "notes": notes,
                **failed_parts(parts),
            }
        )
    else:
        for path in paths:
            printer().print(str(path), markup=False)
        for name, value in delivered.items():
            printer().print(f"{name.replace('_', ' ')}: {value}", markup=False)
    return ExitStatus.DONE


def _only(files: list[ExportFile], options: ExportOptions, form: ExportFormat) -> ExportFile:
    """Return the single file to write to standard output; raise an error if there are several files, or if the data are
    also sent to another program.
    """
    if len(files) > 1:
        message = f"must name a folder: there are {len(files)} files to write, got '-' instead"
        raise StudyError.of_option("--out", message)
    if form.name == "github" or options.endpoint is not None:
        raise StudyError.of_option("--out", "must name a file if the data are sent as well, got '-'")
    return files[0]
