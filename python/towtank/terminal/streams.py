"""Standard output and standard error that never end a command: no missing character, no closed pipe, no full disk.

A measurement may take hours, and its last line must not be what it fails for.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TextIO

# Error handler of `codecs`: another spelling for each character that the encoding of a stream lacks.
FALLBACK = "towtank-plain"
_PLAIN = {
    "µ": "u", "μ": "u", "×": "x", "·": "*", "÷": "/", "±": "+/-", "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~",
    "–": "-", "—": "-", "−": "-", "‑": "-", "…": "...", "→": "->", "←": "<-", "‘": "'", "’": "'", "“": '"', "”": '"',
    "„": '"', "•": "*", "∞": "inf", "√": "sqrt", "Σ": "sum", "Δ": "delta", "λ": "lambda", "σ": "sigma", "κ": "kappa",
    "α": "alpha", "β": "beta", "ρ": "rho", "°": " deg", "²": "^2", "³": "^3", "ß": "ss", "│": "|", "┃": "|", "║": "|",
    "─": "-", "━": "-", "═": "=", "╸": "-", "╺": "-", "█": "#", "✓": "yes", "✗": "no",
}  # fmt: skip


def plain(character: str) -> str:
    """Spell a character in ASCII; what has no such spelling becomes its escape.

    Examples
    --------
    >>> "".join(map(plain, "µé≥语"))
    'ue>=\\\\u8bed'
    """
    spelled = _PLAIN.get(character)
    if spelled is None:
        spelled = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return spelled or character.encode("ascii", "backslashreplace").decode()


def _fall_back(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(plain, error.object[error.start : error.end])), error.end


codecs.register_error(FALLBACK, _fall_back)


def is_unicode(stream: TextIO) -> bool:
    """Whether a stream can take every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


class _Lasting(io.RawIOBase):
    """A file descriptor that takes everything, also after its other end was closed or its disk is full.

    Attributes
    ----------
    fault : OSError or None
        Why what was written is lost; None for a closed pipe, whose reader has read enough.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.fault: OSError | None = None

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def fileno(self) -> int:
        if self._descriptor is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._descriptor

    def write(self, data: object) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        if self._descriptor is None or self.fault is not None:
            return len(view)
        try:
            return self._written(self._descriptor, view)
        except OSError as error:
            if error.errno == errno.EPIPE:
                self._descriptor = None
            else:
                self.fault = error
        return len(view)

    def _written(self, descriptor: int, view: memoryview) -> int:
        """Write something; where another process made the descriptor one that does not wait, wait for it."""
        while True:
            try:
                return os.write(descriptor, view)
            except BlockingIOError:
                poll = select.poll()
                poll.register(descriptor, select.POLLOUT)
                poll.poll()


class Outcome(Protocol):
    """What became of the output."""

    @property
    def lost(self) -> OSError | None:
        """Why some of it was lost; None if nothing was."""


class _Output:
    def __init__(self) -> None:
        self._raws: list[_Lasting] = []

    def wrap(self, stream: TextIO | None) -> TextIO:
        """A stream over the same descriptor that never raises for what becomes of what is written."""
        raw = _Lasting(_descriptor(stream))
        self._raws.append(raw)
        # What is read while it goes on comes line by line.
        by_line = raw.isatty() or stream is sys.__stderr__
        return io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=getattr(stream, "encoding", None) or "utf-8",
            errors=FALLBACK,
            line_buffering=by_line,
        )

    @property
    def lost(self) -> OSError | None:
        return next((raw.fault for raw in self._raws if raw.fault is not None), None)


def _descriptor(stream: TextIO | None) -> int | None:
    with suppress(OSError, ValueError, AttributeError):
        return stream.fileno() if stream is not None else None
    return None


@contextmanager
def any_output() -> Iterator[Outcome]:
    """Put streams that take everything in the place of standard output and standard error.

    Streams that are not those of the process, as in a test, stay as they are.
    """
    output = _Output()
    before = sys.stdout, sys.stderr
    if sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
        for stream in before:
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        sys.stdout, sys.stderr = map(output.wrap, before)
    try:
        yield output
    finally:
        if sys.stdout is not before[0]:
            sys.stdout.flush()
            sys.stderr.flush()
        sys.stdout, sys.stderr = before
