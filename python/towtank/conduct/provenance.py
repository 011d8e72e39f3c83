"""Records the origin of a result: the files of the study with their hashes, versions, and properties of the host."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.digging import dig
from towtank.documents import plain
from towtank.engine import binary
from towtank.errors import StudyError
from towtank.files import sha256_of
from towtank.results import SECRETS_FILE, SECRETS_SCHEMA, STUDY_MANIFEST, ResultsFolder, write_json
from towtank.secrets import make_private_folder, open_private, redacted, redacted_setting
from towtank.version import __version__

if TYPE_CHECKING:
    from towtank.conduct.request import StudyRequest
    from towtank.study import RunSpec, Study

FILES = "files"
# Packages whose versions are recorded, because a different version may change a result.
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
    """Return the versions of the programs that generate load or analyse results."""
    return dict(_versions())


def open_results(
    study: Study, specs: list[RunSpec], folder: Path, *, resume: bool, request: StudyRequest | None
) -> ResultsFolder:
    """Create the results folder with the manifest and files of a study, or open the folder of a study to resume.

    Raises
    ------
    StudyError
        If a new folder already contains results, or if the folder of a study to resume contains no results or results
        of another design.
    """
    design = redacted([spec.document() for spec in specs], study.workload.secret_parameters)
    if resume:
        results = ResultsFolder.open(folder)
        require_same_design(results, design, may_grow=study.at_least > 0)
        if len(design) > len(dig(results.manifest, "design")):
            described = redacted(study.describe(), study.workload.secret_parameters)
            command = {**(dig(results.manifest, "command") or {}), "at_least": study.at_least}
            results.update(study=described, design=design, command=command, repeat_ended=None)
        return results
    require_no_results(folder)
    from towtank.observe import host_facts  # noqa: PLC0415 - asks the probe: only when a study begins

    secret = study.workload.secret_parameters
    make_private_folder(folder)
    manifest = {
        "study": redacted(study.describe(), secret),
        "design": design,
        "versions": versions(),
        "host": host_facts().document(),
        "files": plain(keep_files(study, folder)),
        "data": plain(data_files(study)),
        "command": {} if request is None else _keep_secrets(request, secret, folder),
        "started_wall_ns": time.time_ns(),
    }
    return ResultsFolder.create(folder, manifest)


def _keep_secrets(request: StudyRequest, parameters: Collection[str], folder: Path) -> dict[str, object]:
    """Write the secrets of a command line to a private file, and return the command line without secrets."""
    shown = [redacted_setting(change, parameters) for change in request.changes]
    if shown != list(request.changes):
        changes = list(request.changes)
        write_json(folder / SECRETS_FILE, {"schema": SECRETS_SCHEMA, "changes": changes}, private=True)
    return {**request.document(), "changes": shown}


def require_own(folder: Path) -> None:
    """Refuse a folder of another user, or that all users may write to, because results may contain secrets."""
    if not folder.is_dir():
        return
    found = folder.stat()
    if found.st_uid != os.geteuid():
        message = "must belong to the current user, because it contains secrets, got a folder of another user"
        raise StudyError.at(folder, message)
    if found.st_mode & stat.S_IWOTH:
        message = "must not be writable by other users, because it contains secrets, got a folder with mode o+w"
        raise StudyError.at(folder, message)


def require_no_results(folder: Path) -> None:
    require_own(folder)
    if (folder / STUDY_MANIFEST).exists():
        message = f"must be a folder without results; to continue these results, run `towtank run --resume {folder}`"
        raise StudyError.at(folder, message)


def require_same_design(results: ResultsFolder, design: list[object], *, may_grow: bool) -> None:
    """Refuse results of another design. With `may_grow`, `design` may contain more repetitions than the results."""
    recorded = results.manifest.get("design")
    shared = design[: len(recorded)] if may_grow and isinstance(recorded, list) else design
    if recorded != shared:
        count = len(recorded) if isinstance(recorded, list) else 0
        message = f"must contain the design of this study ({len(design)} runs), got another design ({count} runs)"
        raise StudyError.at(results.path / STUDY_MANIFEST, message, where="design")


@dataclass(frozen=True)
class KeptFile:
    """File of a study with a copy in its results: role, name of the copy, path of the original, and hash."""

    role: str
    name: str
    path: str
    sha256: str


@dataclass(frozen=True)
class DataFile:
    """File or folder that a study names but that is not copied into its results: path, key of the study file that
    contains the path, and hash.
    """

    path: str
    key: str = ""
    sha256: str = ""


def keep_files(study: Study, folder: Path) -> list[KeptFile]:
    """Copy the files of a study to its results folder.

    The copies contain secrets, because a resumed study needs them, so only their owner can read them.
    """
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
    names = [path.name for path in documents.values()]
    for role, path in documents.items():
        # Files from different folders may have the same name; their copies get the role as a prefix.
        name = path.name if names.count(path.name) == 1 else f"{role}-{path.name}"
        copy, text = folder / FILES / name, study.files[str(path)]
        make_private_folder(copy.parent)
        with open_private(copy) as stream:
            stream.write(text)
        kept.append(KeptFile(role, name, str(path.absolute()), _hash(path, text)))
    return kept


def _hash(path: Path, text: str) -> str:
    """Return the SHA-256 hash of a file if its content equals `text`, otherwise the hash of `text`.

    A byte order mark at the start of the file is ignored when comparing.
    """
    with suppress(OSError, UnicodeError):
        if path.read_bytes().decode("utf-8-sig") == text:
            return sha256_of(path)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def data_files(study: Study) -> list[DataFile]:
    """Return the files and folders that a study names but that are not copied into its results."""
    named = [each for each in study.named_files() if each.path.exists()]
    return [DataFile(str(each.path), each.key, content_hash(each.path)) for each in named]


def content_hash(path: Path) -> str:
    """Return the hash of a file, or of the names and contents of all files in a folder, following links to files."""
    if not path.is_dir():
        return sha256_of(path)
    found = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        found.update(b"%s\0%s\n" % (os.fsencode(file.relative_to(path)), sha256_of(file).encode()))
    return found.hexdigest()
