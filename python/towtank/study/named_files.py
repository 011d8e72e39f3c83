"""Finds the files that workloads and systems name, and refuses files outside the folder of the study."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.errors import Fault, StudyError
from towtank.system import files_of_commands
from towtank.workload import references, templates
from towtank.yamlfile import where

if TYPE_CHECKING:
    from towtank.system import SystemFile
    from towtank.workload import Workload

PERMIT = "--trust"
"""Option that allows a study to name files outside its folder."""


@dataclass(frozen=True, order=True)
class NamedFile:
    """File or folder that a workload or system names.

    Attributes
    ----------
    path : Path
        Absolute path as named; symbolic links are not resolved.
    file : str
        Path of the workload or system file that names this file.
    key : str
        Dotted path of the key that names this file.
    leaves : bool
        True if servers receive, serve or run the content of the file. False for keys and certificates, and for the
        words of a command, because the command itself decides which files it reads.
    """

    path: Path
    file: str
    key: str
    leaves: bool = True


def files_of_study(workload: Workload, systems: Iterable[SystemFile], system_file: Path) -> list[NamedFile]:
    """Return the files named by a workload and by the systems of all its runs."""
    named = [*files_of_workload(workload)]
    for system in systems:
        named += files_of_system(system, system_file)
    return list(dict.fromkeys(named))


def files_of_workload(workload: Workload) -> Iterator[NamedFile]:
    """Yield the data files and request bodies that a workload names, except files that the system exports."""
    file, folder = str(workload.document.path), workload.folder
    for name, pool in workload.file.data.items():
        if pool.csv is not None and not templates.exports(pool.csv):
            yield NamedFile((folder / pool.csv).absolute(), file, where(("data", name, "csv")))
    for name, transaction in workload.file.transactions.items():
        for path, step in references.walk(transaction, ("transactions", name)):
            for placed in references.files(step):
                yield NamedFile((folder / placed.text).absolute(), file, where((*path, *placed.path)))


def files_of_system(system: SystemFile, path: Path) -> Iterator[NamedFile]:
    """Yield the files and folders that a system file names, such as scripts, served folders, certificates and
    programs.
    """
    folder = path.parent

    def named(text: str, *keys: str, leaves: bool = True) -> NamedFile:
        return NamedFile((folder / text).absolute(), str(path), where(keys), leaves)

    for name, service in system.services.items():
        settings, population = getattr(service, "settings", None), getattr(service, "population", None)
        given: dict[tuple[str, ...], object] = {
            ("population", "script"): getattr(population, "script", None),
            ("settings", "users"): getattr(settings, "users", None),
            **_served_or_filled(getattr(service, "files", None)),
            **{("exports", key): text for key, text in getattr(service, "exports", {}).items()},
        }
        for keys, text in given.items():
            if isinstance(text, str):
                yield named(text, "services", name, *keys)
        for word in files_of_commands(service, folder):
            yield named(str(word.path), "services", name, *word.key, leaves=False)
    for name, target in system.targets.items():
        for key in ("ca", "client_certificate", "client_key"):
            if (text := getattr(target.tls, key, None)) is not None:
                yield named(text, "targets", name, "tls", key, leaves=False)
    for name, host in system.hosts.items():
        for key in ("key", "known_hosts"):
            if (text := getattr(host, key, None)) is not None:
                yield named(str(Path(text).expanduser()), "hosts", name, key, leaves=False)


def has_paths_beside(system: SystemFile) -> bool:
    """Return True if a system file contains relative paths of folders, programs or pid files, which need not exist
    when the file is read.
    """
    watched = [each.pid_file for service in system.services.values() for each in getattr(service, "watch", None) or ()]
    paths = [path for path in watched if path is not None]
    for service in system.services.values():
        if service.kind == "command":
            programs = [command[0] for command in getattr(service, "commands", ()) if "/" in command[0]]
            paths += [getattr(service, "folder", None) or ".", *programs]
        elif "/" in (program := getattr(service, "program", None) or ""):
            paths.append(program)
    return any(not path.startswith(("/", "${data}", "${scratch}")) for path in paths)


def _served_or_filled(files: str | dict[str, str] | None) -> dict[tuple[str, ...], object]:
    """Return the file paths in the value of the key `files` of a service, each with the path of its key.

    The value of `files` is a folder to serve, or maps names to the templates of a program.
    """
    return {("files", name): text for name, text in files.items()} if isinstance(files, dict) else {("files",): files}


def leads_out(named: NamedFile, folder: Path) -> Path | None:
    """Return the resolved path of a named file if it lies outside the allowed folders; otherwise None.

    If the named file is a folder, the targets of all links in the folder are checked, too. Besides the folder of the
    study, the folder of the workload or system file that names the path is allowed, because studies may share a
    workload.
    """
    allowed = [folder.resolve(), Path(named.file).parent.resolve()]
    for path in (named.path, *_links_below(named.path)):
        found = path.resolve()
        if not any(found.is_relative_to(each) for each in allowed):
            return found
    return None


def _links_below(path: Path) -> Iterator[Path]:
    """Yield the symbolic links below a folder; file servers follow such links."""
    for place, folders, files in os.walk(path):
        yield from (link for name in (*folders, *files) if (link := Path(place, name)).is_symlink())


def refuse_named_outside(named: Iterable[NamedFile], folder: Path) -> None:
    """Refuse files whose content is sent to servers, unless they lie in the folder of the study, or of the file that
    names them.

    Raises
    ------
    StudyError
        Lists each refused file.
    """
    found = [(file, leads_out(file, folder)) for file in named if file.leaves]
    faults = [
        Fault(file.file, 0, 0, file.key, f"must be below the folder of its study, got {str(place)!r} instead")
        for file, place in found
        if place is not None
    ]
    if faults:
        hint = f"its content would be sent to servers; if you trust this study, add {PERMIT}"
        raise StudyError(faults, hint=hint)
