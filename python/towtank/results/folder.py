"""Creates and opens the folders of a study and its runs. Recorded data are only appended, never changed."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from towtank.documents import malformed, usable_entries
from towtank.errors import StudyError
from towtank.files import put, put_text
from towtank.plan_secrets import with_secrets
from towtank.results import lines
from towtank.results.manifests import RunManifest, StudyManifest, checked, read_object
from towtank.secrets import HIDDEN, make_private_folder, open_private, redacted

STUDY_MANIFEST = "study.json"
RUN_MANIFEST = "run.json"
EVENTS_FILE = "events.ndjson"
SECRETS_FILE = "secrets.json"
"""Name of the file with the settings of the command that contain secrets, which the manifest hides. `towtank run
--resume` needs these settings. Only the owner can read the file.
"""

STUDY_SCHEMA = "towtank/study-results/1"
RUN_SCHEMA = "towtank/run/1"
# Error numbers of the operating system that mean that a folder is read-only.
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
SECRETS_SCHEMA = "towtank/secrets/1"


def write_json(path: Path, document: Mapping[str, object], *, private: bool = False) -> None:
    """Write a JSON document atomically: after a crash, either the old file or the complete new file exists. If the path
    is a symbolic link, the link is replaced, not followed. Only the owner may read a private file.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if private:
        put(path, lambda temporary: _write_private(temporary, text), follow=False)
    else:
        put_text(path, text, follow=False)


def _write_private(path: Path, text: str) -> None:
    with open_private(path) as stream:
        stream.write(_without_surrogates(text))


def _without_surrogates(text: str) -> str:
    """Replace the surrogates in a text, which stand for bytes that are invalid in the locale.

    The bytes are decoded as UTF-8 if possible, and escaped otherwise. The engine can open only folders whose names are
    valid UTF-8.
    """
    with suppress(UnicodeEncodeError):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def keep_json(path: Path, document: Mapping[str, object]) -> bool:
    """Write a derived document; return False if the folder is read-only.

    Use this function in commands whose purpose is to write the document. Other errors, such as a full disk, raise
    `OSError`.
    """
    try:
        write_json(path, document)
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        return False
    return True


def offer_json(path: Path, document: Mapping[str, object]) -> bool:
    """Write a derived document if possible; return True if it was written.

    Use this function for documents that only save time later. An error of the disk raises no exception, because the
    document can be computed again.
    """
    try:
        return keep_json(path, document)
    except OSError:
        return False


class _Folder:
    """Folder with a JSON manifest and an event stream. Both contain no secrets."""

    manifest_name: str
    schema: str
    form: type[BaseModel]

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def _create(cls, path: Path, manifest: Mapping[str, object]) -> None:
        make_private_folder(path)
        write_json(path / cls.manifest_name, redacted({"schema": cls.schema, **manifest}))

    @property
    def manifest(self) -> dict[str, Any]:
        """Manifest of the folder as read from disk, after a check of its keys and types."""
        path = self.path / self.manifest_name
        return checked(path, read_object(path), self.form)

    def usable_manifest(self) -> tuple[dict[str, object], dict[str, str]]:
        """Return the manifest without its malformed entries, and the fault of each such entry by its place. Both are
        empty if the file cannot be read.
        """
        try:
            document = read_object(self.path / self.manifest_name)
        except (OSError, ValueError, StudyError):
            return {}, {}
        return dict(usable_entries(self.form, document)), malformed(self.form, document)

    def update(self, **fields: Any) -> None:
        """Set fields of the folder's manifest, and write the manifest atomically."""
        write_json(self.path / self.manifest_name, redacted({**self.manifest, **fields}))

    def event(self, kind: str, **fields: Any) -> None:
        """Append one event with the times of three clocks [ns] to the event stream, and flush the stream to disk."""
        clocks = {
            "wall_ns": time.time_ns(),
            "t_ns": time.monotonic_ns(),
            # `CLOCK_BOOTTIME` also counts the time for which the machine is suspended; the monotonic clock does not.
            "boot_ns": time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        }
        document = {"k": kind, **clocks, **fields}
        with (self.path / EVENTS_FILE).open("ab") as stream:
            stream.write(lines.encode(redacted(document)))
            stream.flush()
            os.fsync(stream.fileno())

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of the folder's event stream in the order in which they were written."""
        path = self.path / EVENTS_FILE
        return lines.read(path) if path.exists() else iter(())


