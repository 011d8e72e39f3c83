"""Writes streams: files to which checksummed lines are appended, each by a single write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from towtank.results import lines


class LineStream:
    """Stream that appends checksummed lines to a file.

    Parameters
    ----------
    path : Path
        Path of the file, which is created if missing; existing content is kept.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, document: Mapping[str, object]) -> None:
        """Append a document to the file. After this call, the document is kept even if this process is killed."""
        line = memoryview(lines.encode(document))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        """Write all data of the stream to disk, and close the file."""
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
