"""`towtank doctor`: checks this machine, and prints the commands that install missing programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from rich.table import Table

    from towtank.observe import Offer

SCHEMA = "towtank/doctor/1"
RESULTS = Path("results")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def command(
    needs_of: Annotated[
        str | None, typer.Argument(metavar="[SYSTEM|STUDY]", help="Only check what this system or study needs.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the results of the checks as JSON.")] = False,
    results: Annotated[
        Path, typer.Option("--results", help="Folder where results will be stored; its disk is checked.")
    ] = RESULTS,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Measure how much load this machine can generate; takes less than a minute."),
    ] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="Only remove leftovers of systems whose Towtank process was killed.")
    ] = False,
    install: Annotated[
        bool,
        typer.Option("--install", help="Install the servers that SYSTEM or STUDY needs; prints their names first."),
    ] = False,
) -> int:
    """Check this machine: print which features of Towtank work here, and the commands that install missing programs."""
    if clean:
        return _clean(json)
    if needs_of is not None or install:
        from towtank.cli.doctor_install import print_needs  # noqa: PLC0415

        return print_needs(needs_of, json=json, install=install)
    from towtank.cli.envelope_table import envelope_parts  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.conduct import load_envelope  # noqa: PLC0415
    from towtank.observe import examine_machine, host_facts  # noqa: PLC0415
    from towtank.system import examine_hosts, examine_services  # noqa: PLC0415

    offers = [*examine_machine(results), *examine_hosts(), *examine_services()]
    missing = [offer.name for offer in offers if offer.status == "missing"]
    host = host_facts()
    envelope = _calibrated(missing) if calibrate else load_envelope(host.fingerprint)
    if json:
        checks = list(map(vars, offers))
        answer = {"schema": SCHEMA, "ready": not missing, "missing": missing, "checks": checks, "host": host.document()}
        print_json({**answer, "envelope": envelope})
    else:
        out = printer()
        out.print(table_of(offers))
        for part in envelope_parts(envelope):
            out.print(part)
        out.print(
            f"Towtank cannot run on this machine: {', '.join(missing)} missing."
            if missing
            else "Towtank can run on this machine."
        )
    return ExitStatus.TARGET if missing else ExitStatus.DONE


def _clean(json: bool) -> int:
    """Remove processes, control groups and files of systems whose Towtank process was killed, and print their names."""
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.system import clean_dead  # noqa: PLC0415

    cleaned, left = clean_dead()
    if json:
        print_json({"schema": "towtank/clean/1", "cleaned": cleaned, "left": left})
    else:
        out = printer()
        out.print(f"removed: {', '.join(cleaned)}" if cleaned else "no leftovers were found")
        for line in left:
            out.print(f"could not be removed: {line}", markup=False)
    return ExitStatus.TARGET if left else ExitStatus.DONE


def _calibrated(missing: list[str]) -> dict[str, object] | None:
    """Measure how much load this machine can generate, and store the result; return None if required software is
    missing.
    """
    from towtank.cli.output import console  # noqa: PLC0415
    from towtank.conduct import calibrate_here, save_envelope  # noqa: PLC0415

    if missing:
        return None
    progress = console()
    envelope = calibrate_here(lambda text: progress.print(f"calibrating: {text}"))
    progress.print(f"kept in {save_envelope(envelope)}", soft_wrap=True, markup=False)
    return envelope


def table_of(offers: list[Offer]) -> Table:
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "remark"):
        table.add_column(heading, overflow="fold")
    for offer in offers:
        remark = f"{offer.note}: {offer.install}" if offer.install else offer.note
        name = offer.name.removesuffix("_bytes").replace("_", " ")
        table.add_row(offer.status, name, escape(_shown(offer)), escape(remark))
    return table


def _shown(offer: Offer) -> str:
    if offer.value is None:
        return "-"
    if offer.name.endswith("_bytes") and isinstance(offer.value, int):
        return _size(offer.value)
    return str(offer.value)


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_UNITS[-1]}"
