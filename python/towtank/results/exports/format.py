"""A format: the files that it makes of the material, and their delivery after they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towtank.errors import Fault
from towtank.results.exports.material import Material

COMMAND_LINE = "<command line>"


@dataclass(frozen=True)
class Options:
    """Options of the caller.

    Attributes
    ----------
    endpoint : str or None
        Receiver of the metrics.
    headers : tuple of (str, str)
        Headers of these requests.
    allowed : tuple of str
        Hosts outside of loopback and private networks that may receive metrics.
    step_summary : str or None
        File that a GitHub job shows on its page, from `$GITHUB_STEP_SUMMARY`.
    """

    endpoint: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    step_summary: str | None = None
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class File:
    """One file of an export.

    Attributes
    ----------
    name : str
        Path within the folder of the export, with `/`.
    write : callable
        Writes the whole content to the given path.
    """

    name: str
    write: Callable[[Path], None]


def text_file(name: str, text: Callable[[], str]) -> File:
    """Make a file of text that fits into memory; `text` is called when the file is written."""
    return File(name, lambda path: _write_text(path, text()))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", newline="\n")


def sends_nothing(options: Options) -> list[Fault]:
    """Return faults of options that are of use only to a format that sends."""
    given = {"--endpoint": options.endpoint, "--header": options.headers}
    return [
        Fault(COMMAND_LINE, 0, 0, name, "must be given with --to otlp only: other formats are not sent anywhere")
        for name, value in given.items()
        if value
    ]


def stays_on_disk(paths: Sequence[Path], options: Options) -> Mapping[str, object]:  # noqa: ARG001 - the form of `deliver`
    """Do nothing with the files after they are written."""
    return {}


@dataclass(frozen=True)
class Format:
    """One form of results.

    Attributes
    ----------
    name : str
        As given to `--to`.
    carries : str
        Its content, in a few words.
    files : callable
        Makes the files of the material.
    needs_records : bool
        Whether it is made from the recorded intervals, so that a run without any has no content.
    check : callable
        Returns all faults of the options at once, before anything is read.
    deliver : callable
        Delivers the written files; returns facts about the delivery by name, for the output of the command.
    """

    name: str
    carries: str
    files: Callable[[Material], list[File]]
    needs_records: bool = False
    check: Callable[[Options], list[Fault]] = field(default=sends_nothing)
    deliver: Callable[[Sequence[Path], Options], Mapping[str, object]] = field(default=stays_on_disk)
