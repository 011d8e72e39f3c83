"""After every exchange the archive is a complete document, even if the disk is full."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from towtank.errors import StudyError
from towtank.record.archive import Archive
from towtank.record.exchange import Exchange

# This text is longer than any stream buffer, so it causes at least one write to the file.
LONG = "x" * 300_000


@dataclass
class _Exchange:
    text: str
    host: str = "shop.test:80"
    error: str = ""

    def entry(self) -> dict[str, Any]:
        return {"text": self.text}


def exchange(text: str) -> Exchange:
    """Return an HTTP exchange with only those parts that the archive reads."""
    return cast(Exchange, _Exchange(text))


def entries(path: Path) -> list[str]:
    document = json.loads(path.read_text())
    assert document["log"]["version"] == "1.2"
    return [entry["text"] for entry in document["log"]["entries"]]


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Limit the size of files, which causes write errors as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 60, 5_000, 299_999, 300_020])
def test_what_was_recorded_before_the_disk_was_full_is_whole(tmp_path: Path, room: int) -> None:
    archive = Archive(tmp_path / "a.har")
    archive.page("first", "2026-01-01T00:00:00Z")
    archive.add(exchange("one"))
    archive.add(exchange(LONG))
    archive.page("second", "2026-01-01T00:00:01Z")
    with files_at_most((tmp_path / "a.har").stat().st_size + room):
        archive.add(exchange(LONG))
        assert archive.fault.startswith(f"{tmp_path / 'a.har'} can no longer be written: File too large")
        assert entries(tmp_path / "a.har") == ["one", LONG]
        archive.close()
    assert entries(tmp_path / "a.har") == ["one", LONG]
    assert archive.count == 2


def test_what_is_no_file_is_not_taken(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a named pipe"), (tmp_path, "a folder")):
        with pytest.raises(StudyError, match=f"must be a file, got {kind} instead"):
            Archive(path)
