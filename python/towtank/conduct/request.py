"""How a study was asked for: what is loaded, with which changes; kept in the results so that they can be resumed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.conduct.provenance import FILES, sha256
from towtank.errors import Fault, StudyError, TargetError
from towtank.results.folder import ResultsFolder

if TYPE_CHECKING:
    from towtank.study import Study

COMMAND_LINE = "<command line>"


@dataclass(frozen=True)
class StudyRequest:
    """A study as the user asked for it.

    Attributes
    ----------
    study : str
        A file, a folder, or the name of one that ships.
    preset : str or None
        Preset of the study.
    repetitions, seed : int or None
        In place of those of the file.
    changes : tuple of str
        `path=value`, as given with `--set`.
    allowed : tuple of str
        Hosts that may be loaded although they are neither local nor private.
    """

    study: str
    preset: str | None = None
    repetitions: int | None = None
    seed: int | None = None
    changes: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def load(self) -> Study:
        """Read the study with all changes, and make sure that its system may be loaded.

        Raises
        ------
        StudyError
            With every fault.
        TargetError
            If this machine lacks what a host of any run needs.
        """
        from towtank.study import load_study, study_path  # noqa: PLC0415 - reading YAML needs no start-up time

        study = load_study(study_path(self.study), self.preset, changes=self._changes())
        study = replace(study, numbers=self._check_targets(study))
        self._check_hosts(study)
        return study

    def _changes(self) -> dict[str, str]:
        changes: dict[str, str] = {}
        faults = []
        for text in self.changes:
            path, equals, value = text.partition("=")
            if not equals or not path.strip():
                faults.append(Fault(COMMAND_LINE, 0, 0, "--set", f"must be path.to.key=value, got {text!r} instead"))
            changes[path.strip()] = value
        if faults:
            raise StudyError(faults)
        if self.repetitions is not None:
            changes["repetitions"] = str(self.repetitions)
        if self.seed is not None:
            changes["seed"] = str(self.seed)
        return changes

    def _check_targets(self, study: Study) -> dict[str, list[str]]:
        """Look at every address that the system of any run names; their numbers by host."""
        from towtank.workload.targets import check_targets  # noqa: PLC0415

        addresses = [address for spec in study.design() for address in spec.system.addresses]
        return check_targets(dict.fromkeys(addresses), self.allowed)

    def _check_hosts(self, study: Study) -> None:
        """Say what this machine lacks for the hosts of any run, before the first one."""
        from towtank.system.hosts.group import build_hosts  # noqa: PLC0415

        lines = [line for spec in study.design() for line in build_hosts(spec.system, study.system_folder).lacks()]
        if lines:
            raise TargetError("\n".join(dict.fromkeys(lines)), hint="`towtank doctor` shows what this machine offers")

    def document(self) -> dict[str, Any]:
        """For the manifest of the results."""
        return {
            "study": self.study,
            "preset": self.preset,
            "repetitions": self.repetitions,
            "seed": self.seed,
            "changes": list(self.changes),
            "allowed": list(self.allowed),
            "folder": str(Path.cwd()),
        }


def recorded_request(folder: Path, named: str | None, allowed: tuple[str, ...] = ()) -> StudyRequest:
    """How the study of a results folder was asked for, with the files it was made from.

    The files are taken from where they were, unless they have changed or gone: then their copies in the results.

    Parameters
    ----------
    folder : Path
        The results folder.
    named : str or None
        Study given on the command line; it must not be given, as the results know theirs.
    allowed : tuple of str
        Hosts that may be loaded: said anew, as the results may be somebody else's.

    Raises
    ------
    StudyError
        If there are no such results, or they do not say how they were asked for.
    """
    if named is not None:
        message = f"must be left out with --resume: the results know their study, got {named!r} instead"
        raise StudyError.at(COMMAND_LINE, message, where="STUDY")
    results = ResultsFolder.open(folder)
    manifest = results.manifest
    command = manifest.get("command")
    if not isinstance(command, dict) or "study" not in command:
        raise StudyError.at(folder, "must tell how its study was asked for, got results without that", where="command")
    return StudyRequest(
        str(_study_file(results, manifest)),
        command.get("preset"),
        command.get("repetitions"),
        command.get("seed"),
        results.changes,
        allowed,
    )


def _study_file(results: ResultsFolder, manifest: dict[str, Any]) -> Path:
    """The study file where it was, if no file of the study has changed since; else its copy.

    Raises
    ------
    StudyError
        If rows, scripts or users have changed, of which there are no copies, or copies of files of several folders
        would be needed, which do not find each other.
    """
    changed = [each["path"] for each in manifest.get("data", ()) if _has_changed(each)]
    files = manifest.get("files", [])
    others = [each["path"] for each in files if _has_changed(each)]
    if others and len({Path(each["path"]).parent for each in files}) > 1:
        changed += others
    if changed:
        message = "must be as it was when the results were begun, got other content or no file"
        raise StudyError([Fault(path, 0, 0, "--resume", message) for path in changed])
    study = next(each for each in files if each["role"] == "study")
    return results.path / FILES / study["name"] if others else Path(study["path"])


def _has_changed(file: dict[str, str]) -> bool:
    path = Path(file["path"])
    return not path.is_file() or sha256(path) != file["sha256"]


def new_folder(name: str) -> Path:
    """Name a results folder after study and time; a number follows where that one is taken."""
    stem = Path("results") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, number = stem, 1
    while folder.exists():
        number += 1
        folder = stem.with_name(f"{stem.name}-{number}")
    return folder
