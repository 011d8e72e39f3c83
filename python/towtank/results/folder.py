"""The folders of a study and of its runs: made, opened, described; never rewritten, only added to."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from towtank.errors import StudyError
from towtank.results import lines

STUDY_MANIFEST = "study.json"
RUN_MANIFEST = "run.json"
EVENTS = "events.ndjson"

STUDY_SCHEMA = "towtank/study-results/1"
RUN_SCHEMA = "towtank/run/1"


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON document so that a crash leaves either the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


class _Folder:
    """A folder with a JSON manifest and a stream of events."""

    manifest_name: str
    schema: str

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def _create(cls, path: Path, manifest: dict[str, Any]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / cls.manifest_name, {"schema": cls.schema, **manifest})

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as it stands on disk now."""
        document = json.loads((self.path / self.manifest_name).read_text("utf-8"))
        if not isinstance(document, dict):
            raise StudyError.at(self.path / self.manifest_name, "must be a JSON object")
        return document

    def update(self, **fields: Any) -> None:
        """Set fields of the manifest, in one atomic step."""
        write_json(self.path / self.manifest_name, {**self.manifest, **fields})

    def event(self, kind: str, **fields: Any) -> None:
        """Append one event, with wall and monotonic time [ns], and force it to disk."""
        document = {"k": kind, "wall_ns": time.time_ns(), "t_ns": time.monotonic_ns(), **fields}
        with (self.path / EVENTS).open("ab") as stream:
            stream.write(lines.encode(document))
            stream.flush()
            os.fsync(stream.fileno())

    def events(self) -> Iterator[dict[str, Any]]:
        """Read the events in the order they were written."""
        path = self.path / EVENTS
        return lines.read(path) if path.exists() else iter(())


class RunFolder(_Folder):
    """One run on disk.

    `run.json` tells `status`: `planned`, `running`, `complete`, `failed` (the system or the engine did not do
    its part; what was recorded is kept) or `stopped` (by the user). A run that is found `running` while
    nothing runs was cut off and counts as `interrupted`.
    """

    manifest_name = RUN_MANIFEST
    schema = RUN_SCHEMA

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any]) -> RunFolder:
        """Make the folder with its subfolders; an existing one of the same name keeps what it holds."""
        cls._create(path, manifest)
        run = cls(path)
        for folder in (run.engine, run.observe, run.logs):
            folder.mkdir(exist_ok=True)
        return run

    @property
    def run_id(self) -> str:
        """Name of the run, also that of its folder."""
        return self.path.name

    @property
    def plan(self) -> Path:
        """The engine's plan."""
        return self.path / "plan.json"

    @property
    def engine(self) -> Path:
        """Folder of what the engine recorded."""
        return self.path / "engine"

    @property
    def stored(self) -> Path:
        """What became of what users were told is stored."""
        return self.path / "stored.json"

    @property
    def read_back(self) -> Path:
        """Folder of what was read back: keys, plans, what the engine recorded."""
        return self.path / "read-back"

    @property
    def observe(self) -> Path:
        """Folder of what the observers recorded, one stream each."""
        return self.path / "observe"

    @property
    def logs(self) -> Path:
        """Folder of the logs of services, engine and probe."""
        return self.path / "logs"


class ResultsFolder(_Folder):
    """All runs of one study on disk."""

    manifest_name = STUDY_MANIFEST
    schema = STUDY_SCHEMA

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any]) -> ResultsFolder:
        """Make the folder; it must not hold results yet."""
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
            If the folder holds no study manifest.
        """
        if not (path / STUDY_MANIFEST).is_file():
            raise StudyError.at(path, f"must be a results folder with a {STUDY_MANIFEST} in it, got none")
        return cls(path)

    def runs(self) -> list[RunFolder]:
        """All runs that have a manifest, by name; earlier tries (`r003.interrupted-1`) are not among them."""
        paths = sorted((self.path / "runs").glob(f"*/{RUN_MANIFEST}"))
        return [RunFolder(path.parent) for path in paths if "." not in path.parent.name]

    def run_path(self, run_id: str) -> Path:
        """Where the run of this name is, or would be."""
        return self.path / "runs" / run_id
