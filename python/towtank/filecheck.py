"""Checks a file that a user wrote, such as a study or a sizing. The key `schema` in the file names its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.spelling import did_you_mean, is_slip, meant
from towtank.units import shown
from towtank.yamlfile import Document

SCHEMAS = (
    "towtank/study/1", "towtank/workload/1", "towtank/system/1", "towtank/browser-script/1", "towtank/model/1",
    "towtank/machine/1", "towtank/sizing/1", "towtank/rule-file/1", "towtank/sheet/1",
)  # fmt: skip
"""Allowed values of the key `schema`, one for each kind of file."""


_AS_MEANT = ("towtank/study/1", "towtank/workload/1", "towtank/system/1")
"""Schemas of the kinds of files that are checked again with their typing errors corrected, see `typos`."""


@dataclass
class FileReport:
    """Faults of a file, and of the files that it refers to, sorted by position. The kind of the file is `study`,
    `workload`, `system`, `browser-script`, `model`, `machine`, `sizing`, `rule-file` or `sheet`; empty if it is
    unknown.
    """

    file: str
    kind: str = ""
    faults: list[Fault] = field(default_factory=list)


def check_file(path: Path | str) -> FileReport:
    """Check a file of any kind; a study is checked together with its workload and its system."""
    report = FileReport(str(path))
    try:
        document = yamlfile.load(path)
        fault = _schema_fault(document)
        meant_schema = None if fault is None else _meant_schema(document)
        if fault is not None and meant_schema is None:
            report.faults = [fault]
            return report
        report.kind = (meant_schema or str(document.data.get("schema", "towtank/model/1"))).split("/")[1]
        report.faults = _check_study(document) if report.kind == "study" else _check_of(report.kind)(document)
    except StudyError as error:
        report.faults = error.faults
    return report


def _check_study(document: Document) -> list[Fault]:
    from towtank.study import load_study  # noqa: PLC0415

    study = load_study(document)
    return [] if study.sizing_path is None else _check_of("sizing")(yamlfile.load(study.sizing_path))


def _check_of(kind: str) -> Callable[[Document], list[Fault]]:
    """Return the function that checks files of a kind other than `study`."""
    if kind == "workload":
        from towtank.workload import check_workload  # noqa: PLC0415

        return lambda document: check_workload(document, {})[1]
    if kind == "system":
        from towtank.system import check_system  # noqa: PLC0415

        return lambda document: check_system(document)[1]
    if kind == "browser-script":
        from towtank.record import check_script  # noqa: PLC0415

        return lambda document: check_script(document)[1]
    if kind == "model":
        from towtank.model import check_model  # noqa: PLC0415

        return check_model
    from towtank import sizing  # noqa: PLC0415

    names = {"machine": "check_machines", "sizing": "check_sizing", "rule-file": "check_rules", "sheet": "check_sheet"}
    # Only the look-up of a name imports its module; those of rules and sheets need numpy.
    check: Callable[[Document], list[Fault]] = getattr(sizing, names[kind])
    return check


def _meant_schema(document: Document) -> str | None:
    """Return the schema that the user most likely meant, if the key `schema` or its value is misspelt; None if
    unclear.
    """
    written = document.data if isinstance(document.data, dict) else {}
    names = ["schema"] if "schema" in written else [name for name in written if is_slip(name, "schema")]
    value = written.get(names[0]) if len(names) == 1 else None
    if value in _AS_MEANT:
        return str(value)
    typo = meant(value, _AS_MEANT)
    return None if typo is None else typo.meant


def _schema_fault(document: Document) -> Fault | None:
    """Return the fault in the key `schema` of a file; None if the key is correct."""
    root = document.root
    allowed = ", ".join(SCHEMAS)
    if not isinstance(root.value, dict):
        return document.fault((), f"must be a mapping of keys to values, got {shown(root.plain())} instead")
    schema = root.child("schema")
    if schema is None and root.child("stations") is not None and root.child("classes") is not None:
        # A model file may lack the key `schema`, because no other kind of file has both `stations` and `classes`.
        return None
    if schema is None:
        return document.fault((), f"must have the key 'schema' with one of {allowed}, got none")
    if schema.value not in SCHEMAS:
        near = did_you_mean(schema.value, list(SCHEMAS))
        return document.fault(("schema",), f"must be one of {allowed}, got {shown(schema.plain())} instead{near}")
    return None


def named_file(name: str) -> str:
    """Return the path of a shipped study if `name` is its name; otherwise return `name`, which is a path."""
    from towtank.study import find_shipped  # noqa: PLC0415 - imports pydantic

    try:
        shipped = find_shipped(name) if not Path(name).exists() else None
    except OSError:  # The name is too long for a file; reading the file reports this.
        return name
    return str(shipped) if shipped is not None else name


def report_document(reports: list[FileReport]) -> dict[str, object]:
    """Return the results of checks as the JSON document `towtank/validate/1`."""
    faults = sorted({fault for report in reports for fault in report.faults})
    return {
        "schema": "towtank/validate/1",
        "valid": not faults,
        "files": [{"file": report.file, "kind": report.kind, "valid": not report.faults} for report in reports],
        "faults": [
            {
                "file": fault.file,
                "line": fault.line,
                "column": fault.column,
                "where": fault.where,
                "message": fault.message,
            }
            for fault in faults
        ],
    }
