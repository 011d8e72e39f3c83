"""Finds the system file that a command-line argument names, directly or through a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from towtank import yamlfile
from towtank.study.loading import load_study, study_path
from towtank.study.named_files import files_of_system, refuse_named_outside
from towtank.system import SystemFile, load_system

if TYPE_CHECKING:
    from towtank.system import Need


def find_system(text: str) -> tuple[str, Path]:
    """Find and check the system file that an argument names: a system file, a study file, a folder with a study, or the
    name of a study that comes with Towtank. Return the name of the system and the path of the file.

    Raises
    ------
    StudyError
        If a file has faults; the error lists all of them.
    """
    path = study_path(text)
    if path.is_file() and "services" in _keys(path):
        return load_system(path).name, path.absolute()
    study = load_study(path)
    return study.system.name, study.system_document.path.absolute()


def refuse_files_outside(text: str, path: Path) -> None:
    """Refuse a system that names files outside the folders of the system file and of the study, because Towtank would
    serve or run these files. The arguments are those of `find_system` and its result.

    Raises
    ------
    StudyError
        Contains a fault for each file outside these folders.
    """
    refuse_named_outside(files_of_system(load_system(path), path), study_path(text).parent)


def systems_of(text: str) -> list[tuple[SystemFile, Path]]:
    """Return all systems of a study or a system file (see `find_system`), each with the folder of its file.

    A study has one system for each combination of factor levels, with and without each preset.

    Raises
    ------
    StudyError
        If a file has faults; the error lists all of them.
    """
    path = study_path(text)
    if path.is_file() and "services" in _keys(path):
        return [(load_system(path), path.parent)]
    study = load_study(path)
    systems: dict[str, tuple[SystemFile, Path]] = {}
    for variant in (study, *(load_study(path, preset) for preset in study.presets)):
        levels = {tuple(run.factors.items()): run for run in variant.design()}
        for run in levels.values():
            system = run.system
            systems.setdefault(system.model_dump_json(), (system, variant.system_folder))
    return list(systems.values())


def needed_packages(text: str) -> list[Need]:
    """Return the packages and files that a system needs, or that all systems of a study need.

    Raises
    ------
    StudyError
        If a file has faults; the error lists all of them.
    """
    from towtank.system import needs_of  # noqa: PLC0415 - imports all services

    return needs_of(systems_of(text))


def _keys(path: Path) -> list[str]:
    value = yamlfile.load(path).root.value
    return list(value) if isinstance(value, dict) else []
