"""`towtank size`: finds hardware that carries a load within its objectives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.cli.options import OptionCheck

KEPT = "sizing.json"
_Texts = list[str] | None


def command(
    source: Annotated[Path, typer.Argument(metavar="MODEL|RESULTS", help="A model file, or a results folder.")],
    *,
    file: Annotated[Path | None, typer.Option("--for", help="A sizing file with the whole question.")] = None,
    users: Annotated[_Texts, typer.Option(metavar="[CLASS=]N", help="Users to carry; repeatable by class.")] = None,
    rate: Annotated[_Texts, typer.Option(metavar="[CLASS=]RATE", help="Arrivals to carry, as '20 /s'.")] = None,
    think: Annotated[_Texts, typer.Option(metavar="[CLASS=]TIME", help="Think time, as '10 s'.")] = None,
    mix: Annotated[
        _Texts, typer.Option(metavar="CLASS=SHARE", help="Share of a class in the load; repeatable.")
    ] = None,
    objective: Annotated[_Texts, typer.Option(help="Objective, as 'p95 < 500 ms'; repeatable.")] = None,
    utilization: Annotated[
        _Texts, typer.Option(metavar="[STATION=]SHARE", help="Highest utilization, as '70 %'.")
    ] = None,
    peak: Annotated[float | None, typer.Option(help="Load in the busiest time over the load given.")] = None,
    growth: Annotated[str | None, typer.Option(help="Growth, as '20 % / year'.")] = None,
    horizon: Annotated[str | None, typer.Option(help="Time for which the hardware must last, as '3 years'.")] = None,
    history: Annotated[
        Path | None, typer.Option(help="CSV with the columns date and users, in place of growth.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="Day of the load given, as 2026-01-31; today if none.")] = None,
    headroom: Annotated[str | None, typer.Option(help="Additional load that must be carried, as '20 %'.")] = None,
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
    configuration: Annotated[
        str | None, typer.Option(help="With results: part of the label of the configuration to size.")
    ] = None,
    servers: Annotated[int | None, typer.Option(help="With results: servers of the bottleneck.")] = None,
    model: Annotated[
        str, typer.Option(help="With results: network of resources, or curve; auto takes the one that explains more.")
    ] = "auto",
    explain: Annotated[bool, typer.Option("--explain", help="Show every step of the arithmetic.")] = False,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="Try every candidate in the order of cost.")] = False,
    simulation: Annotated[bool, typer.Option(help="Simulate percentiles near their limits.")] = True,
    beyond: Annotated[bool, typer.Option("--beyond", help="Answer far beyond the measurements.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="With results: keep the answer there, for the report.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> int:
    """Find the cheapest hardware that carries a load within its objectives, with every step shown."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.results.folder import write_json  # noqa: PLC0415
    from towtank.size.asking import size_source  # noqa: PLC0415
    from towtank.size.basis import ModelChoice  # noqa: PLC0415
    from towtank.size.sizing import SizingSettings  # noqa: PLC0415

    check = OptionCheck()
    _check_source(check, source, keep=keep)
    check.at_least_one("--servers", servers)
    check.one_of("--model", model, ("auto", "network", "curve"))
    if model == "network" and servers is not None:
        check.fault("--servers", f"must not be given with --model network, which takes it from results, got {servers}")
    check.refuse_faults()
    options: dict[str, Any] = {
        "load.users": users, "load.rate": rate, "load.think": think, "load.mix": mix, "load.peak": peak,
        "load.growth": growth, "load.horizon": horizon, "load.start": start,
        "load.history.csv": None if history is None else str(history.absolute()),
        "objectives": objective, "utilization_at_most": utilization, "headroom": headroom, "nodes_lost": lose,
        "probability": probability, "uncertainty": uncertainty, "cpus": cpus, "nodes": nodes, "machines": machine,
        "machine_files": [str(path.absolute()) for path in machines or ()], "measured_on": measured_on,
        "what_if": what_if,
    }  # fmt: skip
    with contained() as parts:
        choice, settings = ModelChoice(configuration, servers, model), SizingSettings(exhaustive, simulation, beyond)
        document = size_source(source, file, options, choice, settings)
    print_failed(parts)
    document |= failed_parts(parts)
    if keep:
        write_json(source / KEPT, document)
    _show(document, json=json, explain=explain)
    return parts.status(ExitStatus.DONE if document["answer"] is not None else ExitStatus.OBJECTIVE_MISSED)


def _check_source(check: OptionCheck, source: Path, *, keep: bool) -> None:
    from towtank.size.asking import why_no_source  # noqa: PLC0415

    if message := why_no_source(source):
        check.fault("MODEL|RESULTS", message)
    if keep and not source.is_dir():
        check.fault("--keep", f"must be given with a results folder, got {str(source)!r}")


def _show(document: dict[str, Any], *, json: bool, explain: bool) -> None:
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    from towtank.cli.size_table import size_parts  # noqa: PLC0415

    for part in size_parts(document, explain=explain):
        printer().print(part, markup=False) if isinstance(part, str) else printer().print(part)
