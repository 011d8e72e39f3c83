"""Examines options of curl that contain the data of a request or name a file with the data."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.files import is_regular_file
from towtank.workload.importers.curl.words import Word

# Number of bytes at the beginning of a file in which line ends are searched. [bytes]
_LOOKED_AT = 1_000_000


def is_file(option: str, value: Word) -> bool:
    """Return True if the value of an option names a file that contains the data."""
    return option in {"data", "data-ascii", "data-binary", "json"} and value.text.startswith("@")


def has_line_ends(name: str) -> bool:
    """Return True if a file exists and contains line ends near its beginning."""
    path = Path(name)
    if not is_regular_file(path):
        return False
    with path.open("rb") as stream:
        return re.search(rb"[\r\n]", stream.read(_LOOKED_AT)) is not None
