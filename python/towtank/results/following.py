"""Reads the segment files of the engine while they are being written. Each complete line is read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from towtank.results import segments
from towtank.results.lines import NewLines
from towtank.results.recording import RecordedInterval, Recording
from towtank.results.stream_forms import SegmentHeader


@dataclass
class Follower:
    """Reader of the records of a run in progress, in the folder `RUN/engine`. It keeps the newest header, the intervals
    that were read and not dropped, and the time up to which each thread has recorded. [s]
    """

    folder: Path
    header: SegmentHeader | None = None
    intervals: list[RecordedInterval] = field(default_factory=list)
    recorded: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = NewLines(self.folder, segments.SEGMENTS)

    def read(self) -> list[RecordedInterval]:
        """Read the new lines of all segment files, and return the new intervals."""
        new: list[RecordedInterval] = []
        for path, document in self._lines.new():
            worker = segments.worker_of(path)
            if document.get("k") == "header":
                self.header = segments.newer_header(self.header, document)
            elif document.get("k") == "interval" and worker is not None:
                interval = segments.interval(document, worker)
                self.recorded[worker] = max(self.recorded.get(worker, 0.0), interval.end_s)
                new.append(interval)
        self.intervals += new
        return new

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
