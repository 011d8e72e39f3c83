"""The HTTP Archive that a recording is kept in while it is made: a whole file after every exchange.

Entry n stands in line n, so that notes about line n are notes about request n. The end of the document is written after
every entry and written over by the next one: a recording that is killed loses nothing but the exchange in progress.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from towtank import __version__
from towtank.errors import StudyError
from towtank.record.exchange import Exchange

# A recording has secrets in it: nobody but its owner may read the file.
_MODE = 0o600
# The importer reads files up to a gigabyte; a recording that comes there has been forgotten. [byte]
BYTES_AT_MOST = 900_000_000


class Archive:
    """An HTTP Archive in a file.

    Parameters
    ----------
    path : Path
        The file; what is there is written over.

    Attributes
    ----------
    count : int
        Exchanges that it has.
    failed : int
        Those of them without a whole answer.
    hosts : dict of str to int
        Exchanges by host and port.
    fault : str
        Why it takes no more; empty as long as it does.

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
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE)
            os.fchmod(file, _MODE)
            self._stream = os.fdopen(file, "r+b")
        except OSError as error:
            message = f"must be a file that can be written, got: {error.strerror}"
            raise StudyError.at(path, message) from None
        creator = json.dumps({"name": "towtank", "version": __version__})
        self._end = self._stream.write(f'{{"log":{{"version":"1.2","creator":{creator},"entries":['.encode())
        self._finish()

    def page(self, title: str, started: str) -> str:
        """Begin a page, and give its name."""
        name = f"page_{len(self._pages) + 1}"
        self._pages.append({"id": name, "title": title, "startedDateTime": started, "pageTimings": {}})
        return name

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange, on disk."""
        text = json.dumps(exchange.entry(), ensure_ascii=True, separators=(",", ":")).encode()
        if self.fault or self._end + len(text) > BYTES_AT_MOST:
            self.fault = self.fault or f"the recording has {BYTES_AT_MOST // 10**6} MB, more is not taken"
            return
        try:
            self._stream.seek(self._end)
            written = self._stream.write((b",\n" if self.count else b"") + text)
            self._finish()
        except OSError as error:
            self.fault = f"{self.path} cannot be written any longer: {error.strerror}"
            return
        self._end += written
        self.count += 1
        self.failed += bool(exchange.error)
        self.hosts[exchange.host] = self.hosts.get(exchange.host, 0) + 1

    def _finish(self) -> None:
        """Write the end of the document behind the last entry."""
        pages = json.dumps(self._pages, separators=(",", ":"))
        self._stream.write(f'],"pages":{pages}}}}}\n'.encode())
        self._stream.truncate()
        self._stream.flush()

    def close(self) -> None:
        """Close the file; it is whole already."""
        self._stream.close()
