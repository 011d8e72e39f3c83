"""`towtank size`: what carries a load within its objectives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.cli.options import Given

KEPT = "sizing.json"
_Texts = list[str] | None


def command(
    source: Annotated[Path, typer.Argument(metavar="MODEL|RESULTS", help="A model file, or a results folder.")],
    *,
    file: Annotated[Path | None, typer.Option("--for", help="A sizing file: what is asked, in full.")] = None,
    users: Annotated[_Texts, typer.Option(metavar="[CLASS=]N", help="Users to carry; repeatable by class.")] = None,
    rate: Annotated[_Texts, typer.Option(metavar="[CLASS=]RATE", help="Arrivals to carry, as '20 /s'.")] = None,
    think: Annotated[_Texts, typer.Option(metavar="[CLASS=]TIME", help="Think time, as '10 s'.")] = None,
    mix: Annotated[
        _Texts, typer.Option(metavar="CLASS=SHARE", help="Share of a class in the load; repeatable.")
    ] = None,
    objective: Annotated[_Texts, typer.Option(help="What must hold, as 'p95 < 500 ms'; repeatable.")] = None,
    utilization: Annotated[
        _Texts, typer.Option(metavar="[STATION=]SHARE", help="Highest utilization, as '70 %'.")
    ] = None,
    peak: Annotated[float | None, typer.Option(help="Load in the busiest time over the load given.")] = None,
    growth: Annotated[str | None, typer.Option(help="Growth, as '20 % / year'.")] = None,
    horizon: Annotated[str | None, typer.Option(help="Until when it must be enough, as '3 years'.")] = None,
    history: Annotated[
        Path | None, typer.Option(help="CSV with the columns date and users, in place of growth.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="Day of the load given, as 2026-01-31; today if none.")] = None,
    headroom: Annotated[str | None, typer.Option(help="How much more must be carried, as '20 %'.")] = None,
    lose: Annotated[int | None, typer.Option(metavar="N", help="Nodes that any tier of several may lose.")] = None,
    probability: Annotated[str | None, typer.Option(help="With which all must hold, as '90 %'.")] = None,
    cpus: Annotated[_Texts, typer.Option(metavar="TIER=N,N|N..N", help="CPUs of a node to choose from.")] = None,
    nodes: Annotated[
        _Texts, typer.Option(metavar="TIER=N,N|N..N", help="Nodes to choose from; 1 if not given.")
    ] = None,
    machine: Annotated[_Texts, typer.Option(help="Machine that a node may be; repeatable.")] = None,
    machines: Annotated[list[Path] | None, typer.Option(help="File with machines of your own.")] = None,
    measured_on: Annotated[str | None, typer.Option(help="Machine that the demands come from.")] = None,
    uncertainty: Annotated[
        str | None, typer.Option(help="Relative standard deviation of the demands, as '10 %'.")
    ] = None,
    what_if: Annotated[_Texts, typer.Option(help="A change to the answer, as 'cpu x1.5'; repeatable.")] = None,
    configuration: Annotated[str | None, typer.Option(help="Of results: part of the label of the one to size.")] = None,
    servers: Annotated[int | None, typer.Option(help="Of results: servers of the bottleneck.")] = None,
    model: Annotated[
        str, typer.Option(help="Of results: network of resources, or curve; auto takes what tells more.")
    ] = "auto",
    explain: Annotated[bool, typer.Option("--explain", help="Show every step of the arithmetic.")] = False,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="Try every candidate in the order of cost.")] = False,
    simulation: Annotated[bool, typer.Option(help="Simulate percentiles near their limits.")] = True,
    beyond: Annotated[bool, typer.Option("--beyond", help="Answer far beyond what was measured.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Of results: keep the answer there, for the report.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> int:
    """Find the cheapest hardware that carries a load within its objectives, with every step shown."""
    from towtank.cli.options import Given  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.results.folder import write_json  # noqa: PLC0415

    given = Given()
    _check_source(given, source, keep=keep)
    given.at_least_one("--servers", servers)
    given.one_of("--model", model, ("auto", "network", "curve"))
    if model == "network" and servers is not None:
        given.fault("--servers", f"must not be given with --model network, which takes it from results, got {servers}")
    given.refuse_faults()
    options: dict[str, Any] = {
        "load.users": users, "load.rate": rate, "load.think": think, "load.mix": mix, "load.peak": peak,
        "load.growth": growth, "load.horizon": horizon, "load.start": start,
        "load.history.csv": None if history is None else str(history.absolute()),
        "objectives": objective, "utilization_at_most": utilization, "headroom": headroom, "nodes_lost": lose,
        "probability": probability, "uncertainty": uncertainty, "cpus": cpus, "nodes": nodes, "machines": machine,
        "machine_files": [str(one.absolute()) for one in machines or ()], "measured_on": measured_on,
        "what_if": what_if,
    }  # fmt: skip
    with contained() as parts:
        document = _sized(source, file, options, (configuration, servers, model), (exhaustive, simulation, beyond))
    print_failed(parts)
    document |= failed_parts(parts)
    if keep:
        write_json(source / KEPT, document)
    _show(document, json=json, explain=explain)
    return parts.status(ExitStatus.DONE if document["answer"] is not None else ExitStatus.OBJECTIVE_MISSED)


def _check_source(given: Given, source: Path, *, keep: bool) -> None:
    if not source.exists():
        given.fault(
            "MODEL|RESULTS", f"must be a model file or a results folder, got {str(source)!r}, which is not there"
        )
    if keep and not source.is_dir():
        given.fault("--keep", f"must be given with a results folder, got {str(source)!r}")


def _sized(
    source: Path,
    file: Path | None,
    options: dict[str, Any],
    of: tuple[str | None, int | None, str],
    how: tuple[bool, bool, bool],
) -> dict[str, Any]:
    from towtank.errors import StudyError  # noqa: PLC0415
    from towtank.size.basis import Wanted, load_basis  # noqa: PLC0415
    from towtank.size.reading import read_sizing  # noqa: PLC0415
    from towtank.size.sizing import Manner, size  # noqa: PLC0415

    checked = read_sizing(file, options)
    try:
        basis = load_basis(source, Wanted(*of))
    except StudyError as error:
        raise StudyError(sorted({*error.faults, *checked.faults}), hint=error.hint) from None
    return size(basis, checked, file.parent if file is not None else Path(), Manner(*how))


def _show(document: dict[str, Any], *, json: bool, explain: bool) -> None:
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    from towtank.cli.size_table import size_parts  # noqa: PLC0415

    for part in size_parts(document, explain=explain):
        printer().print(part, markup=False) if isinstance(part, str) else printer().print(part)
