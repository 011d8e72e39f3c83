"""Caches contents and open content files; a full cache evicts its least recently used entries.

The key is the identifier of the content. The content of an identifier never changes, so a cached content stays valid
even if other nodes change documents.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A content is cached only if it is at most as large as the cache size divided by this number. Otherwise, a single image
# could evict thousands of texts.
_LARGEST_SHARE = 8


class ContentCache:
    """Cache of whole contents in memory, up to `limit` bytes in total."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._contents: OrderedDict[str, bytes] = OrderedDict()

    def get(self, content_id: str) -> bytes | None:
        """Return a content, or None if it is not cached; count a hit or a miss."""
        with self._lock:
            data = self._contents.get(content_id)
            if data is None:
                self.misses += 1
                return None
            self.hits += 1
            self._contents.move_to_end(content_id)
            return data

    def accepts(self, length: int) -> bool:
        """Return True if a content of this length would be cached."""
        return length * _LARGEST_SHARE <= self.limit

    def put(self, content_id: str, data: bytes) -> None:
        """Store a content in the cache, unless it is too large; evict other contents if the cache exceeds its limit."""
        if not self.accepts(len(data)):
            return
        with self._lock:
            if content_id in self._contents:
                return
            self._contents[content_id] = data
            self.bytes += len(data)
            while self.bytes > self.limit:
                self.bytes -= len(self._contents.popitem(last=False)[1])

    def discard(self, content_id: str) -> None:
        """Remove a deleted content from the cache."""
        with self._lock:
            data = self._contents.pop(content_id, None)
            self.bytes -= len(data) if data is not None else 0


class _Handle:
    __slots__ = ("descriptor", "kept", "users")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.users = 0
        self.kept = True


class HandleCache:
    """Cache of at most `limit` open content files; additional files may be open while threads read them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self.open_count = 0
        self._lock = threading.Lock()
        self._handles: OrderedDict[str, _Handle] = OrderedDict()

    @contextmanager
    def open(self, content_id: str, path: Path) -> Iterator[int]:
        """Yield a file descriptor for `os.pread`, valid until the end of the block."""
        handle = self._acquire(content_id, path)
        try:
            yield handle.descriptor
        finally:
            with self._lock:
                handle.users -= 1
                self._close_if_unused(handle)

    def _acquire(self, content_id: str, path: Path) -> _Handle:
        with self._lock:
            handle = self._handles.get(content_id)
            if handle is not None:
                self.hits += 1
                self._handles.move_to_end(content_id)
                handle.users += 1
                return handle
            self.misses += 1
        opened = _Handle(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        with self._lock:
            self.open_count += 1
            opened.users = 1
            # If another thread has cached a descriptor of this file in the meantime, this second descriptor is closed
            # after use.
            if content_id in self._handles:
                opened.kept = False
                return opened
            self._handles[content_id] = opened
            while len(self._handles) > self.limit:
                self._drop(self._handles.popitem(last=False)[1])
            return opened

    def discard(self, content_id: str) -> None:
        """Remove a deleted content from the cache; its file is closed after reads in progress."""
        with self._lock:
            handle = self._handles.pop(content_id, None)
            if handle is not None:
                self._drop(handle)

    def _drop(self, handle: _Handle) -> None:
        handle.kept = False
        self._close_if_unused(handle)

    def _close_if_unused(self, handle: _Handle) -> None:
        if handle.users == 0 and not handle.kept:
            os.close(handle.descriptor)
            self.open_count -= 1

    def close(self) -> None:
        """Close all cached files; a file that a thread is reading is closed after the read."""
        with self._lock:
            while self._handles:
                self._drop(self._handles.popitem()[1])
