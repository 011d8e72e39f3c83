"""`towtank doctor SYSTEM|STUDY [--install]`: prints and installs the software that a system or study needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from towtank.errors import ExitStatus, Stopped

if TYPE_CHECKING:
    from towtank.system import Need

SCHEMA = "towtank/needs/1"


def print_needs(text: str | None, *, json: bool, install: bool) -> int:
    """Print the software that a system or a study needs on this machine, or all servers that Towtank supports; if
    `install` is set, install missing software.

    Raises
    ------
    StudyError
        If the system or study has faults.
    TargetError
        If missing software cannot be installed on this machine.
    Stopped
        If the user declines at the prompt on a terminal.
    """
    from towtank.cli.doctor_command import table_of  # noqa: PLC0415
    from towtank.cli.output import console, print_json, printer  # noqa: PLC0415
    from towtank.study import needed_packages  # noqa: PLC0415
    from towtank.system import debian, offer_of, packages  # noqa: PLC0415

    everything: list[packages.Need] = [*packages.PACKAGES, *packages.DOWNLOADS]
    needs = everything if text is None else needed_packages(text)
    missing = [need for need in needs if need.found() is None]
    if install and missing:
        progress = console()

        def note(text: str) -> None:
            progress.print(text, soft_wrap=True, markup=False)

        if lines := _intended(missing):
            for line in lines:
                note(line)
            if sys.stdin.isatty() and not typer.confirm("Install it?", err=True):
                raise Stopped("nothing was installed")
            packages.install(missing, debian.run_quietly, note)
    offers = [offer_of(need) for need in needs]
    missing_names = [offer.name for offer in offers if offer.value is None]
    if json:
        checks = list(map(vars, offers))
        print_json({"schema": SCHEMA, "ready": not missing_names, "missing": missing_names, "checks": checks})
    elif offers:
        printer().print(table_of(offers))
    else:
        printer().print("All required servers come with Towtank.")
    return ExitStatus.TARGET if missing_names else ExitStatus.DONE


def _intended(missing: list[Need]) -> list[str]:
    """Describe the planned installation, one line for each kind of software; empty if nothing can be installed."""
    from towtank.system import Download, Package, Release  # noqa: PLC0415

    lines = []
    if absent := [need for need in missing if isinstance(need, Package)]:
        lines.append("installing " + ", ".join(f"{' '.join(need.names)} ({need.purpose})" for need in absent))
        lines.append("  with apt-get; the servers among them are not started, neither now nor at the next boot")
    lines += [
        f"fetching {sum(file.size for file in need.missing) / 1e6:.0f} MB of files ({need.purpose})"
        for need in missing
        if isinstance(need, Download)
    ]
    lines += [f"unpacking {need.package} ({need.purpose})" for need in missing if isinstance(need, Release)]
    return lines
