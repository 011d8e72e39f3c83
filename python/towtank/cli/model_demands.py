"""`towtank model demands`: estimates service demands from a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towtank.errors import ExitStatus, StudyError


def command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Results folder of a study.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the demands as JSON.")] = False,
) -> int:
    """Estimate the service demand at each resource, for the mean transaction and for each class of transactions, with
    confidence intervals.
    """
    from towtank.cli.fit_table import demand_lines  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.model import DemandsFile, demands_document, is_results  # noqa: PLC0415

    if not is_results(results):
        message = f"must be a results folder, got {str(results)!r} instead"
        raise StudyError.of_option("RESULTS", message)
    with contained() as parts:
        document = demands_document(results)
    print_failed(parts)
    configurations = DemandsFile.model_validate(document).configurations
    shown = any(not configuration.why_none for configuration in configurations)
    status = parts.status(ExitStatus.DONE if shown else ExitStatus.INVALID_MEASUREMENT)
    if json:
        print_json({**document, **failed_parts(parts)})
        return status
    for line in demand_lines(configurations):
        printer().print(line, markup=False) if isinstance(line, str) else printer().print(line)
    return status
