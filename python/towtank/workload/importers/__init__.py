"""Imports recordings, scripts and logs of other tools as workload files.

Every format has a folder with a module `reading` and its function `read(path, options) -> ImportDraft`. Each construct
that an importer cannot convert becomes a note with its position. `writing` writes the workload file of a draft and
checks this file in the same way as `towtank validate`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from towtank.workload.importers.draft import ImportDraft, ImportOptions, identifier, literal, steps_of
from towtank.workload.importers.writing import ImportResult, finish_import, import_note_lines

# Names of import formats on the command line, each with a description. A package of the same name reads the format.
IMPORT_FORMATS = {
    "har": "recording of a browser or a proxy (HTTP Archive)",
    "jmx": "test plan of JMeter",
    "k6": "script of k6",
    "openapi": "description of an interface (OpenAPI 3, YAML or JSON)",
    "curl": "one or more command lines of curl",
    "accesslog": "access log of a web server (common, combined, with response times)",
}


def read_import(form: str, path: Path, options: ImportOptions) -> ImportDraft:
    """Read a file of another tool into a draft. The form is a key of `IMPORT_FORMATS`.

    Raises
    ------
    StudyError
        If the file cannot be read or has another format; the error lists every fault.
    """
    draft: ImportDraft = import_module(f"{__name__}.{form}.reading").read(path, options)
    return draft
