"""Importers: convert recordings, scripts and logs of other tools into workload files.

Every format is one folder, whose `reading` has a function `read(path, options) -> Draft`, which reports everything that
it could not carry over as notes with their places. `writing` writes the workload file of a draft and checks it as
`towtank validate` does, so that every file that it writes can be run.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from towtank.workload.importers.draft import Draft, Options

# Formats: name on the command line, description of the files. The folder of the same name reads the format.
FORMATS = {
    "har": "recording of a browser or a proxy (HTTP Archive)",
    "jmx": "test plan of JMeter",
    "k6": "script of k6",
    "openapi": "description of an interface (OpenAPI 3, YAML or JSON)",
    "curl": "one or more command lines of curl",
    "accesslog": "access log of a web server (common, combined, with response times)",
}


def read(form: str, path: Path, options: Options) -> Draft:
    """Read a file of another tool.

    Parameters
    ----------
    form : str
        A key of `FORMATS`.
    path : Path
        The file.
    options : Options
        Choices of the user.

    Raises
    ------
    StudyError
        If the file cannot be read or is not of that format; with every fault.
    """
    draft: Draft = import_module(f"{__name__}.{form}.reading").read(path, options)
    return draft


__all__ = ["FORMATS", "Draft", "Options", "read"]
