"""Imports workloads from files of other tools, as `towtank import` does."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.api import notebook
from towtank.api.calls import faults_of, refuse, texts

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ImportNote:
    """Part of a file that an import could not carry over unchanged.

    Attributes
    ----------
    file : str
        Imported file.
    line, column : int
        First position of the part in the file, from 1; 0 if unknown.
    what, why : str
        The part, and the reason.
    times : int
        Number of places with the same part.
    """

    file: str
    line: int
    column: int
    what: str
    why: str
    times: int

    def __str__(self) -> str:
        again = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.file}:{self.line}: {self.what}: {self.why}{again}"


@dataclass(frozen=True, repr=False)
class ImportedWorkload:
    """Workload made from a file of another tool.

    Attributes
    ----------
    text : str
        Text of the workload file.
    out : Path or None
        File that was written; None if none was requested.
    """

    text: str
    out: Path | None
    _document: Json = field(repr=False)

    @property
    def document(self) -> dict[str, Any]:
        """Complete result as a dict, as `towtank import --json` prints it; a copy."""
        return copy.deepcopy(dict(self._document))

    @property
    def targets(self) -> dict[str, str]:
        """Address of each target in the imported file, by name."""
        return dict(self._document["targets"])

    @property
    def transactions(self) -> tuple[str, ...]:
        """Names of the transactions."""
        return tuple(self._document["transactions"])

    @property
    def notes(self) -> tuple[ImportNote, ...]:
        """Parts of the file that could not be carried over unchanged, sorted by position."""
        names = ("file", "line", "column", "what", "why", "times")
        return tuple(ImportNote(**{name: note[name] for name in names}) for note in self._document["notes"])

    def __repr__(self) -> str:
        return (
            f"<ImportedWorkload of {self._document['file']} ({self._document['format']}): "
            f"{len(self.transactions)} transactions, {len(self.notes)} notes>"
        )

    def _repr_html_(self) -> str:
        rows = [(str(note.line), note.what, note.why, str(note.times)) for note in self.notes]
        return notebook.page(
            notebook.heading(f"{len(self.transactions)} transactions of {self._document['file']}"),
            notebook.table(("Target", "Address"), list(self.targets.items())),
            notebook.table(("Line", "Not carried over", "Reason", "Times"), rows) if rows else "",
        )


def import_workload(
    form: str,
    file: Path | str,
    *,
    out: Path | str | None = None,
    hosts: str | Sequence[str] | None = None,
    force: bool = False,
) -> ImportedWorkload:
    """Make a workload of another tool's file.

    Parameters
    ----------
    form : str
        Format of the file: `har`, `jmx`, `k6`, `openapi`, `curl` or `accesslog`.
    file : Path or str
        File to import.
    out : Path or str, optional
        Workload file to write; by default the result has the text only.
    hosts : str or sequence of str, optional
        Hosts whose requests are imported; default: the main host of the file.
    force : bool, default False
        If true, overwrites an existing file.

    Returns
    -------
    ImportedWorkload
        Text of the workload, with a note on each part that could not be carried over unchanged.

    Raises
    ------
    StudyError
        If the file cannot be read or imported; `faults` lists all faults.
    """
    from towtank.secrets import open_private  # noqa: PLC0415
    from towtank.workload.importers import FORMATS, Options, finish, read  # noqa: PLC0415
    from towtank.workload.importers.writing import json_document  # noqa: PLC0415

    call = "towtank.import_workload"
    if form not in FORMATS:
        raise refuse(call, "form", f"must be one of {', '.join(FORMATS)}, got {form!r} instead")
    target = None if out is None else Path(out)
    if target is not None and target.exists() and not force:
        raise refuse(call, "out", f"must be a new file, or force must be true, got {str(target)!r}, which exists")
    folder = Path() if target is None else target.parent
    with faults_of(call):
        imported = finish(read(form, Path(file), Options(tuple(texts(hosts) or ()), folder)), folder)
        if target is not None:
            try:
                with open_private(target, follow=True) as stream:
                    stream.write(imported.text)
            except OSError as error:
                raise refuse(call, "out", f"must be a file that can be written, got: {error.strerror}") from None
    return ImportedWorkload(imported.text, target, json_document(imported, None if target is None else str(target)))
