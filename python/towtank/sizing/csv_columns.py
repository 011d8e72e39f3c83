"""Reads the rows of a CSV file that must have certain columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from towtank.errors import Fault, StudyError
from towtank.spelling import did_you_mean


def read_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Read the file, and return an iterator over the line number and the cells by column of each row that is not blank.

    Raises
    ------
    StudyError
        If the file cannot be read, or lacks one of the columns `names`.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = [[cell.strip() for cell in line] for line in csv.reader(stream)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError.at(path, f"must be a CSV file that can be read, got: {reason}") from None
    head = lines[0] if lines else []
    if missing := [name for name in dict.fromkeys(names) if name not in head]:
        got = f"got the columns {', '.join(head) or 'none'} instead"
        raise StudyError(
            [
                Fault(str(path), 1, 1, "", f"must have the column {name!r}, {got}{did_you_mean(name, head)}")
                for name in missing
            ]
        )
    return ((number, dict(zip(head, line, strict=False))) for number, line in enumerate(lines[1:], 2) if any(line))
