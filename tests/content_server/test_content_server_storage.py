from __future__ import annotations

import errno
import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from content_server.caches import ContentCache, HandleCache
from content_server.errors import RangeNotSatisfiable, Storage
from content_server.repository.content import parse_range
from content_server.settings import parse_size
from content_server.storage import StorageArea, is_populated


def test_written_content_is_read_back_in_parts(tmp_path: Path) -> None:
    area = StorageArea(tmp_path)
    content_id, length = area.write(io.BytesIO(b"0123456789"))
    assert length == 10
    assert area.path(content_id) == tmp_path / content_id[:2] / content_id[2:4] / content_id
    assert area.read(content_id, 3, 4, 10) == b"3456"
    assert area.read(content_id, 0, 10, 10) == b"0123456789"
    assert area.read(content_id, 3, 4, 10) == b"3456"
    assert not is_populated(content_id)
    area.remove(content_id)
    with pytest.raises(FileNotFoundError):
        area.read(content_id, 0, 10, 10)
    area.remove(content_id)


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(28, "No space left on device")

    with pytest.raises(Storage, match="No space left"):
        StorageArea(tmp_path).write(Broken())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_system_that_was_away_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    area = StorageArea(tmp_path, cache_bytes=0)
    content_id, _ = area.write(io.BytesIO(b"0123456789"))
    assert area.read(content_id, 0, 4, 10) == b"0123"

    def gone(descriptor: int, count: int, offset: int) -> bytes:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", gone)
        with pytest.raises(OSError, match="not connected"):
            area.read(content_id, 0, 4, 10)
    assert area.handles.open_count == 0, "handles that were opened before the failure must be closed"
    assert area.read(content_id, 0, 4, 10) == b"0123"


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a" * 31, "A" * 32, "0" * 31 + "/", "0" * 32 + "\n"])
def test_no_identifier_leaves_the_area(tmp_path: Path, name: str) -> None:
    with pytest.raises(Storage):
        StorageArea(tmp_path).path(name)


def test_content_cache_forgets_the_least_recently_used() -> None:
    cache = ContentCache(80)
    for name in "abcdefgh":
        cache.put(name, b"x" * 10)
    assert cache.get("a") == b"x" * 10
    cache.put("i", b"y" * 10)
    assert (cache.get("b"), cache.bytes) == (None, 80)
    assert cache.get("a") is not None
    cache.put("large", b"x" * 11)
    assert cache.get("large") is None
    cache.discard("a")
    cache.discard("nosuch")
    assert cache.bytes == 70
    assert (cache.hits, cache.misses) == (2, 2)
    nothing = ContentCache(0)
    nothing.put("a", b"x")
    assert (nothing.get("a"), nothing.bytes) == (None, 0)


def test_handle_cache_closes_what_it_forgets(tmp_path: Path) -> None:
    cache = HandleCache(2)
    paths = [tmp_path / str(n) for n in range(4)]
    for path in paths:
        path.write_bytes(b"x")
    with cache.open("0", paths[0]) as outer:
        for n in (1, 2, 3):
            with cache.open(str(n), paths[n]):
                pass
        assert cache.open_count == 3  # two idle database handles, and the handle in use
        paths[0].unlink()
        cache.discard("3")
        assert outer > 0
    assert cache.open_count == 1
    with cache.open("2", paths[2]):
        pass
    assert (cache.hits, cache.misses) == (1, 4)
    cache.close()
    assert cache.open_count == 0
    none = HandleCache(0)
    with none.open("2", paths[2]):
        assert none.open_count == 1
    assert none.open_count == 0


def test_caches_under_many_threads(tmp_path: Path) -> None:
    area = StorageArea(tmp_path, cache_bytes=4000, handles=3)
    contents = [area.write(io.BytesIO(bytes([n]) * 100))[0] for n in range(60)]
    start = threading.Barrier(8)

    def read(worker: int) -> bool:
        start.wait()
        return all(
            area.read(contents[(n * 7 + worker) % 60], 0, 100, 100) == bytes([(n * 7 + worker) % 60]) * 100
            for n in range(400)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(8)))
    assert area.cache.bytes <= 4000
    assert area.handles.open_count <= 3
    area.handles.close()


def test_ranges_of_an_empty_content() -> None:
    assert parse_range(None, 0) is None
    for header in ("bytes=0-", "bytes=-5", "bytes=0-0"):
        with pytest.raises(RangeNotSatisfiable):
            parse_range(header, 0)


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1 XB", "1e3", "1,5 MiB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="must be a size"):
        parse_size(text)
