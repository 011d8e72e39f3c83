"""Fills disks for a limited time, with one file that uses up the free bytes, and many empty files that use up the
inodes.

Free space is counted as root sees it, including the space that some file systems reserve for root. For ordinary users,
the disk is therefore full earlier.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from towtank.errors import TargetError

_FOLDER = ".towtank-filled"
# Largest number of files in one folder, because some file systems become slow with more. [1]
_FILES_IN_A_FOLDER = 5_000
# Largest number of attempts to use up the space. An attempt may leave space free, because the file system also needs an
# unknown amount of space for its own tables. [1]
_ROUNDS = 8
# Space that is too small to be used up. [byte]
_SMALLEST = 4096


def fill_disk(point: Path, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
    """Fill a mounted file system up to the given numbers of free bytes and files; None uses up none. [byte, 1]

    Return `free_bytes` and `free_files` after filling. [byte, 1]

    Raises
    ------
    TargetError
        If `leave_files` is given and the file system does not count files, or if the disk cannot be written.
    """
    folder = point / _FOLDER
    try:
        folder.mkdir(0o700, exist_ok=True)
        # Another user may have created the folder, because all users can write to the disk.
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            raise TargetError(f"the disk at {point} cannot be filled: its folder {_FOLDER} belongs to another user")
        if leave_files is not None:
            _take_files(folder, leave_files)
        if leave_bytes is not None:
            _take_bytes(folder, leave_bytes)
        state = os.statvfs(point)
    except OSError as error:
        raise TargetError(f"the disk at {point} cannot be filled: {error.strerror}") from error
    return {"free_bytes": state.f_bfree * state.f_frsize, "free_files": state.f_ffree}


def release_disk(point: Path) -> None:
    """Remove the files by which `fill_disk` has filled a disk."""
    shutil.rmtree(point / _FOLDER, ignore_errors=True)


def _take_files(folder: Path, leave: int) -> None:
    if not os.statvfs(folder).f_files:
        raise TargetError(f"the file system at {folder.parent} does not count its files")
    number = 0
    below = folder
    while os.statvfs(folder).f_ffree > leave:
        if number % _FILES_IN_A_FOLDER == 0:
            below = folder / str(number)
            below.mkdir()
        else:
            (below / str(number)).touch()
        number += 1


def _take_bytes(folder: Path, leave: int) -> None:
    """Reserve disk space until `leave` bytes are free. If a reservation fails, try to reserve half as much."""
    with (folder / "bytes").open("w+b") as stream:
        for _ in range(_ROUNDS):
            state = os.statvfs(folder)
            wanted = state.f_bfree * state.f_frsize - leave
            while wanted >= _SMALLEST:
                length = os.fstat(stream.fileno()).st_size
                try:
                    os.posix_fallocate(stream.fileno(), length, wanted)
                    break
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    wanted //= 2
            else:
                break
