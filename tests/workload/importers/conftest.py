from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from towtank import yamlfile
from towtank.filecheck import check_file
from towtank.workload import compile_workload, load_workload
from towtank.workload.importers import ImportOptions, read_import
from towtank.workload.importers.draft import ImportDraft
from towtank.workload.importers.emitting import emit
from towtank.workload.importers.writing import document, finish_import

EXAMPLES = Path(__file__).parents[2] / "data" / "imports"


@dataclass
class Import:
    draft: ImportDraft
    text: str
    workload: dict[str, Any]

    def notes(self) -> list[tuple[int, str, str]]:
        """Return line, subject and reason of the notes.

        A note that occurs several times at one position is returned once.
        """
        return [(line, note.what, note.why) for note in self.draft.notes.sorted() for line, _ in note.places]

    def noted(self, what: str) -> list[int]:
        """Return the line numbers of the notes about a subject."""
        return [line for line, named, _ in self.notes() if what in named]

    def requests(self) -> list[dict[str, Any]]:
        """Return all requests of the imported workload, in order."""
        return [step for steps in self.workload["transactions"].values() for step in _requests(steps)]


def _requests(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for step in steps:
        found += [step] if {"get", "post", "put", "delete", "head", "patch"} & set(step) else []
        for key in ("steps", "then", "else"):
            found += _requests(step.get(key, []))
    return found


@pytest.fixture
def import_file(tmp_path: Path) -> Callable[..., Import]:
    """Import a file, write the workload, check it as `towtank validate` does, and read it back."""

    def run(form: str, file: Path | str, hosts: tuple[str, ...] = ()) -> Import:
        path = EXAMPLES / file
        draft = read_import(form, path, ImportOptions(hosts, tmp_path, strict=True))
        imported = finish_import(draft, tmp_path)
        written = tmp_path / "written-workload.yaml"
        written.write_text(imported.text, encoding="utf-8")
        report = check_file(written)
        assert (report.kind, report.faults) == ("workload", [])
        # The workload must compile to a plan. The addresses of its targets are arbitrary.
        targets = {name: ["127.0.0.1:1"] for name in draft.targets or ["target"]}
        assert compile_workload(load_workload(written), targets=targets)["transactions"]
        return Import(draft, imported.text, yamlfile.load(written).data)

    return run


@pytest.fixture
def import_text(tmp_path: Path, import_file: Callable[..., Import]) -> Callable[..., Import]:
    """Import a file with the given text."""

    def run(form: str, text: str, name: str = "example", hosts: tuple[str, ...] = ()) -> Import:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return import_file(form, path, hosts)

    return run


@pytest.fixture
def import_notes(tmp_path: Path) -> Callable[..., Import]:
    """Import a file with the given text, but do not compile a plan: some tests import many variants of a file."""

    def run(form: str, text: str) -> Import:
        path = tmp_path / "example"
        path.write_text(text, encoding="utf-8")
        draft = read_import(form, path, ImportOptions((), tmp_path, strict=True))
        return Import(draft, emit(document(draft)), {})

    return run
