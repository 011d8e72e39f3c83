"""Reads checksummed lines from files to which other processes are still writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from towtank.results import lines

# Largest amount that one call reads from a file; the next call reads more. [byte]
_READ_AT_MOST = 8 << 20


class Follower:
    """Reads the lines that were added to the files of a folder since the last call.

    Parameters
    ----------
    folder : Path
        Folder of the files, which need not exist yet.
    pattern : str
        Pattern of the file names, for `Path.glob`.
    """

    def __init__(self, folder: Path, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern
        self._read_until: dict[Path, int] = {}

    def new(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the documents in new, complete lines, each with its file.

        Damaged lines are skipped here, because the analysis after the run reports them.
        """
        for path in sorted(self._folder.glob(self._pattern)):
            for line in self._lines(path):
                document = lines.decode(line)
                if document is not None:
                    yield path, document

    def _lines(self, path: Path) -> list[bytes]:
        start = self._read_until.get(path, 0)
        with path.open("rb") as stream:
            stream.seek(start)
            whole, newline, _ = stream.read(_READ_AT_MOST).rpartition(b"\n")
        if not newline:  # Nothing was added to the file, or its last line is still being written.
            return []
        self._read_until[path] = start + len(whole) + 1
        return whole.split(b"\n")
