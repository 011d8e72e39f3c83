"""Puts files in place: each is either the old one or the whole new one, and only a regular file is replaced."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotAFileError(OSError):
    """The place of a file holds something else, which must not be replaced."""


def put(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place, then move it there in one step.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing. A symbolic link stays, and the file that it names is replaced.
    write : callable
        Writes the whole content to the path given.

    Raises
    ------
    NotAFileError
        If something that is no regular file is in its place.
    OSError
        If it cannot be written; nothing is left behind.

    Notes
    -----
    `write` finds an empty file. It has the mode of the file that it replaces.
    """
    place = path.resolve() if path.is_symlink() else path
    _refuse_other_kinds(path, place)
    # Nobody can plant a link or a pipe where nobody knows the name.
    temporary = place.with_name(f".towtank-{secrets.token_hex(8)}.tmp")
    try:
        _make_folder(place.parent)
        _make_empty(temporary, place)
        write(temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(place)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _make_empty(temporary: Path, place: Path) -> None:
    """Make a new file with the mode of the file that it is going to replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(place.stat().st_mode) | stat.S_IWUSR)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file to read it; a pipe or a device, which may never end, raises `NotAFileError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = next((words for test, words in _KINDS if test(mode)), "something else")
        raise NotAFileError(errno.EINVAL, f"must be a regular file, got {kind}", str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path) -> str:
    """Read a regular text file as `open_regular` opens it."""
    with open_regular(path) as stream:
        return stream.read().decode("utf-8")


def put_text(path: Path, text: str) -> None:
    """Write a text file as `put` does; half a pair of surrogates, which no encoding has, is written as an escape."""
    put(path, lambda temporary: temporary.write_bytes(text.encode("utf-8", "backslashreplace")))


def other_kind(path: Path) -> str | None:
    """What is in the place of a file: `a folder`, `a device`...; None for a regular file or nothing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return next((words for test, words in _KINDS if test(mode)), None)


def _refuse_other_kinds(path: Path, place: Path) -> None:
    kind = other_kind(place)
    if kind is not None:
        raise NotAFileError(errno.EEXIST, f"must be a regular file or a new one, got {kind}", str(path))


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:  # the system's words would be about the wrong thing
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
