"""One recorded stream that is added to, line by line, each line in one write."""

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
        Made if it is not there; what it holds is kept.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, document: dict[str, Any]) -> None:
        """Append one document; a kill afterwards does not lose it."""
        line = memoryview(lines.encode(document))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        """Force everything to disk and close."""
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
