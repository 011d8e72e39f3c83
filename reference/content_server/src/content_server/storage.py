"""Stores contents in files; a content file is always complete.

A file is written under a temporary name, flushed to disk by default, and renamed. Then a database transaction stores
its metadata. A crash leaves at most files without metadata, which `sweep` removes at the next start. File names are
identifiers that this module generates, so no client can address files outside of the storage area.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from content_server.caches import ContentCache, HandleCache
from content_server.errors import Storage

_CONTENT_ID = re.compile(r"[0-9a-f]{32}")
# Index of the version digit in a UUID without dashes.
_VERSION_PLACE = 12
# Age above which a file without metadata is removed; a younger file may belong to an upload in progress. [s]
STALE_AFTER = 3600.0
_COPY_BYTES = 1 << 20


def is_populated(content_id: str) -> bool:
    """Return True if a content belongs to the population, so that its identifier is a UUID of version 5.

    Content files of the population are kept even if a run deletes the documents, so that `reset` is fast.
    """
    return content_id[_VERSION_PLACE] == "5"


class StorageMeter:
    """Counts of file system calls and of transferred bytes.

    Not every call accesses the disk, because the page cache may contain the data.
    """

    def __init__(self) -> None:
        self.calls = dict.fromkeys(("read", "write", "sync", "rename", "remove"), 0)
        self.bytes = {"read": 0, "write": 0}
        self._lock = threading.Lock()

    def count(self, call: str, size: int = 0) -> None:
        """Count a call that transferred `size` bytes."""
        with self._lock:
            self.calls[call] += 1
            if size:
                self.bytes[call] += size


class StorageArea:
    """Directory of content files, `ab/cd/<identifier>`.

    Parameters
    ----------
    root : Path
        Path of the directory, which is created if it is missing.
    synchronous : bool
        True to flush a file to disk before it is renamed.
    cache_bytes : int
        Largest size of the content cache; 0 for no cache. [bytes]
    handles : int
        Largest number of open files in the cache; 0 for no cache. [1]
    """

    def __init__(self, root: Path, synchronous: bool = True, cache_bytes: int = 64 << 20, handles: int = 256) -> None:
        self.root = root
        self._temporary = root / "temporary"
        self._temporary.mkdir(parents=True, exist_ok=True)
        self._synchronous = synchronous
        self.cache = ContentCache(cache_bytes)
        self.meter = StorageMeter()
        self.handles = HandleCache(handles)

    def path(self, content_id: str) -> Path:
        """Return the path of a content file.

        Raises
        ------
        Storage
            If the identifier is malformed.
        """
        if not _CONTENT_ID.fullmatch(content_id):
            raise Storage("not a content identifier")
        return self.root / content_id[:2] / content_id[2:4] / content_id

    def write(self, source: BinaryIO) -> tuple[str, int]:
        """Store the content of a stream; return its new identifier and its length. [bytes]"""
        content_id = uuid.uuid4().hex
        temporary = self._temporary / content_id
        try:
            with temporary.open("xb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
                length = target.tell()
                target.flush()
                self.meter.count("write", length)
                if self._synchronous:
                    os.fsync(target.fileno())
                    self.meter.count("sync")
            final = self.path(content_id)
            final.parent.mkdir(parents=True, exist_ok=True)
            temporary.rename(final)
            self.meter.count("rename")
            if self._synchronous:
                self._force_directory(final.parent)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise Storage(f"the content could not be stored: {error.strerror}") from error
        return content_id, length

    @staticmethod
    def _force_directory(directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self, content_id: str, offset: int, count: int, length: int) -> bytes:
        """Read a part of a content; a small content that is read completely is cached.

        Parameters
        ----------
        offset, count : int
            Start and length of the part. [bytes]
        length : int
            Length of the whole content. [bytes]

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        Storage
            If the file is shorter than `length`.
        """
        # A content that is too large for the cache is not looked up, so that its reads do not count as cache misses.
        cached = self.cache.get(content_id) if self.cache.accepts(length) else None
        if cached is not None:
            return cached if count == length else cached[offset : offset + count]
        try:
            with self.handles.open(content_id, self.path(content_id)) as descriptor:
                data = os.pread(descriptor, count, offset)
        except OSError:
            # A network file system invalidates open files when it restarts, so the file is removed from the cache.
            self.handles.discard(content_id)
            raise
        self.meter.count("read", len(data))
        if len(data) != count:
            raise Storage("the content file is shorter than the length in the database")
        if count == length:
            self.cache.put(content_id, data)
        return data

    def remove(self, content_id: str) -> None:
        """Remove an unreferenced content from the caches, and its file unless it belongs to the population."""
        self.cache.discard(content_id)
        self.handles.discard(content_id)
        if not is_populated(content_id):
            self.path(content_id).unlink(missing_ok=True)
            self.meter.count("remove")

    def identifiers(self) -> Iterator[str]:
        """Yield the identifiers of all content files that do not belong to the population."""
        for first in os.scandir(self.root):
            if len(first.name) == 2 and first.is_dir():
                for second in os.scandir(first.path):
                    for entry in os.scandir(second.path):
                        if _CONTENT_ID.fullmatch(entry.name) and not is_populated(entry.name):
                            yield entry.name

    def sweep(self, known: Callable[[list[str]], set[str]], stale_after: float = STALE_AFTER) -> int:
        """Remove files of interrupted uploads; return the number of removed files.

        Parameters
        ----------
        known : callable
            Function that returns the identifiers of a list to which metadata refer.
        stale_after : float
            Age up to which a file is kept, because another node may still be storing its metadata. [s]
        """
        removed = 0
        before = time.time() - stale_after
        for temporary in self._temporary.iterdir():
            removed += _remove_if_older(temporary, before)
        batch: list[str] = []
        for content_id in self.identifiers():
            batch.append(content_id)
            if len(batch) == 500:
                removed += self._sweep_batch(batch, known, before)
                batch = []
        return removed + self._sweep_batch(batch, known, before)

    def _sweep_batch(self, batch: list[str], known: Callable[[list[str]], set[str]], before: float) -> int:
        orphans = set(batch) - known(batch) if batch else set()
        return sum(_remove_if_older(self.path(content_id), before) for content_id in orphans)


def _remove_if_older(path: Path, before: float) -> int:
    try:
        if path.stat().st_mtime > before:
            return 0
        path.unlink()
    except FileNotFoundError:  # Another node has removed the file in the meantime.
        return 0
    return 1
