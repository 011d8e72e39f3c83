"""`towtank doctor SYSTEM|STUDY [--install]`: the servers that it needs, and their installation."""

from __future__ import annotations

from towtank.errors import ExitStatus

SCHEMA = "towtank/needs/1"


def tell_needs(text: str | None, *, json: bool, install: bool) -> int:
    """Tell what a system or a study needs of this machine, and install what is missing where that is asked for.

    Parameters
    ----------
    text : str or None
        System or study; None for all servers that Towtank knows.
    json : bool
        Whether one JSON document is printed.
    install : bool
        Whether what is missing is installed.

    Raises
    ------
    StudyError
        With every fault of the files.
    TargetError
        If it cannot be installed here.
    """
    from towtank.cli.doctor_command import table_of  # noqa: PLC0415
    from towtank.cli.output import console, print_json, printer  # noqa: PLC0415
    from towtank.system import packages  # noqa: PLC0415
    from towtank.system.offers import offer_of  # noqa: PLC0415

    everything: list[packages.Need] = [*packages.PACKAGES, *packages.DOWNLOADS]
    needed = everything if text is None else packages.needed(text)
    missing = [need for need in needed if need.found() is None]
    if install and missing:
        progress = console()

        def note(text: str) -> None:
            progress.print(text, soft_wrap=True, markup=False)

        if wanted := [need for need in missing if isinstance(need, packages.Package)]:
            note("installing " + ", ".join(f"{' '.join(need.names)} ({need.purpose})" for need in wanted))
        packages.install(missing, packages.run_quietly, note)
    offers = [offer_of(need) for need in needed]
    missing_names = [offer.name for offer in offers if offer.value is None]
    if json:
        checks = [offer.document() for offer in offers]
        print_json({"schema": SCHEMA, "ready": not missing_names, "missing": missing_names, "checks": checks})
    elif offers:
        printer().print(table_of(offers))
    else:
        printer().print("It needs no server beyond what comes with Towtank.")
    return ExitStatus.TARGET if missing_names else ExitStatus.DONE
