"""Reads whole files for an import, with a size limit; errors of the operating system become faults."""

from __future__ import annotations

import os
from pathlib import Path

from towtank.errors import StudyError
from towtank.yamlfile import decoded

# Largest size of an imported file. Recordings of long sessions have several hundred megabytes. [byte]
BYTES_AT_MOST = 1_000_000_000


def read_text(path: Path, *, at_most: int = BYTES_AT_MOST) -> str:
    """Read a text file in UTF-8, with or without a byte order mark.

    Raises
    ------
    StudyError
        If the file cannot be read, has more than `at_most` bytes, is empty, or is not UTF-8.
    """
    return decoded(read_bytes(path, at_most=at_most), path)


def read_bytes(path: Path, *, at_most: int = BYTES_AT_MOST) -> bytes:
    """Read a file as bytes. Raises StudyError if the file cannot be read, is too long or is empty."""
    require_file(path)
    try:
        size = path.stat().st_size
        if size > at_most:
            raise StudyError.at(path, f"must be at most {at_most // 10**6} MB long, got {size // 10**6} MB")
        raw = path.read_bytes()
    except OSError as error:
        raise StudyError.at(path, f"must be a file that can be read, got: {error.strerror}") from None
    if not raw.strip():
        raise StudyError.at(path, "must not be empty", line=1, column=1)
    return raw


def require_file(path: Path) -> None:
    """Raise StudyError unless a path is an existing regular file."""
    try:
        if path.is_file():
            return
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise StudyError.at(path, f"must be a file that can be read, got: {error}") from None
    if not exists:
        raise StudyError.at(path, "must be a file that exists, got no file of this name")
    raise StudyError.at(path, "must be a file, got a folder instead" if folder else "must be a regular file")


def beside(source: Path | str, name: str) -> Path | None:
    """Return the path of a file that an imported file names, if it is a regular file in the folder of the imported file
    or below; otherwise None.

    The content of the named file goes into the workload and from there to servers, so an untrusted file must not name
    arbitrary files.
    """
    folder = Path(source).parent
    try:
        found = (folder / name).resolve()
        return folder / name if found.is_relative_to(folder.resolve()) and found.is_file() else None
    # this error is raised if the name is invalid or a symbolic link leads to itself
    except (OSError, ValueError, RuntimeError):
        return None


def relative_to_workload(path: Path, folder: Path) -> str:
    """Return a path relative to the folder of the workload."""
    return os.path.relpath(path.resolve(), folder.resolve())
