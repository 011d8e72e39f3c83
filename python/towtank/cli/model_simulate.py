"""`towtank model simulate`: discrete-event simulation of queueing networks from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from towtank.cli.options import Changes, Json, ModelArgument
from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.model import SimulationSettings


FITTED = (
    "the demands of this model were fitted to measurements: the intervals are those of the simulation only, and the "
    "error of the fit comes on top; `towtank model solve` gives intervals of the fit"
)


def command(
    file: ModelArgument,
    *,
    change: Changes = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="An alternative: its difference, from common random numbers."),
    ] = None,
    compare_set: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=VALUE", help="The alternative is FILE with this value; repeatable."),
    ] = None,
    precision: Annotated[str, typer.Option(help="Relative half-width at which to stop.")] = "1 %",
    confidence: Annotated[str, typer.Option(help="Level of the intervals.")] = "95 %",
    replications: Annotated[int, typer.Option(help="Independent runs.")] = 10,
    events: Annotated[int, typer.Option(help="Most events in all.")] = 1_000_000_000,
    time: Annotated[
        str | None, typer.Option(help="Longest time to simulate, as 30 s; when it ends the run is not repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 1,
    threads: Annotated[int | None, typer.Option(help="All processors if left out; the answer is the same.")] = None,
    json: Json = False,
) -> None:
    """Simulate a queueing network: what cannot be solved, with percentiles and confidence intervals."""
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.cli.simulate_table import comparison_table, simulate_table  # noqa: PLC0415

    shares = {"--precision": precision, "--confidence": confidence}
    settings = _settings(shares, replications=replications, events=events, time=time, seed=seed, threads=threads)
    outcome = _simulate(file, change or [], compare, compare_set, settings)
    answers = outcome["answers"]
    if json:
        comparison = {"alternative": answers[1], "comparison": outcome["comparisons"][0]} if len(answers) > 1 else {}
        print_json({**answers[0], **comparison})
    else:
        parts = [part for answer in answers for part in simulate_table(answer)]
        for part in [*parts, *(comparison_table(one) for one in outcome["comparisons"])]:
            printer().print(part, markup=False)
    if not all(answer["steady"] for answer in answers):
        raise typer.Exit(int(ExitStatus.INVALID_MEASUREMENT))


def _settings(
    ratios: dict[str, str], *, replications: int, events: int, time: str | None, seed: int, threads: int | None
) -> SimulationSettings:
    """The options, checked; all faults at once."""
    from towtank import units  # noqa: PLC0415
    from towtank.cli.options import Given  # noqa: PLC0415
    from towtank.model import SimulationSettings  # noqa: PLC0415

    given = Given()
    shares = []
    for option, text in ratios.items():
        try:
            value = units.share(text)
        except ValueError as error:
            given.fault(option, str(error))
            continue
        if not 0 < value < 1:
            given.fault(option, f"must be above 0 % and below 100 %, got {text!r} instead")
        shares.append(value)
    for option, count, least, most in (
        ("--replications", replications, 2, 10_000),
        ("--events", events, 1000, 10**13),
        ("--seed", seed, 0, 2**64 - 1),
        ("--threads", 1 if threads is None else threads, 1, 4096),
    ):
        if not least <= count <= most:
            given.fault(option, f"must be from {least} to {most}, got {count} instead")
    time_s = None if time is None else given.positive("--time", time)
    given.refuse_faults()
    return SimulationSettings(shares[0], shares[1], replications, events, time_s, seed, threads)


def _simulate(
    file: str, change: list[str], compare: str | None, compare_set: list[str] | None, settings: SimulationSettings
) -> dict[str, Any]:
    """Read the models and simulate them; faults are told at their places, those of both files at once."""
    from towtank.cli.options import Given  # noqa: PLC0415
    from towtank.errors import StudyError  # noqa: PLC0415
    from towtank.model import load_model, simulate_models  # noqa: PLC0415

    given = Given()
    wanted = [(file, given.pairs("--set", change))]
    if compare is not None or compare_set:
        wanted.append((compare or file, {**wanted[0][1], **given.pairs("--compare-set", compare_set)}))
    given.refuse_faults()
    problems, faults = [], []
    for path, changes in wanted:
        try:
            problems.append(load_model(path, changes))
        except StudyError as error:
            faults += error.faults
    if faults:
        raise StudyError(sorted(set(faults)))
    outcome = simulate_models([problem.document for problem in problems], settings)
    if "faults" in outcome:
        refused = outcome["faults"]
        told = [
            problem.faults([one for one in refused if one["model"] == place]) for place, problem in enumerate(problems)
        ]
        raise StudyError(sorted({fault for faults in told for fault in faults}))
    for problem, answer in zip(problems, outcome["answers"], strict=True):
        if problem.fitted is not None:
            answer["fitted"] = {"draws": 0}
            answer["warnings"].append(FITTED)
    return outcome
