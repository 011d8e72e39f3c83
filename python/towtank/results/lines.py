"""Reads and writes checksummed lines, the format of every recorded stream.

A line consists of eight hexadecimal digits, one blank, one JSON document without line breaks, and one line feed. The
digits are the CRC-32 of the document, as in zlib. If the process ends while it writes a line, only this line is lost.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
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


def read(path: Path, damage: Damage | None = None) -> Iterator[dict[str, object]]:
    """Yield the documents of all complete lines of a stream. Damaged lines are skipped, and counted in `damage`."""
    damage = damage if damage is not None else Damage()
    with open_regular(path) as stream:
        for line in stream:
            whole = line.endswith(b"\n")
            document = decode(line.rstrip(b"\n"))
            if document is not None and whole:
                yield document
            elif whole:
                damage.bad_lines += 1
            else:
                damage.torn_tail = True
