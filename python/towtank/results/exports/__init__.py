"""Exports results in the formats of other tools; each format has a module and is registered here by name.

`towtank.analysis.gather` collects the data to export (a `Material`). A format creates files from these data, and
`towtank.cli.export_files` writes each file atomically.
"""

from __future__ import annotations

from importlib import import_module

from towtank.results.exports.format import ExportFormat

# Names of the formats. For each name, this package has a module `<name>_format` with the constant `FORMAT`.
EXPORT_FORMATS = ("csv", "github", "hlog", "jtl", "junit", "markdown", "openmetrics", "otlp", "parquet")


def find_format(name: str) -> ExportFormat:
    """Return the format with the given name, which must be in `EXPORT_FORMATS`."""
    found = import_module(f"towtank.results.exports.{name}_format").FORMAT
    assert isinstance(found, ExportFormat)
    return found
