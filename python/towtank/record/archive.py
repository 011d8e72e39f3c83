"""Writes the HTTP Archive of a recording. The file is a complete document after every exchange.

Entry n is on line n, so a note about line n concerns request n. Each new entry overwrites the end of the document, and
is followed by a new end; entry and end are written by a single call. If the disk is full, the old end is restored. If
the process is killed during this call, only the last entry is lost.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from towtank.errors import StudyError
from towtank.files import other_kind
from towtank.record.exchange import Exchange
from towtank.version import __version__

# A recording contains secrets, so only its owner may read the file.
_MODE = 0o600
# Largest size of the file. The importer reads up to a gigabyte. [byte]
BYTES_AT_MOST = 900_000_000
# Largest size of the end of the document (mainly the list of pages), which is restored after a failed write. [byte]
_LOOKED_AT = 1 << 26


class Archive:
    """HTTP Archive file that grows with each exchange (a request and its response).

    Parameters
    ----------
    path : Path
        Path of the file; an existing file is overwritten.

    Attributes
    ----------
    count : int
        Number of stored exchanges.
    failed : int
        Number of exchanges without a complete response.
    hosts : dict of str to int
        Number of exchanges by host and port.
    fault : str
        Reason why no more exchanges are accepted; empty while exchanges are accepted.

    Raises
    ------
    StudyError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.fault = ""
        self.hosts: dict[str, int] = {}
        self.failed = 0
        self._pages: list[dict[str, object]] = []
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
        """Begin a page of the archive, and return its name."""
        name = f"page_{len(self._pages) + 1}"
        self._pages.append({"id": name, "title": title, "startedDateTime": started, "pageTimings": {}})
        return name

    def add(self, exchange: Exchange) -> None:
        """Append an exchange (a request and its response) to the archive file."""
        text = json.dumps(exchange.entry(), ensure_ascii=True, separators=(",", ":")).encode()
        if self.fault or self._end + len(text) > BYTES_AT_MOST:
            self.fault = self.fault or f"the recording has reached its limit of {BYTES_AT_MOST // 10**6} MB"
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
        """Write `more` and a new end of the document in place of the old end.

        Raises
        ------
        OSError
            If the disk is full; the document is then unchanged.
        """
        pages = json.dumps(self._pages, separators=(",", ":"))
        whole = more + f'],"pages":{pages}}}}}\n'.encode()
        before = os.pread(self._file, _LOOKED_AT, self._end)
        try:
            written = _write(self._file, whole, self._end)
        except OSError:
            # The disk blocks of the old end are still allocated, so writing the old end again cannot fail.
            os.ftruncate(self._file, self._end + len(before))
            _write(self._file, before, self._end)
            raise
        os.ftruncate(self._file, self._end + written)
        self._end += len(more)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._file)


def _write(file: int, content: bytes, place: int) -> int:
    """Write the whole content at a position of the file. `pwrite` may write fewer bytes than requested, so it is called
    until all bytes are written or it fails.
    """
    written = 0
    while written < len(content):
        written += os.pwrite(file, memoryview(content)[written:], place + written)
    return written
