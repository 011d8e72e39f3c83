"""Writes files to which checksummed lines are appended, each by a single system call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from towtank.results import lines


class LineStream:
    """File to which checksummed lines are appended.

    Parameters
    ----------
    path : Path
        Path of the file, which is created if missing; existing content is kept.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, document: Mapping[str, object]) -> None:
        """Append a document as one line. The line survives if this process is killed after this call."""
        line = memoryview(lines.encode(document))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        """Flush the file to disk, and close it."""
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
