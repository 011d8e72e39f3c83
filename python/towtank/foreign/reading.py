"""Recognises the format of a result file, and reads the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from towtank.errors import Fault, StudyError
from towtank.foreign.forms import FORMS, plain
from towtank.foreign.requests import Collector, Requests, Skipped, Summary
from towtank.foreign.source import Source

PLAIN = "start_s,elapsed_ms and optionally ok (0 or 1) and transaction"
"""Columns of the plain CSV format, to which users can convert a file of an unknown format."""
_Content = TypeVar("_Content")


@dataclass
class Foreign:
    """Content of a result file.

    Attributes
    ----------
    file : Path
    form : str
        Name of the format, such as `k6 JSON`.
    requests : Requests or None
        Individual requests; None for a file that contains only a summary.
    summary : Summary or None
        Summary; None for a file of individual requests.
    skipped : Skipped
        Counts of the rows that contain no usable request.
    cut : str
        Reason why the file is incomplete; empty if it is complete.
    not_sent : int
        Requests that the load generator planned and did not send; 0 if the file does not contain this number. [1]
    notes : list of str
        Properties of the format that matter for the interpretation of the file's figures.
    """

    file: Path
    form: str
    requests: Requests | None = None
    summary: Summary | None = None
    skipped: Skipped = field(default_factory=Skipped)
    cut: str = ""
    not_sent: int = 0
    notes: list[str] = field(default_factory=list)


def recognised() -> str:
    names = [form.NAME for form in FORMS]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def read_foreign(path: Path) -> Foreign:
    """Read a result file of any known format.

    Raises
    ------
    StudyError
        If the file cannot be read, or its format is not recognised.
    """
    source = Source(path)
    head = _head(source)
    for form in FORMS:
        if not form.recognises(head):
            continue
        content = Collector()
        found = _guarded(path, lambda form=form, content=content: form.read(source, content))  # type: ignore[misc]
        foreign = Foreign(path, form.NAME, skipped=content.skipped, cut=source.cut or found.cut)
        foreign.notes, foreign.not_sent, foreign.summary = list(found.notes), found.not_sent, found.summary
        if found.summary is None:
            _refuse_other_unit(path, form.NAME, content)
            foreign.requests = content.requests()
        return foreign
    begin = head.strip().splitlines()[0][:80] if head.strip() else ""
    got = f"a file that begins with {begin!r}" if begin else "an empty file"
    fault = Fault(str(path), 0, 0, "", f"must be a result file ({recognised()}), got {got} instead")
    raise StudyError([fault], hint=f"a plain CSV has the columns {PLAIN}")


def _refuse_other_unit(path: Path, name: str, content: Collector) -> None:
    unit = content.wrong_unit()
    if unit and name == plain.NAME:
        text = f"must be in seconds, got {unit} since 1970 instead"
        raise StudyError([Fault(str(path), 2, 1, "start_s", text)], hint=f"write the starts in seconds, not in {unit}")
    if unit:
        text = f"starts must be in seconds and before the year 5138, got {unit} instead, which {name} does not use"
        raise StudyError.at(path, text)


def _head(source: Source) -> str:
    if source.path.is_dir():
        raise StudyError.at(source.path, "must be a result file, got a folder instead")
    return _guarded(source.path, lambda: source.head)


def _guarded(path: Path, call: Callable[[], _Content]) -> _Content:
    """Call a function that reads the file; if it fails, raise a `StudyError` that names the file."""
    try:
        return call()
    except FileNotFoundError:
        raise StudyError.at(path, "must be a result file, got a path that does not exist instead") from None
    except (OSError, ValueError) as fault:
        raise StudyError.at(path, f"must be a result file that can be read, got {fault} instead") from None
