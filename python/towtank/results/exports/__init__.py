"""Writes results in the forms that other tools read: one file per format, registered by its name here.

`towtank.analysis.gather` collects the data to export (a `Material`); a format makes files of it, and `writing` puts
them in place, each in one atomic step.
"""

from __future__ import annotations

from importlib import import_module

from towtank.results.exports.format import Format

# Each names a module of this package, `<name>_format`, with a `FORMAT`.
FORMATS = ("csv", "github", "hlog", "jtl", "junit", "markdown", "openmetrics", "otlp", "parquet")


def find(name: str) -> Format:
    """Return the format of a name in `FORMATS`."""
    found = import_module(f"towtank.results.exports.{name}_format").FORMAT
    assert isinstance(found, Format)
    return found
