"""Stores the user's request for a study together with the results, so that the study can be resumed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.conduct.envelope import beyond_open_files
from towtank.conduct.provenance import FILES, DataFile, KeptFile, content_hash
from towtank.digging import dig
from towtank.documents import record_of
from towtank.errors import Fault, StudyError, TargetError
from towtank.results import ResultsFolder

if TYPE_CHECKING:
    from towtank.study import Study


@dataclass(frozen=True)
class StudyRequest:
    """Study that the user requests, with the options of the command.

    Attributes
    ----------
    study : str
        A study file, a folder with a study file, or the name of a study that comes with Towtank.
    preset : str or None
        Preset of the study.
    repetitions, seed : int or None
        Values that replace the values of the study file; None keeps the values of the file.
    changes : tuple of str
        Changes `path=value`, as given with `--set`.
    allowed : tuple of str
        Hosts that may be loaded although they are neither local nor private.
    trusted : bool
        True to allow files outside of the study's folder to be sent, served or run.
    at_least : int
        Number of runs of each combination of levels up to which the study continues; 0 for the number in the study
        file. [1]
    changed : tuple of str
        Files of the study that have changed since the first run. Their copies in the results folder are used instead.
    """

    study: str
    preset: str | None = None
    repetitions: int | None = None
    seed: int | None = None
    changes: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    trusted: bool = False
    at_least: int = 0
    changed: tuple[str, ...] = ()

    def load(self) -> Study:
        """Read the study with all changes, and check that Towtank may load its system.

        Raises
        ------
        StudyError
            If the study or an option is invalid; the error lists every fault.
        TargetError
            If this machine cannot provide the hosts of every run.
        """
        # Imported here, because the YAML reader loads slowly and other commands do not need it.
        from towtank.study import has_paths_beside, load_study, refuse_named_outside, study_path  # noqa: PLC0415

        study = replace(
            load_study(study_path(self.study), self.preset, changes=self._changes()), at_least=self.at_least
        )
        if self.changed and any(has_paths_beside(spec.system) for spec in study.design()):
            raise _needs_originals(self.changed)
        if not self.trusted and not study.is_shipped:
            refuse_named_outside(study.named_files(), study.path.parent)
        study = replace(study, numbers=self._check_targets(study))
        self._check_hosts(study)
        _check_open_files(study)
        return study

    def _changes(self) -> dict[str, str]:
        changes: dict[str, str] = {}
        faults = []
        for text in self.changes:
            path, equals, value = text.partition("=")
            if not equals or not path.strip():
                faults.append(Fault.of_option("--set", f"must be path.to.key=value, got {text!r} instead"))
            changes[path.strip()] = value
        if faults:
            raise StudyError(faults)
        if self.repetitions is not None:
            changes["repetitions"] = str(self.repetitions)
        if self.seed is not None:
            changes["seed"] = str(self.seed)
        return changes

    def _check_targets(self, study: Study) -> dict[str, list[str]]:
        """Check every address in the systems of all runs; return the IP addresses by host name."""
        from towtank.workload import check_targets  # noqa: PLC0415

        addresses = [address for spec in study.design() for address in spec.system.addresses]
        return check_targets(dict.fromkeys(addresses), self.allowed)

    def _check_hosts(self, study: Study) -> None:
        """Refuse the study before its first run if this machine cannot provide the hosts of every run."""
        from towtank.system import build_hosts  # noqa: PLC0415

        lines = [line for spec in study.design() for line in build_hosts(spec.system, study.system_folder).lacks()]
        if lines:
            raise TargetError(
                "\n".join(dict.fromkeys(lines)), hint="`towtank doctor` shows the capabilities of this machine"
            )

    def document(self) -> dict[str, object]:
        """Return the request as JSON for the manifest of the results, with the current folder."""
        return {
            "study": self.study,
            "preset": self.preset,
            "repetitions": self.repetitions,
            "seed": self.seed,
            "changes": list(self.changes),
            "allowed": list(self.allowed),
            "trusted": self.trusted,
            "at_least": self.at_least,
            "folder": str(Path.cwd()),
        }


def _check_open_files(study: Study) -> None:
    """Refuse a study whose users need more connections than the hard limit of open files allows.

    A study that needs a pilot run is not checked here, because its numbers of users are unknown. The engine checks them
    before the load begins.
    """
    from towtank.workload import targets_of_workload  # noqa: PLC0415

    if study.needs_pilot:
        return
    needs = [
        (spec.load.users_at_most, len(targets_of_workload(study.workload, spec.system.spoken)))
        for spec in study.design()
    ]
    own = study.workload.file.defaults.plan_connections["mode"] == "per_user"
    if own and (message := beyond_open_files(*max(needs, key=lambda need: need[0] * max(1, need[1])))):
        hint = "raise the hard limit of open files, or let users share connections (`connections` of the workload)"
        raise StudyError([Fault(str(study.path), 0, 0, "load", message)], hint=hint)


def recorded_request(
    folder: Path, named: str | None, allowed: tuple[str, ...] = (), *, trusted: bool = False, more: int = 0
) -> StudyRequest:
    """Return the request that began a results folder, in order to resume the study, with `more` further runs of each
    combination of levels.

    The request names the original study file if the study's files are unchanged, otherwise its copy in the results.
    `named`, the study on the command line, must be None. The recorded hosts that may be loaded, and the recorded trust
    in files outside the study's folder, are ignored, because another user may have written them.

    Raises
    ------
    StudyError
        If the folder contains no results, or results without a recorded request.
    """
    if named is not None:
        message = f"must be left out with --resume, because the results folder names its study, got {named!r} instead"
        raise StudyError.of_option("STUDY", message)
    results = ResultsFolder.open(folder)
    manifest = results.manifest
    command = manifest.get("command")
    if not isinstance(command, dict) or "study" not in command:
        message = "must contain the arguments of `towtank run`, got results without them"
        raise StudyError.at(folder, message, where="command")
    study, changed = _study_file(results, manifest)
    return StudyRequest(
        str(study),
        command.get("preset"),
        command.get("repetitions"),
        command.get("seed"),
        results.changes,
        allowed,
        trusted,
        _continued_to(results, manifest, more) if more else int(dig(command, "at_least") or 0),
        tuple(changed),
    )


def _continued_to(results: ResultsFolder, manifest: Mapping[str, Any], more: int) -> int:
    """Return the number of runs of each combination of levels after `more` runs are added to the results.

    If an earlier extension is incomplete, its missing runs count as part of `more`.
    """
    block_of = {str(dig(run, "run")): int(dig(run, "repetition") or 1) for run in dig(manifest, "design") or ()}
    planned = max(block_of.values(), default=0)
    if not dig(manifest, "command", "at_least"):
        return planned + more
    done = (block_of.get(run.run_id, 0) for run in results.runs() if dig(run.manifest, "status") == "complete")
    return max(planned, max(done, default=0) + more)


def _study_file(results: ResultsFolder, manifest: Mapping[str, Any]) -> tuple[Path, list[str]]:
    """Return the path of the study file, and the changed files of the study.

    If no file has changed since the first run, the path is that of the original file, otherwise that of its copy in the
    results.

    Raises
    ------
    StudyError
        If a changed file has no copy, or if the copies cannot be used. This is the case if the original files come from
        several folders, or refer by relative paths to files that were not copied.
    """
    try:
        data = [record_of(DataFile, each) for each in manifest.get("data") or ()]
        files = [record_of(KeptFile, each) for each in manifest.get("files") or ()]
        study = next(each for each in files if each.role == "study")
    except (ValueError, StopIteration):
        message = "must list the study file and all other files of the study, each with path and hash, got another list"
        raise StudyError.at(results.path, message, where="files") from None
    named = {each.path: _has_changed(each) for each in data}
    changed = [path for path, is_changed in named.items() if is_changed]
    others = [each.path for each in files if _has_changed(each)]
    folders = {Path(each.path).parent for each in files}
    if others and len(folders) > 1:
        changed += others
    if changed:
        message = "must be unchanged since the results were begun, got other content or no file"
        raise StudyError([Fault(path, 0, 0, "--resume", message) for path in changed])
    if others and any(Path(path).is_relative_to(folder) for path in named for folder in folders):
        raise _needs_originals(others)
    return (results.path / FILES / study.name if others else Path(study.path)), others


def _needs_originals(changed: Iterable[str]) -> StudyError:
    """Return the error for changed files of a study that uses programs or files beside its study file.

    A copy in the results folder cannot replace such a file, because relative paths would be wrong.
    """
    message = "must be unchanged since the results were begun, because the study uses programs or files beside it, got"
    faults = [Fault(path, 0, 0, "--resume", f"{message} other content or no file") for path in changed]
    return StudyError(faults, hint="restore it, or begin new results with `towtank run`")


def _has_changed(file: KeptFile | DataFile) -> bool:
    path = Path(file.path)
    return not path.exists() or content_hash(path) != file.sha256


def new_results_folder(name: str) -> Path:
    """Return the path of a new results folder with study name and time, and a number if the folder already exists."""
    stem = Path("results") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, number = stem, 1
    while folder.exists():
        number += 1
        folder = stem.with_name(f"{stem.name}-{number}")
    return folder
