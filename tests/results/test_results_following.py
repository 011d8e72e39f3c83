"""Records of a run in progress are read line by line, and dropped when they are no longer needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from towtank.results import lines
from towtank.results.following import Follower
from towtank.results.stream_forms import SegmentHeader


def interval(start_s: int, end_s: int) -> dict[str, Any]:
    """Return an interval without counts, as a load thread records it."""
    times = {"t0_ns": start_s * 10**9, "t1_ns": end_s * 10**9, "user_ns": 0, "cpu_ns": 0}
    return {"k": "interval", **times, "stage": 0, "users": 1, "in_flight": 0, "series": []}


def record(folder: Path, thread: int, *documents: dict[str, Any]) -> Path:
    path = folder / f"worker-{thread:02}.0000.ndjson"
    with path.open("ab") as stream:
        stream.write(b"".join(map(lines.encode, documents)))
    return path


def header(**more: Any) -> dict[str, Any]:
    return {"k": "header", **more}


def test_a_line_is_read_once_and_only_when_it_is_complete(tmp_path: Path) -> None:
    path = record(tmp_path, 0, header(workers=1), interval(0, 1))
    follower = Follower(tmp_path)
    assert [found.end_s for found in follower.read()] == [1.0]
    assert follower.read() == []
    line = lines.encode(interval(1, 2))
    for part, ends in ((line[:-1], []), (line[-1:], [2.0]), (line, [2.0])):
        with path.open("ab") as stream:
            stream.write(part)
        assert [found.end_s for found in follower.read()] == ends
    assert [found.end_s for found in follower.intervals] == [1.0, 2.0, 2.0]


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    path = record(tmp_path, 0, header(workers=1), interval(0, 1))
    path.write_bytes(path.read_bytes() + b"00000000 {}\n")
    record(tmp_path, 0, {"k": "end"}, interval(1, 2))
    follower = Follower(tmp_path)
    assert [found.end_s for found in follower.read()] == [1.0, 2.0]


def test_intervals_that_ended_by_a_time_are_dropped(tmp_path: Path) -> None:
    record(tmp_path, 0, header(workers=1), interval(0, 1), interval(1, 2), interval(2, 3))
    follower = Follower(tmp_path)
    follower.read()
    follower.forget(2.0)
    assert [found.start_s for found in follower.intervals] == [2.0]
    assert [found.start_s for found in follower.recording().intervals] == [2.0]
    assert follower.recording().workers_found == {0}


def test_the_recorded_time_is_that_of_the_slowest_thread_and_never_decreases(tmp_path: Path) -> None:
    record(tmp_path, 0, header(workers=2), interval(0, 3), interval(0, 2))
    follower = Follower(tmp_path)
    follower.read()
    assert (follower.recorded, follower.recorded_until) == ({0: 3.0}, 0.0)
    record(tmp_path, 1, header(workers=2), interval(0, 1))
    follower.read()
    assert (follower.recorded, follower.recorded_until) == ({0: 3.0, 1: 1.0}, 1.0)


def test_without_a_header_one_thread_is_expected(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.recorded_until == 0.0
    record(tmp_path, 0, interval(0, 1))
    follower.read()
    assert (follower.header, follower.recorded_until) == (None, 1.0)


def test_the_header_with_the_most_changes_counts(tmp_path: Path) -> None:
    record(tmp_path, 0, header(workers=1), header(workers=1, edits=2), header(workers=1, edits=1))
    follower = Follower(tmp_path)
    follower.read()
    assert follower.header == SegmentHeader.model_validate(header(workers=1, edits=2))


def test_the_recorded_time_may_be_a_part_of_a_second(tmp_path: Path) -> None:
    record(tmp_path, 0, header(workers=1), interval(0, 1) | {"t1_ns": 250_000_000})
    follower = Follower(tmp_path)
    follower.read()
    assert (follower.recorded, follower.recorded_until) == ({0: 0.25}, 0.25)
