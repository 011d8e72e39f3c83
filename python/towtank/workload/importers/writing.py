"""Writes the result of an import as the text of a workload file, and checks this text."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.workload.importers.draft import ImportDraft, Note
from towtank.workload.importers.emitting import emit
from towtank.workload.loading import check_workload
from towtank.workload.model import SCHEMA


@dataclass(frozen=True)
class ImportResult:
    """Result of an import: the draft with notes, targets and findings, and the text of the workload file."""

    draft: ImportDraft
    text: str


def finish_import(draft: ImportDraft, folder: Path) -> ImportResult:
    """Return the workload file of a draft as text, after checking the text. File names are relative to `folder`.

    Raises
    ------
    StudyError
        If the draft has no requests, or if the result is not a valid workload. Positions refer to the imported file.
    """
    if not draft.transactions:
        reasons = [Fault(draft.source, *min(note.places), note.what, note.why) for note in draft.notes.sorted()]
        nothing = Fault(draft.source, 0, 0, "", f"must have requests that can be imported from {draft.form}, got none")
        raise StudyError([nothing, *reasons])
    text = _header(draft) + emit(document(draft))
    faults = _check(text, folder)
    if faults:
        raise StudyError([Fault(draft.source, 0, 0, fault.where, fault.message) for fault in faults])
    return ImportResult(draft, text)


def _header(draft: ImportDraft) -> str:
    notes = draft.notes.sorted()
    lines = [draft.origin or f"Imported from {Path(draft.source).name} ({draft.form})."]
    lines += [f"Target {name} was {address}." for name, address in draft.targets.items()]
    if notes:
        lines.append(f"{len(notes)} constructs could not be imported unchanged: the import printed a line about each.")
    printable = ("".join(char if char.isprintable() else "?" for char in line) for line in lines)
    return "".join(f"# {line}\n" for line in printable)


def document(draft: ImportDraft) -> dict[str, object]:
    """Return the content of the workload file of a draft as nested mappings."""
    defaults = {**({"target": next(iter(draft.targets))} if draft.targets else {}), **draft.defaults}
    sections: dict[str, object] = {
        "parameters": draft.parameters,
        "data": {name: pool.document() for name, pool in draft.data.items()},
        "defaults": defaults,
        "transactions": draft.transactions,
        "groups": {name: group.document() for name, group in draft.groups.items()},
    }
    head = {"schema": SCHEMA, "name": draft.name, **({"title": draft.title} if draft.title else {})}
    return {**head, **{key: value for key, value in sections.items() if value}}


def _check(text: str, folder: Path) -> list[Fault]:
    """Return the faults that `towtank validate` would find in the text of a workload file.

    File names in the text are relative to `folder`, in which the file will be written.
    """
    with tempfile.TemporaryDirectory(prefix="towtank-import-") as scratch:
        path = Path(scratch) / "workload.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            document = yamlfile.load(path)
        except StudyError as error:
            return error.faults
    document.path = folder.resolve() / "workload.yaml"
    return check_workload(document, {})[1]


def import_note_lines(source: str, note: Note, at_most: int) -> list[str]:
    """Return the lines that print a note, one for each position."""
    shown = sorted(note.places)[:at_most]
    lines = [f"{source}:{line}{f':{column}' if column else ''}: {note.what}: {note.why}" for line, column in shown]
    if note.times > len(shown):
        lines.append(f"{source}: {note.what}: the same at {note.times - len(shown)} further positions")
    return lines


def import_document(imported: ImportResult, out: str | None) -> dict[str, object]:
    """Return the result of an import as a JSON document."""
    draft = imported.draft
    return {
        "schema": "towtank/import/1",
        "format": draft.form,
        "file": draft.source,
        "out": out,
        "targets": draft.targets,
        "transactions": list(draft.transactions),
        "findings": draft.findings,
        "notes": [
            {
                "file": draft.source,
                "line": min(note.places)[0],
                "column": min(note.places)[1],
                "what": note.what,
                "why": note.why,
                "times": note.times,
                "lines": sorted({line for line, _ in note.places}),
            }
            for note in draft.notes.sorted()
        ],
        "workload": imported.text,
    }
