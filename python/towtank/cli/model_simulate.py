"""`towtank model simulate`: simulates queueing networks from model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.options import Changes, JsonOption, ModelArgument
from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.model import SimulatedOutcome, SimulationSettings


def command(
    file: ModelArgument,
    *,
    change: Changes = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Model file of an alternative to simulate with the same random numbers; prints the difference.",
        ),
    ] = None,
    compare_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUE",
            help=("Also simulate FILE with this value changed, for example stations.cpu.servers=8; repeatable."),
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Relative half-width of the confidence intervals at which the simulation stops.")
    ] = "1 %",
    confidence: Annotated[str, typer.Option(help="Confidence level of the intervals.")] = "95 %",
    replications: Annotated[int, typer.Option(help="Number of independent runs.")] = 10,
    events: Annotated[
        int, typer.Option(help="Largest number of simulated events of all runs together.")
    ] = 1_000_000_000,
    time: Annotated[
        str | None,
        typer.Option(
            help=(
                "Time limit of the computation, for example '30 s'. If it is reached, the result is not reproducible."
            )
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random generator.")] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Number of threads; does not change the result. Default: all processors.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Simulate a queueing network, also one that cannot be solved; print means, percentiles and confidence
    intervals.
    """
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.cli.simulate_table import comparison_table, simulate_table  # noqa: PLC0415
    from towtank.model import checked_simulation_settings  # noqa: PLC0415

    shares = {"--precision": precision, "--confidence": confidence}
    settings = checked_simulation_settings(
        shares, replications=replications, events=events, time=time, seed=seed, threads=threads
    )
    outcome = _simulate(file, change or [], compare, compare_set, settings)
    if json:
        keys = ("alternative", "comparison")
        further = [each.document() for each in (*outcome.answers[1:], *outcome.comparisons)]
        print_json({**outcome.answers[0].document(), **dict(zip(keys, further, strict=False))})
    else:
        parts = [part for answer in outcome.answers for part in simulate_table(answer)]
        for part in (*parts, *map(comparison_table, outcome.comparisons)):
            printer().print(part, markup=False)
    if not all(answer.steady for answer in outcome.answers):
        raise typer.Exit(int(ExitStatus.INVALID_MEASUREMENT))


def _simulate(
    file: str, change: list[str], compare: str | None, compare_set: list[str] | None, settings: SimulationSettings
) -> SimulatedOutcome:
    """Simulate the model and, if requested, the alternative model."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.model import simulate_variants  # noqa: PLC0415

    check = OptionCheck()
    wanted = [(file, check.pairs("--set", change))]
    if compare is not None or compare_set:
        wanted.append((compare or file, {**wanted[0][1], **check.pairs("--compare-set", compare_set)}))
    check.refuse_faults()
    return simulate_variants(wanted, settings)
