"""Exports the page of the format `markdown`, and appends it to the summary of the current GitHub job step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from towtank.errors import Fault, ReportError
from towtank.results.exports import markdown_format
from towtank.results.exports.format import ExportFormat, ExportOptions, sends_nothing

VARIABLE = "GITHUB_STEP_SUMMARY"
# Largest size of the summary file of a step. If the file is larger, GitHub shows no summary at all. [byte]
_BYTES_AT_MOST = 1024 * 1024


def _check(options: ExportOptions) -> list[Fault]:
    faults = sends_nothing(options)
    summary = options.step_summary
    if not summary:
        message = "must name the file with the step summary of a GitHub job; use --to markdown elsewhere"
        faults.append(Fault.of_option(f"${VARIABLE}", message))
    elif not Path(summary).parent.is_dir() or Path(summary).is_dir():
        message = f"must name a file that can be written, got {summary!r} instead"
        faults.append(Fault.of_option(f"${VARIABLE}", message))
    return faults


def _append(paths: Sequence[Path], options: ExportOptions) -> Mapping[str, object]:
    """Append the Markdown page to the step summary in a single write. If the summary does not end with a line break,
    the page is preceded by one.
    """
    summary = Path(str(options.step_summary))
    try:
        page = paths[0].read_bytes()
        before = summary.read_bytes() if summary.exists() else b""
        gap = b"" if before.endswith(b"\n") or not before else b"\n"
        if len(before) + len(gap) + len(page) > _BYTES_AT_MOST:
            raise ReportError(f"the summary was not appended to {summary}: it would be larger than 1 MiB")
        with summary.open("ab", buffering=0) as stream:
            stream.write(gap + page)
    except OSError as error:
        raise ReportError.unwritten("the summary could not be appended", summary, error) from error
    return {"appended_to": str(summary)}


FORMAT = replace(
    markdown_format.FORMAT,
    name="github",
    carries="the same page, also in the summary of a GitHub step",
    check=_check,
    deliver=_append,
)
assert isinstance(FORMAT, ExportFormat)
