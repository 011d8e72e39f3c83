"""Replaces regular files atomically: after a crash, a file has either its old or its complete new content."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Sequence
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


UNUSABLE = (
    errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP,
)  # fmt: skip
"""Error numbers (`errno`) of failures that another path can avoid, unlike a full disk."""


class NotAFileError(OSError):
    """Raised if a path names something other than a regular file, such as a device, which must not be replaced."""


def is_regular_file(path: Path) -> bool:
    """Return True if a path is an existing regular file. Unlike `Path.is_file`, it raises no error for an invalid
    path.
    """
    try:
        return path.is_file()
    except (OSError, ValueError):  # The path is not a valid file name: it is too long, or contains a zero byte.
        return False


def engine_path(path: Path) -> str:
    """Return a path as text for the engine, which reads file names as UTF-8 in any locale.

    Python decodes the bytes of a name in the encoding of the locale: in Latin-1 a UTF-8 `ä` becomes two characters.
    """
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def put(
    path: Path, write: Callable[[Path], object], *, follow: bool = True, replace: bool = True, mode: int | None = None
) -> None:
    """Write a file under a temporary name, then rename it in one step.

    Parameters
    ----------
    path : Path
        Path of the file. The folder of the file is created if missing.
    write : callable
        Function that writes the whole content to a given path.
    follow : bool, default True
        Whether to follow a symbolic link at the path and replace the linked file. If False, the new file replaces the
        link: a results folder of another person may contain links to files outside the folder.
    replace : bool, default True
        Whether an existing file is replaced.
    mode : int, optional
        Mode of the file; default: the mode of the file to replace.

    Raises
    ------
    NotAFileError
        If the path names something that is not a regular file.
    FileExistsError
        If the file exists and `replace` is false.
    OSError
        If the file cannot be written; the temporary file is removed.

    Notes
    -----
    `write` receives the path of an empty file, which has the mode of the final file already.
    """
    place = path.resolve() if follow and path.is_symlink() else path
    _refuse_other_kinds(path, place)
    # The random name prevents other users from creating a link or a pipe at the path beforehand.
    temporary = place.with_name(f".towtank-{secrets.token_hex(8)}.tmp")
    try:
        make_folder(place.parent)
        _make_empty(temporary, place, mode)
        write(temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        if not replace:
            _claim(temporary, place)
        temporary.replace(place)
        _sync_folder(place.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(path: Path) -> None:
    """Flush the entries of a folder to disk, if the file system supports this and the folder is readable.

    Without this step, a power failure may bring back the old file.
    """
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def why_no_file(path: Path) -> str | None:
    """Return the reason why no file can be created at a path; None if it can, as a temporary file shows. Missing
    folders are not created; the function uses the nearest existing folder.
    """
    folder = path.parent
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        temporary = folder / f".towtank-{secrets.token_hex(8)}.tmp"
        os.close(_open_new(temporary))
        temporary.unlink()
    except OSError as error:
        return (error.strerror or str(error)) if error.errno in UNUSABLE else None
    return None


def why_no_name(path: Path) -> str | None:
    """Return the reason why a path is not a valid file name, such as its length; None if it is valid."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or str(error)
    except ValueError:
        return "the name contains a zero byte, or a character that cannot be encoded"
    return None


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and all folders above it; an existing folder stays unchanged.

    Raises
    ------
    OSError
        If the folder cannot be made. A file system that accepts no new folders, such as `/proc`, reports that the
        folder does not exist; the function raises a `PermissionError` with a clear message instead.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=mode)
    except FileExistsError as error:
        # `FileExistsError` would hide the cause: the path, or a part of it, is a file and not a folder.
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    except FileNotFoundError as error:
        raise PermissionError(errno.EACCES, "its file system accepts no new folder", str(path)) from error


def _claim(temporary: Path, place: Path) -> None:
    """Link a temporary file to its final name; raise `FileExistsError` if a file of this name exists."""
    try:
        place.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # File systems without links, such as FAT, need an empty file that reserves the name.
        os.close(_open_new(place))


def _make_empty(temporary: Path, place: Path, mode: int | None = None) -> None:
    """Create an empty file with the given mode, by default with the mode of the file that it will replace."""
    descriptor = _open_new(temporary)
    try:
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(place.stat().st_mode) | stat.S_IWUSR if mode is None else mode)
    finally:
        os.close(descriptor)


def _open_new(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError as error:  # The file system `/proc` reports this error for a file that cannot be made.
        raise PermissionError(errno.EACCES, "its file system accepts no new file", str(path)) from error


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; raise `NotAFileError` for a pipe or a device, which may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = next((words for test, words in _KINDS if test(mode)), "something else")
        raise NotAFileError(errno.EINVAL, f"must be a regular file, got {kind}", str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path) -> str:
    """Read a text file; raise `NotAFileError` if it is not a regular file."""
    with open_regular(path) as stream:
        return stream.read().decode("utf-8")


def put_text(path: Path, text: str, *, follow: bool = True) -> None:
    """Write a text file as `put` does; lone surrogates, which UTF-8 cannot encode, become escapes."""
    put(path, lambda temporary: temporary.write_bytes(text.encode("utf-8", "backslashreplace")), follow=follow)


def other_kind(path: Path) -> str | None:
    """Return the kind of file at a path, such as `a folder` or `a device`; None if it is a regular file or does not
    exist.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return next((words for test, words in _KINDS if test(mode)), None)


def _refuse_other_kinds(path: Path, place: Path) -> None:
    kind = other_kind(place)
    if kind is not None:
        raise NotAFileError(errno.EEXIST, f"must be a regular file or a new file, got {kind}", str(path))


FilesVersion = tuple[tuple[str, int, int, int, int], ...]
"""Path, number, size [bytes], and times of the last change of content and of attributes [ns] of each of some files."""


def version_of(paths: Sequence[Path]) -> FilesVersion:
    """Return the version of files: another version means that a file may have changed."""
    found = [(str(path), path.stat()) for path in paths]
    return tuple(
        (name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for name, status in found
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 hash of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
