"""Defines the interface of export formats: their files, and optionally the delivery of the files, such as to a
server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towtank.errors import Fault
from towtank.results.exports.material import Material


@dataclass(frozen=True)
class ExportOptions:
    """Export options from the command line and the environment: URL to which metrics are sent, HTTP headers of the
    requests, hosts that may receive metrics although they are outside loopback and private networks, and the summary
    file of a GitHub job step, from `$GITHUB_STEP_SUMMARY`.
    """

    endpoint: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    step_summary: str | None = None
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportFile:
    """File of an export: its path within the export folder, with `/` as separator, and a function that writes the
    complete content to a path.
    """

    name: str
    write: Callable[[Path], None]


def text_file(name: str, text: Callable[[], str]) -> ExportFile:
    """Return a text file of an export. The function `text` is called when the file is written."""
    return ExportFile(name, lambda path: _write_text(path, text()))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", newline="\n")


def sends_nothing(options: ExportOptions) -> list[Fault]:
    """Return a fault for each option about delivery that is given, for formats that only write files."""
    given = {"--endpoint": options.endpoint, "--header": options.headers}
    return [
        Fault.of_option(name, "must be given with --to otlp only: the other formats only write files")
        for name, value in given.items()
        if value
    ]


def stays_on_disk(paths: Sequence[Path], options: ExportOptions) -> Mapping[str, object]:  # noqa: ARG001 - the form of `deliver`
    """Return an empty mapping, for formats that do not deliver their files."""
    return {}


@dataclass(frozen=True)
class ExportFormat:
    """Export format: its files and their delivery.

    Attributes
    ----------
    name : str
        Name of the format, as given with `--to`.
    carries : str
        Short description of the exported content.
    files : callable
        Function that returns the files for the material.
    needs_records : bool
        True if the format reads the recorded intervals. A run without intervals then has no content to export.
    check : callable
        Function that returns all faults of the options before any data are read.
    deliver : callable
        Function that delivers the written files. It returns entries about the delivery, by name, for the output of the
        command.
    """

    name: str
    carries: str
    files: Callable[[Material], list[ExportFile]]
    needs_records: bool = False
    check: Callable[[ExportOptions], list[Fault]] = field(default=sends_nothing)
    deliver: Callable[[Sequence[Path], ExportOptions], Mapping[str, object]] = field(default=stays_on_disk)
