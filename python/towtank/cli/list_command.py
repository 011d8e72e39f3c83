"""`towtank list`: lists what comes with Towtank, such as studies and systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towtank.digging import dig
from towtank.errors import ExitStatus

# Sections that list paths of files instead of names, because commands do not accept the names.
_FILES = ("workloads", "systems")


def command(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> int:
    """List the studies, workloads, systems, kinds of services, observers, drivers and machines that come with
    Towtank.
    """
    from towtank.catalogue import catalogue  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    sections = catalogue()
    if json:
        print_json({"schema": "towtank/list/1", **sections})
        return ExitStatus.DONE
    console = printer()
    rows = {section: [(_usable(section, entry), _about(entry)) for entry in of] for section, of in sections.items()}
    width = max(len(name) for of in rows.values() for name, _ in of)
    for section, of in rows.items():
        console.print(f"[bold]{section.replace('_', ' ')}[/bold]")
        for name, summary in of:
            console.print(f"  {name:<{width}}  {summary}", markup=False, soft_wrap=True)
    return ExitStatus.DONE


def _about(entry: dict[str, str]) -> str:
    """Return the summary of an entry; for a study, followed by the document on which the study is based."""
    summary, source = entry["summary"], dig(entry, "source")
    return f"{summary} ({source})" if source else summary


def _usable(section: str, entry: dict[str, str]) -> str:
    """Return the text by which commands accept an entry: its name, or the path of a workload or system."""
    if section not in _FILES:
        return entry["name"]
    path = Path(entry["file"])
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
