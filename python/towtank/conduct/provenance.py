"""What a result must carry to be understood and repeated: files, hashes, versions, host facts, the design."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import time
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank import __version__
from towtank.engine import binary
from towtank.errors import StudyError
from towtank.results.folder import STUDY_MANIFEST, ResultsFolder

if TYPE_CHECKING:
    from towtank.study import RunSpec, Study

FILES = "files"
# Packages whose version may change a result.
_PACKAGES = ("content-server", "numpy", "scipy", "hdrhistogram")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    said = subprocess.run(
        [str(binary()), "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    found = {"towtank": __version__, "engine": said.stdout.strip().rpartition(" ")[2] or "unknown"}
    found["python"] = platform.python_version()
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package.replace("-", "_")] = metadata.version(package)
    return tuple(found.items())


def versions() -> dict[str, str]:
    """Versions of everything that makes or counts the load."""
    return dict(_versions())


def open_results(
    study: Study, specs: list[RunSpec], folder: Path, *, resume: bool, command: dict[str, Any]
) -> ResultsFolder:
    """Make the results folder with its manifest and the files of the study; or open the one to go on in.

    Raises
    ------
    StudyError
        If there are results already, or, resuming, none or those of another design.
    """
    design = [spec.document() for spec in specs]
    if resume:
        results = ResultsFolder.open(folder)
        require_same_design(results, design)
        return results
    if (folder / STUDY_MANIFEST).exists():
        message = f"must be a folder without results; to go on with these, `towtank run --resume {folder}`"
        raise StudyError.at(folder, message)
    from towtank.observe.host import host_facts  # noqa: PLC0415 - asks the probe: only where a study begins

    manifest = {
        "study": study.describe(),
        "design": design,
        "versions": versions(),
        "host": host_facts(),
        "files": keep_files(study, folder),
        "command": command,
        "started_wall_ns": time.time_ns(),
    }
    return ResultsFolder.create(folder, manifest)


def require_same_design(results: ResultsFolder, design: list[dict[str, Any]]) -> None:
    """Refuse to mix runs of two designs in one folder."""
    recorded = results.manifest.get("design")
    if recorded != design:
        count = len(recorded) if isinstance(recorded, list) else 0
        message = f"must hold the design of this study ({len(design)} runs), got another one ({count} runs)"
        raise StudyError.at(results.path / STUDY_MANIFEST, message, where="design")


def keep_files(study: Study, folder: Path) -> list[dict[str, str]]:
    """Copy the files of a study into its results as they were read, and tell their hashes."""
    documents = {
        "study": study.path,
        "system": study.system_document.path,
        "workload": study.workload.document.path,
    }
    if study.trace_path is not None:
        documents["trace"] = study.trace_path
    if study.sizing_path is not None:
        documents["sizing"] = study.sizing_path
    kept = []
    for role, path in documents.items():
        copy = folder / FILES / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(study.files[path.name], "utf-8")
        kept.append({"role": role, "name": path.name, "path": str(path.absolute()), "sha256": sha256(copy)})
    return kept


def sha256(path: Path) -> str:
    """Hash of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
