"""`towtank system up|status|down`: starts, shows and stops systems under test without a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

group = typer.Typer(help="Start or stop a system under test without a study.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print the state of the system as JSON.")]
_Quiet = Annotated[bool, typer.Option(help="Hide progress output.")]


@group.command("up")
def up(
    system: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|SYSTEM", help="Study or system file, or name of a study that comes with Towtank."
        ),
    ],
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow the system to serve and run files from outside its folder.")
    ] = False,
    json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """Start a system, which keeps running after this command has ended."""
    from towtank.cli.output import console, print_json, printer  # noqa: PLC0415
    from towtank.secrets import redacted  # noqa: PLC0415
    from towtank.study import find_system, refuse_files_outside  # noqa: PLC0415
    from towtank.system import bring_up  # noqa: PLC0415

    name, path = find_system(system)
    if not trust:
        refuse_files_outside(system, path)
    progress = console(quiet=quiet)
    with progress.status(f"bringing {name} up"):
        state = bring_up(name, path, progress.print)
    if json:
        print_json(redacted(state))
        return
    for text in _lines(state):
        printer().print(text, markup=False)


@group.command("status")
def status(json: _Json = False) -> None:
    """Show the started systems, and whether their processes still run."""
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.secrets import redacted  # noqa: PLC0415
    from towtank.system import describe_system, system_states  # noqa: PLC0415

    systems = [describe_system(state) for state in system_states()]
    if json:
        print_json({"schema": "towtank/system-status/1", "systems": redacted(systems)})
        return
    for system in systems:
        for text in _lines(system):
            printer().print(text, markup=False)
    if not systems:
        printer().print("no system is up")


@group.command("down")
def down(
    system: Annotated[
        str | None, typer.Argument(metavar="STUDY|SYSTEM", help="System to stop; default: all running systems.")
    ] = None,
    *,
    json: _Json = False,
) -> None:
    """Stop one system or all systems, and clean up after systems whose Towtank process was killed. It is no error if no
    system runs.
    """
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.study import find_system  # noqa: PLC0415
    from towtank.system import take_down  # noqa: PLC0415

    name = None if system is None else find_system(system)[0]
    names = take_down(only=name)
    if json:
        print_json({"schema": "towtank/system-down/1", "down": names})
        return
    nothing = "no system is up" if name is None else f"{name} is not up"
    printer().print(f"down: {', '.join(names)}" if names else nothing, markup=False)


def _lines(state: dict[str, Any]) -> list[str]:
    """Render the state of a system: status, processes, addresses and logs."""
    from towtank.secrets import redacted_text  # noqa: PLC0415

    lines = [f"{state['name']}: {state.get('status', 'unknown')}"]
    for tier, process in state.get("processes", {}).items():
        running = "" if process.get("running", True) else " (not running)"
        lines.append(f"  {tier}: {process['kind']}, pid {process['pid']}{running}")
    for service, addresses in state.get("urls", {}).items():
        lines.append(f"  {service} answers at {', '.join(map(redacted_text, addresses))}")
    if state.get("logs"):
        lines.append(f"  logs in {Path(state['logs'])}")
    return lines
