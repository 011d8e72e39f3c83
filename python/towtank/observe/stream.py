"""Recorded stream of checksummed lines, each appended in one write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from towtank.results import lines


class LineStream:
    """Appends checksummed lines to a file.

    Parameters
    ----------
    path : Path
        Created if it does not exist; existing contents are kept.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, document: dict[str, Any]) -> None:
        """Append one document, which is kept even if the process is killed afterwards."""
        line = memoryview(lines.encode(document))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        """Write all data to disk, and close the file."""
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
