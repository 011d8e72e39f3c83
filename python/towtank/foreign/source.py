"""Reads a result file as text. The file may be compressed by gzip, truncated, and encoded in UTF-8 or UTF-16."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO

from towtank.foreign.requests import Skipped

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 1 << 16
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


class Source:
    """Result file that is read as text. `cut`, set while the file is read, is the reason why the compressed file is
    incomplete; empty if it is complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = ""

    @cached_property
    def head(self) -> str:
        """Text of the first 64 KiB of the file."""
        with self._open() as stream:
            content = self._part(stream)
        return content.decode(self._encoding(content), "replace").replace("\0", "")

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file with their line ends; a truncated compressed file yields all text that can be
        decompressed.
        """
        with self._open() as stream:
            encoding = self._encoding(self._first_bytes)
        if encoding == "utf-16":
            yield from self.text().splitlines(keepends=True)
            return
        with self._open() as stream:
            while line := self._line(stream):
                yield line.decode(encoding, "replace").replace("\0", "")

    def text(self) -> str:
        with self._open() as stream:
            parts = []
            while part := self._part(stream):
                parts.append(part)
        content = b"".join(parts)
        return content.decode(self._encoding(content), "replace").replace("\0", "")

    def rows(self, skipped: Skipped, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
        """Yield the non-empty rows of a table with their line numbers."""
        reader = csv.reader(self.lines(), delimiter=delimiter)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as fault:
                skipped.add(f"not a row of a table ({fault})", reader.line_num)
                continue
            if row:
                yield reader.line_num, row

    @cached_property
    def _first_bytes(self) -> bytes:
        with self._open() as stream:
            return self._part(stream)[:4]

    def _open(self) -> IO[bytes]:
        with self.path.open("rb") as stream:
            is_packed = stream.read(2) == _GZIP
        if is_packed:
            return gzip.GzipFile(self.path, "rb")  # type: ignore[return-value]  # it is read like any other stream
        return self.path.open("rb")

    def _part(self, stream: IO[bytes]) -> bytes:
        try:
            return stream.read(_HEAD_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
            return self._rest(fault)

    def _line(self, stream: IO[bytes]) -> bytes:
        try:
            return stream.readline()
        except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
            return self._rest(fault)

    def _rest(self, fault: Exception) -> bytes:
        self.cut = f"the compressed file is damaged or cut off ({fault})"
        return b""

    @staticmethod
    def _encoding(content: bytes) -> str:
        return next((encoding for mark, encoding in _BOMS if content.startswith(mark)), "utf-8")
