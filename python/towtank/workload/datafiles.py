"""Reads the files that a workload names: CSV files with pool data, and files that requests send."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

from towtank.workload import templates

# Largest number of characters that are read of the header, the first line of a CSV file.
_HEADER_AT_MOST = 65536
# Number of bytes at the start of a file that are searched for placeholders `${...}`. Text files written by hand are
# shorter, so that they are searched completely.
_LOOKED_AT = 1 << 20
_PLACE = re.compile(r"(?<!\$)\$\{[^{}\n]{1,80}\}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)


def header(path: Path) -> list[str]:
    """Read the column names from the first line of a CSV file.

    Raises
    ------
    ValueError
        If the file is unreadable, or has no header or no rows; the message gives the reason.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(_HEADER_AT_MOST)
            second = stream.readline(_HEADER_AT_MOST)
    except UnicodeDecodeError:
        raise ValueError(f"must be a CSV file in UTF-8, got another encoding in {str(path)!r}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"must be a CSV file that can be read, got {str(path)!r}: {reason}") from None
    if first.lstrip().startswith(("{", "[")):
        raise ValueError(f"must be a CSV file, got {str(path)!r}, which looks like JSON: only CSV is read")
    names = next(csv.reader([first]), [])
    if not names or not all(name.strip() for name in names):
        raise ValueError(
            f"must be a CSV file whose first line names the columns, got {first.strip()[:60]!r} in {str(path)!r}"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"must be a CSV file with different names of columns, got {', '.join(names)} in {str(path)!r}")
    if not second.strip():
        raise ValueError(f"must be a CSV file with rows below the names of columns, got none in {str(path)!r}")
    return names


def weight(text: str) -> float | None:
    """Parse the weight of a row of a data pool; return None if the text is not a number of at least 0."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    number = float(text)
    return number if math.isfinite(number) and number >= 0 else None


def check_rows(path: Path, weight_column: str | None) -> None:
    """Check all rows of a CSV file by the rules that the engine applies to them.

    Raises
    ------
    ValueError
        If a row has another number of fields than the header, if the weight of a row is missing or invalid, or if no
        row has a weight above 0.
    """
    total, any_row = 0.0, False
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream)
            names = next(rows)
            place = None if weight_column is None or weight_column not in names else names.index(weight_column)
            for row in rows:
                if not row:
                    continue
                any_row = True
                if len(row) != len(names):
                    raise ValueError(
                        f"must have {len(names)} fields in each row, like the header, got {len(row)} in line "
                        f"{rows.line_num} of {str(path)!r}"
                    )
                if place is None:
                    continue
                number = weight(row[place])
                if number is None:
                    got = f"{row[place]!r} in line {rows.line_num} of {str(path)!r}"
                    raise ValueError(f"must have a weight of at least 0 in the column {weight_column!r}, got {got}")
                total += number
    except UnicodeDecodeError:
        raise ValueError(f"must be a CSV file in UTF-8, got another encoding in {str(path)!r}") from None
    except csv.Error as error:
        raise ValueError(f"must be a CSV file, got {str(path)!r}: {error}") from None
    if place is not None and any_row and not total > 0:
        raise ValueError(f"must have a weight above 0 in the column {weight_column!r}, got none in {str(path)!r}")


def place_in(path: Path, is_filled: Callable[[templates.Part], bool]) -> str | None:
    """Return the first placeholder `${...}` in a text file for which the workload could have a value; None if the file
    has no such placeholder. Only the beginning of a long file is searched.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(_LOOKED_AT).decode("utf-8", "ignore")
    except OSError:
        return None
    for match in _PLACE.finditer(text):
        try:
            parts = templates.parse(match.group())
        except ValueError:
            continue
        if any(is_filled(part) for part in parts):
            return match.group()
    return None
