"""`towtank list`: what ships, one line each."""

from __future__ import annotations

from typing import Annotated

import typer

from towtank.errors import ExitStatus


def command(
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> int:
    """List studies, workloads, systems, kinds of services, observers, drivers and machines that ship."""
    from towtank.catalogue import catalogue  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    sections = catalogue()
    if json:
        print_json({"schema": "towtank/list/1", **sections})
        return ExitStatus.DONE
    console = printer()
    width = max(len(entry["name"]) for entries in sections.values() for entry in entries)
    for section, entries in sections.items():
        console.print(f"[bold]{section.replace('_', ' ')}[/bold]")
        for entry in entries:
            console.print(f"  {entry['name']:<{width}}  {entry['summary']}", markup=False)
    return ExitStatus.DONE
