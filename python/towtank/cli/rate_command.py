"""`towtank rate`: rates this machine in capacity units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.cli.options import OptionCheck
    from towtank.sizing import Machine, RatedMachine, RatingTurn


def command(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure for about 20 seconds instead of three minutes.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Machine file to write, for use with `towtank size`.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the machine in the machine file; default: the host name.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Machine to compare with: a name from `towtank list`, or a machine file.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Folder on the disk that the disk kernels measure; default: the current folder.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing machine file.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the rating as JSON.")] = False,
    quiet: Annotated[bool, typer.Option(help="Hide progress output.")] = False,
) -> int:
    """Rate this machine in capacity units, by a fixed set of benchmark kernels."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.cli.rate_table import rate_lines  # noqa: PLC0415
    from towtank.sizing import MachineComparison, check_machine_name, document_of_rating, machine_name  # noqa: PLC0415

    check = OptionCheck()
    check.new_file("--out", out, force=force)
    if name is not None:
        check.form("--name", name, check_machine_name)
    other = _other(check, against)
    check.refuse_faults()
    rated = _rate(folder, quick=quick, quiet=quiet)
    compared = None if other is None else MachineComparison.of(rated, other)
    name = name or machine_name(rated.facts)
    # The rating took minutes, so it is printed before writing the file, which can fail.
    if json:
        print_json(document_of_rating(rated, compared))
    else:
        for line in rate_lines(rated, compared):
            printer().print(line)
    if out is not None:
        _write(out, rated, name)
        if not json:
            print(f"written to {out} as {name}")
    return ExitStatus.INVALID_MEASUREMENT if rated.invalid_because else ExitStatus.DONE


def _other(check: OptionCheck, against: str | None) -> Machine | None:
    """Return the machine of `--against`, from a machine file or by its name in the catalogue; None if the option is not
    used.
    """
    from towtank.sizing import load_machines, machine_catalogue  # noqa: PLC0415
    from towtank.spelling import did_you_mean  # noqa: PLC0415

    if against is None:
        return None
    if Path(against).is_file():
        machines = load_machines(against)
        if len(machines) > 1:
            check.fault("--against", f"must be a file of one machine, got {len(machines)}: {', '.join(machines)}")
        return next(iter(machines.values()))
    machines = machine_catalogue()
    if against not in machines:
        near = did_you_mean(against, list(machines))
        check.fault(
            "--against", f"must be a machine file or a machine of `towtank list`, got {against!r} instead{near}"
        )
    return machines.get(against)


def _rate(folder: Path, *, quick: bool, quiet: bool) -> RatedMachine:
    from towtank.conduct import FULL_RATING, QUICK_RATING, StopRequest, rate_machine  # noqa: PLC0415

    with _progress(quiet=quiet) as progress, StopRequest() as stop:
        return rate_machine(folder, QUICK_RATING if quick else FULL_RATING, progress, stop)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[RatingTurn, int], None]]:
    """Show a progress bar on standard error; yield a function that advances the bar."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    from towtank.cli.output import console  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    screen = console(quiet=quiet)
    # If the output is not a terminal, the bar would leave a blank line.
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        task = bar.add_task("rating", total=None)

        def show(turn: RatingTurn, total: int) -> None:
            text = f"round {turn.round + 1}, {turn.kernel}"
            bar.update(task, description=f"{text:<32}", total=total, advance=1)

        yield show


def _write(out: Path, rated: RatedMachine, name: str) -> None:
    from towtank.errors import ReportError  # noqa: PLC0415
    from towtank.files import put_text  # noqa: PLC0415
    from towtank.sizing import machine_text  # noqa: PLC0415

    try:
        put_text(out, machine_text(rated, name))
    except OSError as error:
        raise ReportError.unwritten("the machine file could not be written", out, error) from None
