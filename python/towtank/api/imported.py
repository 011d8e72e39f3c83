"""Imports workloads from files of other load generators, as `towtank import` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.api import notebook
from towtank.api.calls import faults_of, path_of, texts

if TYPE_CHECKING:
    from towtank.workload import ImportResult


@dataclass(frozen=True)
class ImportNote:
    """Element of a file that an import changed or left out.

    Attributes
    ----------
    file : str
        Imported file.
    line, column : int
        Position at which the element first occurs, counted from 1; 0 if unknown.
    what, why : str
        Name of the element, and the reason for the change.
    times : int
        Number of occurrences of the element in the file. [1]
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
    """Workload imported from a file of another tool.

    Attributes
    ----------
    text : str
        Text of the workload file.
    out : Path or None
        Workload file that was written; None if no file was requested.
    targets : mapping of str to str
        Address of each target in the imported file, by name.
    transactions : tuple of str
        Names of the transactions.
    notes : tuple of ImportNote
        Elements of the file that were changed or left out, sorted by position.
    """

    text: str
    out: Path | None
    targets: Mapping[str, str]
    transactions: tuple[str, ...]
    notes: tuple[ImportNote, ...]
    _imported: ImportResult = field(repr=False)

    @classmethod
    def of(cls, imported: ImportResult, out: Path | None) -> ImportedWorkload:
        """Return the result of an import; `out` is the file that was written."""
        draft = imported.draft
        notes = tuple(
            ImportNote(draft.source, *min(note.places), note.what, note.why, note.times)
            for note in draft.notes.sorted()
        )
        return cls(imported.text, out, dict(draft.targets), tuple(draft.transactions), notes, imported)

    @property
    def document(self) -> dict[str, object]:
        """Complete result as a dict, as `towtank import --json` prints it."""
        from towtank.workload import import_document  # noqa: PLC0415

        return import_document(self._imported, None if self.out is None else str(self.out))

    def __repr__(self) -> str:
        return (
            f"<ImportedWorkload of {self._imported.draft.source} ({self._imported.draft.form}): "
            f"{len(self.transactions)} transactions, {len(self.notes)} notes>"
        )

    def _repr_html_(self) -> str:
        rows = [(str(note.line), note.what, note.why, str(note.times)) for note in self.notes]
        return notebook.page(
            notebook.heading(f"{len(self.transactions)} transactions of {self._imported.draft.source}"),
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
    """Make a workload from a file of another tool.

    Parameters
    ----------
    form : str
        Format of the file: `har`, `jmx`, `k6`, `openapi`, `curl` or `accesslog`.
    file : Path or str
        File to import.
    out : Path or str, optional
        Workload file to write; by default, no file is written.
    hosts : str or sequence of str, optional
        Hosts whose requests are imported; default: the main host of the file, such as the host of the first page.
    force : bool, default False
        If true, overwrites an existing file.

    Returns
    -------
    ImportedWorkload
        Text of the workload, and notes on the elements that were changed or left out.

    Raises
    ------
    StudyError
        If an argument is wrong, or if the file cannot be read, imported or written; `faults` lists all faults.
    """
    from towtank.importing import import_file  # noqa: PLC0415

    call = "towtank.import_workload"
    target = None if out is None else path_of(call, "out", out)
    with faults_of(call, {"FORMAT": "form"}):
        source, kept = path_of(call, "file", file), tuple(texts(hosts) or ())
        imported = import_file(form, source, target, kept, force=force, host_option="hosts")
    return ImportedWorkload.of(imported, target)
