"""Evicts the contents of files from the page cache of this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def evict_files(folders: Iterable[Path]) -> None:
    """Write dirty pages to disk, and evict the contents of all regular files below the given folders.

    Pages that a program has mapped stay in the page cache. Symbolic links are not followed. Mounted file systems below
    a folder are skipped, and so are files that do not exist or cannot be read.
    """
    os.sync()
    for folder in folders:
        with suppress(OSError):
            _evict_below(folder, folder.stat().st_dev)


def _evict_below(folder: Path, device: int) -> None:
    waiting = [os.fspath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if about.st_dev == device and stat.S_ISDIR(about.st_mode):
                        waiting.append(entry.path)
                    elif about.st_dev == device and stat.S_ISREG(about.st_mode):
                        _evict(entry.path)


def _evict(path: str) -> None:
    # `O_NONBLOCK` is set in case the file has been replaced by a FIFO, which would block.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
