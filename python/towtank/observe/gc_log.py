"""Reads pauses, heap sizes and allocated bytes from the garbage collector's log of a JVM.

The log has the format of unified logging (JEP 158, JEP 271), `-Xlog:gc*=info:file=...:timenanos,level,tags`, which is
the same for all collectors. The scraper only reads new lines, and sends no requests to the JVM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from towtank.observe.scraper import ScrapeError, series_name

# Each line of the log begins with three bracketed fields in a fixed order: time, level, and tags padded with blanks.
_LINE = re.compile(r"\[(?P<time>\d+)ns\]\[\w+ *\]\[(?P<tags>[a-z,]+) *\] (?P<text>.*)")
_COLLECTION = re.compile(r"GC\(\d+\) +(?P<text>.*)")
_TOOK = re.compile(r"(?P<what>\D.*?) (?P<ms>\d{1,15}\.\d{1,15})ms$")
_PAUSE = re.compile(r"Pause (?P<kind>[A-Za-z ]+?)(?: \(.*| \d.*)?$")
# A JVM writes sizes with at most 18 digits. Python refuses to convert numbers with thousands of digits.
_SIZE = r"(\d{1,18})([BKMG])"
_CHANGE = re.compile(rf" {_SIZE}(?:\(\d+%\))?->{_SIZE}(?:\({_SIZE}\)|\(\d+%\))?(?: |$)")
_LIMIT = re.compile(rf"(?:Heap )?Max Capacity: {_SIZE}$")
_CAPACITY = re.compile(rf"Capacity: +.*?{_SIZE} \(\d+%\) +{_SIZE} \(\d+%\) +{_SIZE} \(\d+%\) *$")
_WHILE_COLLECTING = re.compile(rf"Allocated: .*{_SIZE} \(\d+%\) .*$")
_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
# Tags of the lines whose times are summed as concurrent work. The G1 collector logs each concurrent cycle as a whole
# under `gc`, and its phases under other tags, which are ignored. The Z collector logs only phases, under `gc,phases`.
_CONCURRENT_TAGS = {"gc", "gc,phases"}


def _bytes(number: str, unit: str) -> int:
    return int(number) * _UNITS[unit]


@dataclass
class GcCounts:
    """Sums of the values in a garbage collector's log, over all lines read so far.

    Attributes
    ----------
    pauses, pause_s : dict
        Number and time of pauses by kind. [1], [s]
    longest_s : float
        Longest pause since the last call of `take_longest`. [s]
    concurrent_s : float
        Total time of garbage collection during which the program continued to run. [s]
    stalls, stall_s : int, float
        Number of times that a thread waited for memory (Z collector only), and the total of these waits. [1], [s]
    used : int or None
        Memory in use by the heap after the last collection; None before the first. [byte]
    committed, limit : int or None
        Current size of the heap, and its largest allowed size. [byte]
    allocated : int
        Memory allocated from the start to the last collection. [byte]
    """

    pauses: dict[str, int] = field(default_factory=dict)
    pause_s: dict[str, float] = field(default_factory=dict)
    longest_s: float = 0.0
    concurrent_s: float = 0.0
    stalls: int = 0
    stall_s: float = 0.0
    used: int | None = None
    committed: int | None = None
    limit: int | None = None
    allocated: int = 0

    def take(self, line: str) -> None:
        """Add one line of the log to the sums; ignore a line that contains no relevant value."""
        found = _LINE.match(line)
        if found is None:
            return
        tags, text = found["tags"], found["text"]
        if tags == "gc,init" and (limit := _LIMIT.match(text)):
            self.limit = _bytes(limit[1], limit[2])
            return
        inside = _COLLECTION.match(text)
        text = inside["text"] if inside else text
        if tags in _CONCURRENT_TAGS and (took := _TOOK.match(text)):
            self._timed(took["what"], float(took["ms"]) / 1e3)
        if tags == "gc" and (change := _CHANGE.search(text)):
            self._changed(change)
        elif tags == "gc,heap" and inside:
            self._heap(text)

    def _timed(self, what: str, took_s: float) -> None:
        if pause := _PAUSE.match(what):
            kind = pause["kind"].strip().lower().replace(" ", "_")
            self.pauses[kind] = self.pauses.get(kind, 0) + 1
            self.pause_s[kind] = self.pause_s.get(kind, 0.0) + took_s
            self.longest_s = max(self.longest_s, took_s)
        elif what.startswith("Concurrent "):
            self.concurrent_s += took_s
        elif what.startswith("Allocation Stall"):
            self.stalls += 1
            self.stall_s += took_s

    def _changed(self, change: re.Match[str]) -> None:
        before, after = _bytes(change[1], change[2]), _bytes(change[3], change[4])
        self.allocated += before - (self.used or 0)
        self.used = after
        if change[5]:
            self.committed = _bytes(change[5], change[6])

    def _heap(self, text: str) -> None:
        """Add a line of the Z collector's heap table: size and limit, or the memory allocated in a collection."""
        if found := _WHILE_COLLECTING.match(text):
            self.allocated += _bytes(found[1], found[2])
        elif found := _CAPACITY.match(text):
            self.committed = _bytes(found[1], found[2])

    def take_longest(self) -> float:
        """Return the longest pause of the garbage collector since the previous call. [s]"""
        longest, self.longest_s = self.longest_s, 0.0
        return longest


class GcLogScraper:
    """Scraper that reads the garbage collector's log of a JVM as it grows. `kind` is the kind of the service that runs
    in the JVM.
    """

    source = "gc_log"

    def __init__(self, service: str, kind: str, path: Path) -> None:
        self.service, self.kind = service, kind
        self._path, self._offset, self._rest = path, 0, b""
        self._counts = GcCounts()
        self._allocated = 0

    def scrape(self) -> dict[str, float]:
        """Read the new lines of the log. Values that the log does not contain yet are left out."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError as error:
            raise ScrapeError(f"{self._path.name} cannot be read: {error.strerror}") from error
        self._offset += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            self._counts.take(line.decode("utf-8", "replace"))
        return self._values()

    def _values(self) -> dict[str, float]:
        counts = self._counts
        # The log rounds sizes to whole units, so the sum in `counts` can fall by one unit; the reported counter must
        # not decrease.
        self._allocated = max(self._allocated, counts.allocated)
        values = {
            "jvm_gc_concurrent_seconds_total": counts.concurrent_s,
            "jvm_gc_stalls_total": counts.stalls,
            "jvm_gc_stall_seconds_total": counts.stall_s,
            "jvm_gc_longest_pause_seconds": counts.take_longest(),
            "jvm_allocated_bytes_total": self._allocated,
            **{series_name("jvm_gc_pauses_total", kind=kind): number for kind, number in counts.pauses.items()},
            **{series_name("jvm_gc_pause_seconds_total", kind=kind): took for kind, took in counts.pause_s.items()},
        }
        sizes = {"after_gc": counts.used, "committed": counts.committed, "limit": counts.limit}
        values |= {f"jvm_heap_{name}_bytes": size for name, size in sizes.items() if size is not None}
        return {name: float(value) for name, value in values.items()}

    def close(self) -> None:
        """Do nothing, because the file is opened for each scrape."""
