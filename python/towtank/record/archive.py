"""The HTTP Archive of a recording in progress: a complete file after every exchange.

Entry n is on line n, so that notes about line n are notes about request n. Each entry replaces the end of the document
together with a new end, in one call; if the disk is full, the old end is restored. A kill in the middle of that call
leaves a document whose last entry is cut off; the importer then reads the others.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from towtank import __version__
from towtank.errors import StudyError
from towtank.files import other_kind
from towtank.record.exchange import Exchange

# A recording contains secrets: only its owner may read the file.
_MODE = 0o600
# Greatest size: the importer reads files up to a gigabyte; a larger recording was probably forgotten. [byte]
BYTES_AT_MOST = 900_000_000
# Space for the end of a document: its pages.
_LOOKED_AT = 1 << 26


class Archive:
    """An HTTP Archive in a file.

    Parameters
    ----------
    path : Path
        The file; an existing one is overwritten.

    Attributes
    ----------
    count : int
        Exchanges that it has.
    failed : int
        Exchanges without a whole answer.
    hosts : dict of str to int
        Exchanges by host and port.
    fault : str
        Reason why it accepts no more; empty as long as it does.

    Raises
    ------
    StudyError
        If it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.fault = ""
        self.hosts: dict[str, int] = {}
        self.failed = 0
        self._pages: list[dict[str, Any]] = []
        try:
            if (kind := other_kind(path)) is not None:
                raise StudyError.at(path, f"must be a file, got {kind} instead")
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE)
            os.fchmod(file, _MODE)
        except OSError as error:
            message = f"must be a file that can be written, got: {error.strerror}"
            raise StudyError.at(path, message) from None
        self._file = file
        self._is_open = True
        self._end = 0
        creator = json.dumps({"name": "towtank", "version": __version__})
        try:
            self._put(f'{{"log":{{"version":"1.2","creator":{creator},"entries":['.encode())
        except OSError as error:
            self.close()
            raise StudyError.at(path, f"must be a file that can be written, got: {error.strerror}") from None

    def page(self, title: str, started: str) -> str:
        """Begin a page, and return its name."""
        name = f"page_{len(self._pages) + 1}"
        self._pages.append({"id": name, "title": title, "startedDateTime": started, "pageTimings": {}})
        return name

    def add(self, exchange: Exchange) -> None:
        """Append an exchange to the file."""
        text = json.dumps(exchange.entry(), ensure_ascii=True, separators=(",", ":")).encode()
        if self.fault or self._end + len(text) > BYTES_AT_MOST:
            self.fault = self.fault or f"the recording has {BYTES_AT_MOST // 10**6} MB, which is the limit"
            return
        try:
            self._put((b",\n" if self.count else b"") + text)
        except OSError as error:
            self.fault = f"{self.path} can no longer be written: {error.strerror}"
            return
        self.count += 1
        self.failed += bool(exchange.error)
        self.hosts[exchange.host] = self.hosts.get(exchange.host, 0) + 1

    def _put(self, more: bytes) -> None:
        """Write a part and the end of the document in place of its end.

        Raises
        ------
        OSError
            If the disk is full; the document is as before.
        """
        pages = json.dumps(self._pages, separators=(",", ":"))
        whole = more + f'],"pages":{pages}}}}}\n'.encode()
        before = os.pread(self._file, _LOOKED_AT, self._end)
        try:
            written = _write(self._file, whole, self._end)
        except OSError:
            # Its space is still allocated.
            os.ftruncate(self._file, self._end + len(before))
            _write(self._file, before, self._end)
            raise
        os.ftruncate(self._file, self._end + written)
        self._end += len(more)

    def close(self) -> None:
        """Close the file; it is complete already."""
        if self._is_open:
            self._is_open = False
            os.close(self._file)


def _write(file: int, content: bytes, place: int) -> int:
    """Write all of a text; the system may accept it in parts, of which the last fails if the disk is full."""
    written = 0
    while written < len(content):
        written += os.pwrite(file, memoryview(content)[written:], place + written)
    return written
