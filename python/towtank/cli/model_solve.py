"""`towtank model solve`: solves queueing networks from model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.options import Changes, JsonOption, ModelArgument
from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.model import ModelPoint


def command(
    file: ModelArgument,
    *,
    change: Changes = None,
    users: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CLASS=]N,N,...",
            help="Solve the model for each of these numbers of users, for example web=50,100; repeatable.",
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=V,V,...",
            help="Solve the model for each of these values of the key PATH; if repeated, for all combinations.",
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="Solution method: auto, exact, bard-schweitzer or linearizer.")] = "auto",
    json: JsonOption = False,
) -> None:
    """Solve a queueing network: print throughput, response times and utilizations, with their bounds and the solution
    method."""
    from towtank import yamlfile  # noqa: PLC0415
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.cli.solve_points import points_of  # noqa: PLC0415
    from towtank.cli.solve_table import solve_table, sweep_table  # noqa: PLC0415
    from towtank.model import SOLVING_METHODS, solve_points  # noqa: PLC0415

    check = OptionCheck()
    check.one_of("--method", method, SOLVING_METHODS)
    check.refuse_faults()
    document = yamlfile.load(file)
    points = solve_points(document, points_of(document, change or [], users or [], sweep or []), method)
    if not (users or sweep):
        answer = points[0].answer_or_refuse()
        if json:
            print_json(answer.document())
            return
        for part in solve_table(answer):
            printer().print(part, markup=False)
        return
    if json:
        print_json({"schema": "towtank/solve-sweep/1", "points": [_entry(point) for point in points]})
    else:
        for part in sweep_table(points):
            printer().print(part, markup=False)
    if all(point.answer is None for point in points):
        raise typer.Exit(int(ExitStatus.INPUT))


def _entry(point: ModelPoint) -> dict[str, object]:
    """Return the JSON object of one variant of a model: the changed values, and either the solution or the faults."""
    faults = [{"where": fault.where, "message": fault.message} for fault in point.faults]
    return {"changes": point.changes, **({"faults": faults} if point.answer is None else point.answer.document())}
