"""`towtank doctor`: what this machine offers, and the command that installs what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from rich.table import Table

    from towtank.observe.offers import Offer

SCHEMA = "towtank/doctor/1"
RESULTS = Path("results")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def command(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    results: Annotated[Path, typer.Option("--results", help="Where results are going to be written.")] = RESULTS,
) -> int:
    """Tell what this machine offers, and how to install what is missing."""
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.observe.host import host_facts  # noqa: PLC0415
    from towtank.observe.offers import examine  # noqa: PLC0415

    offers = examine(results)
    missing = [offer.name for offer in offers if offer.status == "missing"]
    if json:
        checks = [offer.document() for offer in offers]
        print_json({"schema": SCHEMA, "ready": not missing, "missing": missing, "checks": checks, "host": host_facts()})
    else:
        out = printer()
        out.print(_table(offers))
        out.print(f"Towtank cannot work here: {', '.join(missing)} missing." if missing else "Towtank can work here.")
    return ExitStatus.TARGET if missing else ExitStatus.DONE


def _table(offers: list[Offer]) -> Table:
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
    """Bytes for people, four digits."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_UNITS[-1]}"
