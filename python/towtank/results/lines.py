"""Reads and writes checksummed lines, the format of every recorded stream.

A line consists of eight hexadecimal digits, one blank, one JSON document without line breaks, and one line feed. The
digits are the CRC-32 of the document, as in zlib. If the process ends while it writes a line, only this line is lost.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from towtank.files import open_regular

_DIGITS = 8


@dataclass
class Damage:
    """Counts the unreadable parts of a recorded stream: damaged lines, and an incomplete last line (`torn_tail`)."""

    torn_tail: bool = False
    bad_lines: int = 0


def encode(document: Mapping[str, object]) -> bytes:
    """Encode a document as a checksummed line with a line feed."""
    body = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode(line: bytes) -> dict[str, object] | None:
    """Decode one line without its line feed; return None if the line has no checksum or a wrong checksum."""
    body = line[_DIGITS + 1 :]
    try:
        if int(line[:_DIGITS], 16) != zlib.crc32(body):
            return None
        document = json.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


class NewLines:
    """Reads the lines that were added to the files of a folder since the last call. The folder need not exist yet.

    Parameters
    ----------
    pattern : str
        Pattern of the file names, for `Path.glob`.
    at_most : int
        Largest amount that one call reads from a file; the next call reads more. [byte]
    """

    def __init__(self, folder: Path, pattern: str, at_most: int = -1) -> None:
        self._folder, self._pattern, self._at_most = folder, pattern, at_most
        self._read_until: dict[Path, int] = {}

    def new(self) -> Iterator[tuple[Path, dict[str, object]]]:
        """Yield the documents in new, complete lines, each with its file.

        Damaged lines are skipped here, because the analysis after the run reports them.
        """
        for path in sorted(self._folder.glob(self._pattern)):
            start = self._read_until.get(path, 0)
            with open_regular(path) as stream:
                stream.seek(start)
                whole, newline, _ = stream.read(self._at_most).rpartition(b"\n")
            if not newline:  # Nothing was added to the file, or its last line is still being written.
                continue
            self._read_until[path] = start + len(whole) + 1
            for line in whole.split(b"\n"):
                if (document := decode(line)) is not None:
                    yield path, document


def read(path: Path, damage: Damage | None = None) -> Iterator[dict[str, object]]:
    """Yield the documents of all complete lines of a stream. Damaged lines are skipped, and counted in `damage`."""
    with open_regular(path) as stream:
        yield from documents(stream, Damage() if damage is None else damage)


def documents(stream: Iterable[bytes], damage: Damage) -> Iterator[dict[str, object]]:
    """Yield the documents of all complete lines. Damaged lines are skipped, and counted in `damage`."""
    for line in stream:
        whole = line.endswith(b"\n")
        document = decode(line.rstrip(b"\n"))
        if document is not None and whole:
            yield document
        elif whole:
            damage.bad_lines += 1
        else:
            damage.torn_tail = True


def is_intact(line: bytes) -> bool:
    """Return True if a line is complete and has the right checksum."""
    try:
        return line.endswith(b"\n") and int(line[:_DIGITS], 16) == zlib.crc32(line[_DIGITS + 1 : -1])
    except ValueError:
        return False
