"""Checks files of Towtank, as `towtank validate` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.api import notebook
from towtank.api.calls import path_of, refuse

if TYPE_CHECKING:
    from towtank.errors import Fault


@dataclass(frozen=True)
class CheckedFile:
    """Result of checking one file.

    Attributes
    ----------
    file : str
        Name of the file as it was passed.
    kind : str
        Kind of the file: `study`, `workload`, `system`, `model`, `machine`, `sizing`, `rule-file`, `sheet` or
        `browser-script`; empty if unknown.
    faults : tuple of towtank.errors.Fault
        Faults of the file, and of the files that it refers to; each has `file`, `line`, `column`, `where` and
        `message`.
    """

    file: str
    kind: str
    faults: tuple[Fault, ...]

    @property
    def valid(self) -> bool:
        """True if the file has no faults."""
        return not self.faults

    def __str__(self) -> str:
        return f"{self.file}: ok ({self.kind})" if self.valid else "\n".join(map(str, self.faults))


@dataclass(frozen=True, repr=False)
class Validation:
    """Result of checking files.

    Attributes
    ----------
    files : tuple of CheckedFile
        Checked files, in the order in which they were passed.
    """

    files: tuple[CheckedFile, ...]

    @property
    def valid(self) -> bool:
        """True if no file has a fault."""
        return not self.faults

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of all files without duplicates, sorted by file and line."""
        return tuple(sorted({fault for each in self.files for fault in each.faults}))

    @property
    def document(self) -> dict[str, object]:
        """Result as a dict, as `towtank validate --json` prints it."""
        from towtank.filecheck import FileReport, report_document  # noqa: PLC0415

        return report_document([FileReport(each.file, each.kind, list(each.faults)) for each in self.files])

    def raise_faults(self) -> None:
        """Raise an error that lists all faults; do nothing if the files are valid.

        Raises
        ------
        StudyError
            If a file has a fault.
        """
        from towtank.errors import StudyError  # noqa: PLC0415

        if self.faults:
            raise StudyError(list(self.faults))

    def __repr__(self) -> str:
        files, faults = (
            f"{number} {word}{'s' * (number != 1)}"
            for number, word in ((len(self.files), "file"), (len(self.faults), "fault"))
        )
        return f"<Validation of {files}: {'valid' if self.valid else faults}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.files))

    def _repr_html_(self) -> str:
        rows = [(each.file, each.kind, "valid" if each.valid else "faulty") for each in self.files]
        faults = [(fault.file, str(fault.line), fault.where, fault.message) for fault in self.faults]
        return notebook.page(
            notebook.heading("All files are valid." if self.valid else f"{len(faults)} faults"),
            notebook.table(("File", "Kind", "Result"), rows),
            notebook.table(("File", "Line", "Where", "Fault"), faults) if faults else "",
        )


def validate(*files: Path | str) -> Validation:
    """Check files of Towtank, such as studies, workloads, systems and models.

    A study is checked together with the files that it names.

    Parameters
    ----------
    *files : Path or str
        Files to check, or names of shipped studies.

    Returns
    -------
    Validation
        Kind and faults of each file. A faulty file raises no exception.

    Raises
    ------
    StudyError
        If no file is given, or if an argument is neither a text nor a path.

    Examples
    --------
    >>> import towtank
    >>> checked = towtank.validate("content-users")
    >>> checked.valid, checked.files[0].kind
    (True, 'study')
    """
    from towtank.filecheck import check_file, named_file  # noqa: PLC0415

    call = "towtank.validate"
    if not files:
        raise refuse(call, "files", "must name at least one file, got none")
    reports = [check_file(named_file(str(path_of(call, "files", file)))) for file in files]
    return Validation(tuple(CheckedFile(report.file, report.kind, tuple(report.faults)) for report in reports))
