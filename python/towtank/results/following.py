"""Reads the segment files of the engine while they are being written. Each complete line is read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from towtank.files import open_regular
from towtank.results import lines, segments
from towtank.results.segments import RecordedInterval, Recording
from towtank.results.stream_forms import SegmentHeader


@dataclass
class Follower:
    """Reader of the records of a run in progress. It keeps the intervals that it has read.

    Attributes
    ----------
    folder : Path
        `RUN/engine`.
    header : SegmentHeader or None
        Newest header of the segment files; None before a header was read.
    intervals : list of Interval
        Intervals that were read and not dropped.
    recorded : dict of int to float
        By thread, the time up to which the thread has recorded. [s]
    """

    folder: Path
    header: SegmentHeader | None = None
    intervals: list[RecordedInterval] = field(default_factory=list)
    recorded: dict[int, float] = field(default_factory=dict)
    _offsets: dict[Path, int] = field(default_factory=dict)

    def read(self) -> list[RecordedInterval]:
        """Read the new lines of all segment files, and return the new intervals."""
        new: list[RecordedInterval] = []
        for path, worker in segments.paths(self.folder):
            with open_regular(path) as stream:
                stream.seek(self._offsets.get(path, 0))
                whole, newline, _ = stream.read().rpartition(b"\n")
            if not newline:
                continue
            self._offsets[path] = self._offsets.get(path, 0) + len(whole) + 1
            for line in whole.split(b"\n"):
                self._take(lines.decode(line), worker, new)
        self.intervals += new
        return new

    def _take(self, document: Mapping[str, object] | None, worker: int, new: list[RecordedInterval]) -> None:
        if document is None:
            return
        if document.get("k") == "header":
            self.header = segments.newer_header(self.header, document)
        elif document.get("k") == "interval":
            interval = segments.interval(document, worker)
            self.recorded[worker] = max(self.recorded.get(worker, 0.0), interval.end_s)
            new.append(interval)

    @property
    def recorded_until(self) -> float:
        """Time up to which all load threads have recorded; 0 until every load thread has recorded an interval. [s]"""
        workers = max(1, self.header.workers if self.header else 1)
        return min(self.recorded.values()) if len(self.recorded) >= workers else 0.0

    def forget(self, before_s: float) -> None:
        """Drop the recorded intervals that ended before a given time, to save memory."""
        self.intervals = [interval for interval in self.intervals if interval.end_s > before_s]

    def recording(self) -> Recording:
        """Return a recording with all recorded intervals that were not dropped."""
        return Recording(self.header, list(self.intervals), workers_found=set(self.recorded))
