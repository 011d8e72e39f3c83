"""CSV files with the data of pools: their header and whether they can be used."""

from __future__ import annotations

import csv
from pathlib import Path

# A header longer than this is no header.
_HEADER_AT_MOST = 65536


def header(path: Path) -> list[str]:
    """Read the names of the columns of a CSV file.

    Raises
    ------
    ValueError
        If the file cannot be read, or has no header, or no row below it; the message says which.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(_HEADER_AT_MOST)
            second = stream.readline(_HEADER_AT_MOST)
    except UnicodeDecodeError:
        raise ValueError(f"must be a CSV file in UTF-8, got other bytes in {str(path)!r}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"must be a CSV file that can be read, got {str(path)!r}: {reason}") from None
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
