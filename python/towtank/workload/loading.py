"""Reads and checks workload files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.spelling import did_you_mean
from towtank.treecheck import validate_tree
from towtank.typos import as_meant
from towtank.workload import references
from towtank.workload.checks import WorkloadCheck
from towtank.workload.model import WorkloadFile
from towtank.workload.parameters import secret_parameters, substitute
from towtank.yamlfile import Document, Node, Path_


@dataclass(frozen=True)
class Workload:
    """Loaded workload file, without its malformed parts.

    `file` and `tree`, which has the source positions for faults, have the parameters substituted; `document` is as
    written. `parameters` replace the values in the file.
    """

    file: WorkloadFile
    document: Document
    tree: Node
    parameters: Mapping[str, object]

    @property
    def folder(self) -> Path:
        """Folder to which file names are relative."""
        return self.document.path.parent

    def with_parameters(self, parameters: Mapping[str, object]) -> Workload:
        """Return the workload with other parameter values.

        Raises
        ------
        StudyError
            If a parameter is unknown, or if a value is invalid for a key that uses it.
        """
        unknown = [name for name in parameters if name not in self.file.parameters]
        if unknown:
            known = list(self.file.parameters)
            message = f"must have the parameter {unknown[0]!r}, got {', '.join(known) or 'none'}"
            hint = did_you_mean(unknown[0], known)
            raise StudyError([self.fault(("parameters",), message + hint)])
        workload, faults = check_workload(self.document, {**self.parameters, **parameters})
        if faults or workload is None:
            raise StudyError(faults)
        return workload

    @cached_property
    def secret_parameters(self) -> frozenset[str]:
        """Names of the parameters whose values the workload uses as secrets."""
        return secret_parameters(self.document.root)

    @property
    def secrets_part(self) -> dict[str, list[str]]:
        """Entry `secrets` of the plan: values of the parameters that are used as secrets; empty without any."""
        values = {**self.file.parameters, **self.parameters}
        found = sorted({str(values[name]) for name in self.secret_parameters if name in values})
        return {"secrets": found} if found else {}

    def fault(self, path: Path_, message: str) -> Fault:
        """Return a fault with the source position of a path in the file."""
        return yamlfile.fault_at(self.tree, path, message)

    def texts(self) -> Iterator[tuple[Path_, str]]:
        """Yield every template of the file with its path, including the names of data files."""
        yield from references.templates_of_defaults(self.file.defaults)
        for name, pool in self.file.data.items():
            if pool.csv is not None:
                yield ("data", name, "csv"), pool.csv
        for name, transaction in self.file.transactions.items():
            for path, step in references.walk(transaction, ("transactions", name)):
                for placed in references.templates_of(step):
                    yield (*path, *placed.path), placed.text


def check_workload(document: Document, parameters: Mapping[str, object]) -> tuple[Workload | None, list[Fault]]:
    """Check the form and the content of a workload file; return the workload and its faults.

    A misspelt word counts as one fault: its consequences in other parts of the file are not reported.
    """
    return as_meant(lambda corrected: check_workload_as_written(corrected.document(document), parameters))


def check_workload_as_written(
    document: Document, parameters: Mapping[str, object]
) -> tuple[Workload | None, list[Fault]]:
    """Check a workload file as written; return the workload and all its faults.

    Unlike `check_workload`, this function also reports the faults that a misspelt word causes in other parts of the
    file.
    """
    substituted = substitute(document.root, parameters)
    written = substituted.tree
    checked = validate_tree(written, WorkloadFile)
    faults = list(checked.faults)
    if checked.model is not None:
        faults += WorkloadCheck(checked.model, checked.tree, written, document.path.parent).faults()
    faults = [fault for fault in faults if (fault.line, fault.column) not in substituted.places]
    found = sorted({*substituted.faults, *faults})
    if checked.model is None:
        return None, found
    return Workload(checked.model, document, checked.tree, parameters), found


def load_workload(path: Path | str, parameters: Mapping[str, object] | None = None) -> Workload:
    """Read and check a workload file. Given parameter values replace those in the file.

    Raises
    ------
    StudyError
        If the file has faults; the error lists all of them.
    """
    workload, faults = check_workload(yamlfile.load(path), {})
    if faults or workload is None:
        raise StudyError(faults)
    return workload.with_parameters(parameters) if parameters else workload
