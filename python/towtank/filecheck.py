"""Checking any file of a user by its `schema` key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.model import check_model
from towtank.model.file import SCHEMA as MODEL
from towtank.record.script import SCHEMA as BROWSER_SCRIPT
from towtank.record.script import check_script
from towtank.size.machine_file import SCHEMA as MACHINE
from towtank.size.machines import check_machines
from towtank.size.reading import check_sizing
from towtank.size.rules import check_rules, check_sheet
from towtank.size.rules.file import SCHEMA as RULES
from towtank.size.rules.file import SHEET_SCHEMA as SHEET
from towtank.size.sizing_file import SCHEMA as SIZING
from towtank.study import load_study
from towtank.study.model import SCHEMA as STUDY
from towtank.system.model import SCHEMA as SYSTEM
from towtank.system.model import check_system
from towtank.units import shown
from towtank.workload.loading import check_workload
from towtank.workload.model import SCHEMA as WORKLOAD
from towtank.yamlfile import Document, did_you_mean

SCHEMAS = (STUDY, WORKLOAD, SYSTEM, BROWSER_SCRIPT, MODEL, MACHINE, SIZING, RULES, SHEET)


@dataclass
class FileReport:
    """What was found in a file, and in the files it names.

    Attributes
    ----------
    file : str
        As the user named it.
    kind : str
        `study`, `workload`, `system`, `browser-script`, `model`, `machine`, `sizing`, `rule-file`, `sheet`;
        empty where that cannot be told.
    faults : list of Fault
        Sorted by place.
    """

    file: str
    kind: str = ""
    faults: list[Fault] = field(default_factory=list)


def check_file(path: Path | str) -> FileReport:
    """Check a file of any kind; a study with the workload and the system it names."""
    report = FileReport(str(path))
    try:
        document = yamlfile.load(path)
        fault = _schema_fault(document)
        if fault is not None:
            report.faults = [fault]
            return report
        report.kind = str(document.data.get("schema", MODEL)).split("/")[1]
        report.faults = _check(document, report.kind, path)
    except StudyError as error:
        report.faults = error.faults
    return report


_CHECKS: dict[str, Callable[[Document], list[Fault]]] = {
    "workload": lambda document: check_workload(document, {})[1],
    "browser-script": lambda document: check_script(document)[1],
    "system": lambda document: check_system(document)[1],
    "model": check_model,
    "machine": check_machines,
    "sizing": check_sizing,
    "rule-file": check_rules,
    "sheet": check_sheet,
}


def _check(document: Document, kind: str, path: Path | str) -> list[Fault]:
    if kind in _CHECKS:
        return _CHECKS[kind](document)
    study = load_study(path)
    return [] if study.sizing_path is None else check_sizing(yamlfile.load(study.sizing_path))


def _schema_fault(document: Document) -> Fault | None:
    """Say what is wrong with the key that tells the kind of the file, or nothing."""
    root = document.root
    allowed = ", ".join(SCHEMAS)
    if not isinstance(root.value, dict):
        return document.fault((), f"must be a mapping of keys to values, got {shown(root.plain())} instead")
    schema = root.child("schema")
    if schema is None and root.child("stations") is not None and root.child("classes") is not None:
        return None  # a model file may do without: no other file has these keys
    if schema is None:
        return document.fault((), f"must have the key 'schema' with one of {allowed}, got none")
    if schema.value not in SCHEMAS:
        near = did_you_mean(schema.value, list(SCHEMAS))
        return document.fault(("schema",), f"must be one of {allowed}, got {shown(schema.plain())} instead{near}")
    return None
