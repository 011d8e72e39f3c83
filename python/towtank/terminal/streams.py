"""Makes standard output and standard error robust against missing characters, closed pipes and full disks.

A measurement may take hours; its command must not fail because the last line cannot be printed.
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

# Name of the error handler, registered with `codecs`, that replaces characters that a stream's encoding lacks.
FALLBACK = "towtank-plain"
_PLAIN = {
    "µ": "u", "μ": "u", "×": "x", "·": "*", "÷": "/", "±": "+/-", "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~",
    "–": "-", "—": "-", "−": "-", "‑": "-", "…": "...", "→": "->", "←": "<-", "‘": "'", "’": "'", "“": '"', "”": '"',
    "„": '"', "•": "*", "∞": "inf", "√": "sqrt", "Σ": "sum", "Δ": "delta", "λ": "lambda", "σ": "sigma", "κ": "kappa",
    "α": "alpha", "β": "beta", "ρ": "rho", "°": " deg", "²": "^2", "³": "^3", "ß": "ss", "│": "|", "┃": "|", "║": "|",
    "─": "-", "━": "-", "═": "=", "╸": "-", "╺": "-", "█": "#", "✓": "yes", "✗": "no",
}  # fmt: skip


def plain(character: str) -> str:
    """Return an ASCII spelling of a character; if none is known, its escape sequence.

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


# Characters that control a terminal, change the direction of text, or end a line.
_STEERING = ("Cc", "Cf", "Zl", "Zp")


def visible(text: str) -> str:
    r"""Escape the control characters in text of other programs, except line feeds and tabs.

    Examples
    --------
    >>> print(visible("a\x1b]0;title\x07 größer\u202e"))
    a\x1b]0;title\x07 größer\u202e
    """
    return "".join(
        _escaped(each) if unicodedata.category(each) in _STEERING and each not in "\n\t" else each for each in text
    )


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def is_unicode(stream: TextIO) -> bool:
    """Return True if a stream can encode every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


class _Lasting(io.RawIOBase):
    """Stream that writes to a file descriptor, and discards all output after the first error.

    Attributes
    ----------
    fault : OSError or None
        Error because of which output was lost; None if no output was lost, or if the reader closed the pipe.
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
        """Write to the descriptor; if it is non-blocking and its buffer is full, wait."""
        while True:
            try:
                return os.write(descriptor, view)
            except BlockingIOError:
                poll = select.poll()
                poll.register(descriptor, select.POLLOUT)
                poll.poll()


class Outcome(Protocol):
    """Interface to the result of writing a command's output."""

    @property
    def lost(self) -> OSError | None:
        """Error because of which output was lost; None if no output was lost."""


class _Output:
    def __init__(self) -> None:
        self._raws: list[_Lasting] = []

    def wrap(self, stream: TextIO | None) -> TextIO:
        """Return a stream that writes to the descriptor of `stream` and never raises an error."""
        raw = _Lasting(_descriptor(stream))
        self._raws.append(raw)
        # Each line is written immediately on a terminal, and on standard error always, so that users see progress.
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
    """Replace standard output and standard error by streams whose writes never raise an error.

    If a caller such as a test has already replaced the streams, they stay unchanged.
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
