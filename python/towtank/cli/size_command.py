"""`towtank size`: finds the cheapest hardware that serves a load and meets the objectives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.cli.options import OptionCheck

KEPT = "sizing.json"
_Texts = list[str] | None


def command(
    source: Annotated[Path, typer.Argument(metavar="MODEL|RESULTS", help="Model file, or results folder of a study.")],
    *,
    file: Annotated[
        Path | None,
        typer.Option("--for", help="Sizing file with load, objectives and hardware; options override its values."),
    ] = None,
    users: Annotated[
        _Texts, typer.Option(metavar="[CLASS=]N", help="Number of users to serve; repeatable, by class.")
    ] = None,
    rate: Annotated[
        _Texts,
        typer.Option(metavar="[CLASS=]RATE", help="Arrival rate to serve, for example '20 /s'; repeatable, by class."),
    ] = None,
    think: Annotated[
        _Texts,
        typer.Option(metavar="[CLASS=]TIME", help="Think time of users, for example '10 s'; repeatable, by class."),
    ] = None,
    mix: Annotated[
        _Texts,
        typer.Option(metavar="CLASS=SHARE", help="Share of a class in the load, for example web='30 %'; repeatable."),
    ] = None,
    objective: Annotated[
        _Texts, typer.Option(help="Objective to meet, for example 'p95 < 500 ms'; repeatable.")
    ] = None,
    utilization: Annotated[
        _Texts,
        typer.Option(
            metavar="[STATION=]SHARE", help="Highest allowed utilization, for example '70 %'; repeatable, by station."
        ),
    ] = None,
    peak: Annotated[float | None, typer.Option(help="Ratio of the peak load to the load in --users or --rate.")] = None,
    growth: Annotated[str | None, typer.Option(help="Growth rate of the load, for example '20 % / year'.")] = None,
    horizon: Annotated[
        str | None, typer.Option(help="Time for which the hardware must suffice, for example '3 years'.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            help=(
                "CSV file of past loads with columns date and users, or .json file of `towtank history --json`; the "
                "growth is estimated from it."
            )
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of the load over a day, with columns time (08:30) and load; each interval is sized."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Date of the specified load, for example 2026-01-31; default: today.")
    ] = None,
    headroom: Annotated[
        str | None, typer.Option(help="Spare load that the hardware must be able to serve, for example '20 %'.")
    ] = None,
    lose: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of nodes that any tier with several nodes may lose without missing an objective."
        ),
    ] = None,
    probability: Annotated[
        str | None, typer.Option(help="Lowest accepted probability that all objectives are met, for example '90 %'.")
    ] = None,
    cpus: Annotated[
        _Texts,
        typer.Option(
            metavar="TIER=N,N|N..N", help="Allowed numbers of CPUs per node, for example app=4,8; repeatable."
        ),
    ] = None,
    nodes: Annotated[
        _Texts,
        typer.Option(
            metavar="TIER=N,N|N..N", help="Allowed numbers of nodes, for example app=1..4; repeatable. Default: 1."
        ),
    ] = None,
    machine: Annotated[
        _Texts, typer.Option(help="Name of a machine type from which the sizing chooses; repeatable.")
    ] = None,
    machines: Annotated[list[Path] | None, typer.Option(help="File with further machine types; repeatable.")] = None,
    measured_on: Annotated[
        str | None, typer.Option(help="Name of the machine type on which the service demands were measured.")
    ] = None,
    uncertainty: Annotated[
        str | None, typer.Option(help="Relative standard deviation of the service demands, for example '10 %'.")
    ] = None,
    what_if: Annotated[
        _Texts, typer.Option(help="What-if change to evaluate, for example 'cpu x1.5'; repeatable.")
    ] = None,
    configuration: Annotated[
        str | None,
        typer.Option(help="Label of the configuration to size, or a part of it; only with a results folder."),
    ] = None,
    servers: Annotated[
        int | None, typer.Option(help="Number of servers at the bottleneck; only with a results folder.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help=(
                "Model to fit to a results folder: network (all resources) or curve; auto chooses the one "
                "that explains more."
            )
        ),
    ] = "auto",
    explain: Annotated[bool, typer.Option("--explain", help="Print every step of the calculation.")] = False,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Try every hardware candidate in order of cost, without skipping any.")
    ] = False,
    simulation: Annotated[
        bool, typer.Option(help="Compute percentiles that are close to their limits by simulation.")
    ] = True,
    beyond: Annotated[bool, typer.Option("--beyond", help="Allow predictions far beyond the measured loads.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the result in the results folder, so that the report includes it.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the sizing result as JSON.")] = False,
) -> int:
    """Find the cheapest hardware that serves a load and meets the objectives."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.results import write_json  # noqa: PLC0415
    from towtank.sizing import ModelChoice, SizingSettings, size_source  # noqa: PLC0415

    check = OptionCheck()
    _check_source(check, source, keep=keep)
    check.at_least_one("--servers", servers)
    check.one_of("--model", model, ("auto", "network", "curve"))
    if model == "network" and servers is not None:
        check.fault("--servers", f"must not be given with --model network, which uses the results, got {servers}")
    check.refuse_faults()
    options: dict[str, object] = {
        "load.users": users, "load.rate": rate, "load.think": think, "load.mix": mix, "load.peak": peak,
        "load.growth": growth, "load.horizon": horizon, "load.start": start,
        "load.history.csv": None if history is None else str(history.absolute()),
        "load.profile.csv": None if profile is None else str(profile.absolute()),
        "objectives": objective, "utilization_at_most": utilization, "headroom": headroom, "nodes_lost": lose,
        "probability": probability, "uncertainty": uncertainty, "cpus": cpus, "nodes": nodes, "machines": machine,
        "machine_files": [str(path.absolute()) for path in machines or ()], "measured_on": measured_on,
        "what_if": what_if,
    }  # fmt: skip
    with contained() as parts:
        choice, settings = ModelChoice(configuration, servers, model), SizingSettings(exhaustive, simulation, beyond)
        result = size_source(source, file, options, choice, settings)
    print_failed(parts)
    document = result.document() | failed_parts(parts)
    if keep:
        write_json(source / KEPT, document)
    if json:
        print_json(document)
    else:
        from towtank.cli.size_table import size_parts  # noqa: PLC0415

        for part in size_parts(result, explain=explain):
            printer().print(part, markup=False) if isinstance(part, str) else printer().print(part)
    return parts.status(ExitStatus.OBJECTIVE_MISSED if result.answer is None else ExitStatus.DONE)


def _check_source(check: OptionCheck, source: Path, *, keep: bool) -> None:
    from towtank.sizing import why_no_source  # noqa: PLC0415

    if message := why_no_source(source):
        check.fault("MODEL|RESULTS", message)
    if keep and not source.is_dir():
        check.fault("--keep", f"must be given with a results folder, got {str(source)!r}")
