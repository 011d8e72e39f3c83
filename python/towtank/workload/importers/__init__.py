"""Importers: convert recordings, scripts and logs of other tools into workload files.

Every format has a folder with a module `reading` and its function `read(path, options) -> Draft`. Each construct
that an importer cannot convert becomes a note with its position. `writing` writes the workload file of a draft, and
checks this file in the same way as `towtank validate`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from towtank.workload.importers.draft import Draft, Options, identifier, literal, steps_of
from towtank.workload.importers.writing import Imported, finish, json_document, note_lines

# Import formats: name on the command line, and description of the files. A package of the same name reads the format.
FORMATS = {
    "har": "recording of a browser or a proxy (HTTP Archive)",
    "jmx": "test plan of JMeter",
    "k6": "script of k6",
    "openapi": "description of an interface (OpenAPI 3, YAML or JSON)",
    "curl": "one or more command lines of curl",
    "accesslog": "access log of a web server (common, combined, with response times)",
}


def read(form: str, path: Path, options: Options) -> Draft:
    """Read a file of another tool into a draft.

    Parameters
    ----------
    form : str
        Name of the format, a key of `FORMATS`.
    path : Path
        Path of the file.
    options : Options
        Import options of the user.

    Raises
    ------
    StudyError
        Lists every fault, if the file cannot be read or has another format.
    """
    draft: Draft = import_module(f"{__name__}.{form}.reading").read(path, options)
    return draft


__all__ = [
    "FORMATS",
    "Draft",
    "Imported",
    "Options",
    "finish",
    "identifier",
    "json_document",
    "literal",
    "note_lines",
    "read",
    "steps_of",
]