def _changes(path: Path) -> tuple[str, ...]:
    try:
        changes = read_object(path).get("changes")
    except (OSError, ValueError) as error:
        raise StudyError.at(path, f"must be a JSON object, got {error}") from error
    if not isinstance(changes, list) or not all(isinstance(change, str) for change in changes):
        raise StudyError.at(path, "must be a list of texts of the form PATH=VALUE, got another value", where="changes")
    return tuple(changes)


class RunFolder(_Folder):
    """Folder of one run.

    `run.json` has `status`: `planned`, `running`, `complete`, `failed` (the system or the engine did not complete the
    run; its records are kept) or `stopped` (by the user). If the status is `running` but the process no longer exists,
    the run ended unexpectedly and counts as `interrupted`.
    """

    manifest_name = RUN_MANIFEST
    schema = RUN_SCHEMA
    form = RunManifest

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, object]) -> RunFolder:
        """Create the folder with its subfolders; files in an existing folder are kept."""
        cls._create(path, manifest)
        run = cls(path)
        for folder in (run.engine, run.observe, run.logs):
            folder.mkdir(exist_ok=True)
        return run

    @property
    def run_id(self) -> str:
        """Name of the run, which is also the name of its folder."""
        return self.path.name

    @property
    def plan(self) -> Path:
        """Path of the plan that the engine executes in this run."""
        return self.path / "plan.json"

    def write_plan(self, plan: Mapping[str, object]) -> None:
        """Write the engine's plan. Only its owner may read the file, because it contains logins and request bodies."""
        write_json(self.plan, with_secrets(plan), private=True)

    @property
    def engine(self) -> Path:
        """Folder of the engine's records."""
        return self.path / "engine"

    @property
    def summary(self) -> Path:
        """Path of the summary that the analysis writes for the run."""
        return self.path / "summary.json"

    @property
    def stored(self) -> Path:
        """Path of the file that states which stored items could be read back after the run."""
        return self.path / "stored.json"

    @property
    def read_back(self) -> Path:
        """Folder with the keys, plans and engine records of the requests that read stored items back after the run."""
        return self.path / "read-back"

    @property
    def observe(self) -> Path:
        """Folder of the records of probes and scrapers, with one stream for each probe or scraper."""
        return self.path / "observe"

    @property
    def logs(self) -> Path:
        """Folder of the logs of services, engine and probe."""
        return self.path / "logs"


class ResultsFolder(_Folder):
    """Folder of a study with all its runs."""

    manifest_name = STUDY_MANIFEST
    schema = STUDY_SCHEMA
    form = StudyManifest

    @property
    def manifest(self) -> dict[str, Any]:
        """Manifest of the study as read from disk; a missing or damaged manifest raises `StudyError`."""
        try:
            return super().manifest
        except (OSError, ValueError) as error:
            raise StudyError.at(self.path / self.manifest_name, f"must be a JSON object, got {error}") from error

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, object]) -> ResultsFolder:
        """Create the folder, which must not contain results yet."""
        cls._create(path, manifest)
        results = cls(path)
        (path / "runs").mkdir(exist_ok=True)
        return results

    @classmethod
    def open(cls, path: Path) -> ResultsFolder:
        """Open an existing results folder.

        Raises
        ------
        StudyError
            If the folder has no study manifest.
        """
        if not (path / STUDY_MANIFEST).is_file():
            got = "a folder without it" if path.is_dir() else "a file" if path.exists() else "nothing there"
            raise StudyError.at(path, f"must be a results folder with a {STUDY_MANIFEST}, got {got}")
        return cls(path)

    @property
    def changes(self) -> tuple[str, ...]:
        """Settings that the command which started the study changed in the study file, including secrets.

        Raises
        ------
        StudyError
            If the file with the secrets is missing or damaged.
        """
        shown = tuple(self.manifest.get("command", {}).get("changes", ()))
        kept = self.path / SECRETS_FILE
        if kept.exists():
            return _changes(kept)
        hidden = [change for change in shown if HIDDEN in change]
        if hidden:
            message = (
                f"must exist to resume the study, because it contains the values of {', '.join(hidden)}, got no file"
            )
            raise StudyError.at(kept, message)
        return shown

    def runs(self) -> list[RunFolder]:
        """Return all runs that have a manifest, sorted by name, without interrupted attempts (`r003.interrupted-1`)."""
        paths = sorted((self.path / "runs").glob(f"*/{RUN_MANIFEST}"))
        return [RunFolder(path.parent) for path in paths if "." not in path.parent.name]

    def run_path(self, run_id: str) -> Path:
        """Return the path of a run's folder. The folder need not exist."""
        return self.path / "runs" / run_id
