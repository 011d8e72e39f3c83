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

    needed = packages.PACKAGES if text is None else packages.needed(text)
    missing = [package for package in needed if package.found() is None]
    if install and missing:
        names = ", ".join(f"{' '.join(package.names)} ({package.purpose})" for package in missing)
        console().print(f"installing {names}", soft_wrap=True, markup=False)
        packages.install(missing, packages.run_quietly)
        missing = [package for package in needed if package.found() is None]
    offers = [offer_of(package) for package in needed]
    if json:
        checks = [offer.document() for offer in offers]
        print_json({"schema": SCHEMA, "ready": not missing, "missing": [one.kind for one in missing], "checks": checks})
    elif offers:
        printer().print(table_of(offers))
    else:
        printer().print("It needs no server beyond what comes with Towtank.")
    return ExitStatus.TARGET if missing else ExitStatus.DONE
