"""Shortens the records of long runs while they are read, so that the analysis of a day needs no more time and memory
than that of less than an hour.

The engine and the probes record every second. If a run is longer than `LONG_S`, the intervals of the engine are merged
into longer ones, and of the samples only those are read that lie beside the edges of these intervals or of stages, or
that have the most values. Counts, sums and histograms of merged intervals are exact, and so is the growth of a counter
between two samples. Gauges are known at fewer times. The records on disk do not change.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from towtank.digging import dig
from towtank.engine import binary
from towtank.errors import EngineError
from towtank.files import FilesVersion, open_regular, read_regular
from towtank.results import lines
from towtank.results.stream_forms import SegmentHeader

LONG_S = 7_200.0
"""Length of a run above which its records are shortened. [s]"""
INTERVALS_AT_MOST = 1_440
"""Approximate number of intervals of a shortened recording, unless the limits below require more. [1]"""
# A damaged time must not merge all that was recorded into a single interval. [s]
_WIDTH_AT_MOST_S = 300
# A steady stage has at least this number of intervals, so that its values can be tested. [1]
_INTERVALS_OF_STAGE = 60
# The same for the windows of an objective "in every TIME". [1]
_INTERVALS_OF_WINDOW = 10
_TAIL_BYTES = 1 << 20
_INTERVAL_BYTES = 100  # The record of an interval is longer.
_STEADY = "steady"
_NS = 10**9
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Shortening:
    """Parameters by which the records of a run are shortened.

    Attributes
    ----------
    width_ns : int
        Length of the merged intervals. [ns]
    origin_ns : int
        Start of the run on the clock of the generator's machine. [ns]
    edges_ns : tuple of int
        Starts and ends of stages on this clock. [ns]
    """

    width_ns: int
    origin_ns: int
    edges_ns: tuple[int, ...]

    def moved(self, offset_ns: int) -> Shortening:
        """Return the same for the clock of another machine, which is ahead by an offset. [ns]"""
        return Shortening(self.width_ns, self.origin_ns + offset_ns, tuple(edge + offset_ns for edge in self.edges_ns))


def shortening_of(run: Path, segments: Mapping[int, Sequence[Path]]) -> Shortening | None:
    """Return how the records of a run are shortened; None if all of them are read.

    Parameters
    ----------
    run : Path
        Folder of the run.
    segments : dict of int to list of Path
        Segments of each load thread, in order.

    Notes
    -----
    A run with a search is never shortened, nor is a run without the engine, which merges the intervals.
    """
    if sum(path.stat().st_size for own in segments.values() for path in own) < LONG_S * _INTERVAL_BYTES:
        return None
    ends = [end for own in segments.values() if (end := _last_end_ns(own)) is not None]
    header = next(
        (found for own in segments.values() for path in reversed(own) if (found := _header(path)) is not None), None
    )
    if not ends or header is None or header.monotonic_ns is None or max(ends) <= LONG_S * _NS or _searches(run):
        return None
    width_s = _width_s(max(ends) / _NS, header, _every_s(run))
    if width_s <= 1 or not _has_engine():
        return None
    origin = header.monotonic_ns
    edges_s = {at for stage in header.stages for at in (stage.start_s, stage.end_s)}
    return Shortening(width_s * _NS, origin, tuple(sorted(origin + round(_NS * at) for at in edges_s)))


def _width_s(length_s: float, header: SegmentHeader, every_s: Iterable[float]) -> int:
    """Return the length of the merged intervals, at least 1. [s]"""
    steady = [stage.end_s - stage.start_s for stage in header.stages if stage.phase == _STEADY]
    shortest = min((length for length in steady if length > 0), default=length_s)
    most = min(math.ceil(length_s / INTERVALS_AT_MOST), _WIDTH_AT_MOST_S, int(shortest / _INTERVALS_OF_STAGE))
    windows = list(every_s)
    fits = (
        width
        for width in range(most, 1, -1)
        if all(window % width == 0 and window >= width * _INTERVALS_OF_WINDOW for window in windows)
    )
    return next(fits, 1)


def _last_end_ns(own: Sequence[Path]) -> int | None:
    """Return the end of the last interval in the segments of a load thread; None if there is none. [ns]"""
    for path in reversed(own):
        with open_regular(path) as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            tail = stream.read().splitlines(keepends=True)
        for line in reversed(tail):
            found = re.search(rb'"t1_ns":(\d{1,19})\b', line)
            if found is not None and lines.is_intact(line):
                return int(found[1])
    return None


def _header(path: Path) -> SegmentHeader | None:
    with open_regular(path) as stream:
        first = stream.readline()
    document = lines.decode(first.rstrip(b"\n"))
    try:
        return None if document is None else SegmentHeader.model_validate(document)
    except ValueError:
        return None


def _searches(run: Path) -> bool:
    return dig(_json(run / "run.json"), "search") is not None


def _every_s(run: Path) -> Iterator[float]:
    """Yield the lengths of the windows in which objectives of the study must be met. [s]"""
    objectives = dig(_json(run.parent.parent / "study.json"), "study", "objectives")
    for objective in objectives if isinstance(objectives, list) else []:
        every = dig(objective, "every_s")
        if isinstance(every, int | float):
            yield float(every)


def _json(path: Path) -> object:
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def _has_engine() -> bool:
    try:
        binary()
    except EngineError:
        return False
    return True


@dataclass
class _Kept:
    """Records of the long run that was read last, by name, with the version of their files."""

    folder: Path | None = None
    values: dict[object, tuple[object, Any]] = field(default_factory=dict)


_kept = _Kept()


def kept(folder: Path, name: object, version: tuple[FilesVersion, Shortening], read: Callable[[], _Value]) -> _Value:
    """Return what `read` returns for a long run. If the same version of the files was read before, and no other long
    run since, it is returned from memory.
    """
    if _kept.folder != folder:
        _kept.folder, _kept.values = folder, {}
    known = _kept.values.get(name)
    if known is not None and known[0] == version:
        found: _Value = known[1]
        return found
    made = read()
    _kept.values[name] = version, made
    return made


def merged(paths: Sequence[Path], width_ns: int, read: Callable[[Iterator[bytes]], None]) -> bool:
    """Merge the intervals of one load thread.

    Parameters
    ----------
    paths : sequence of Path
        Segments of the thread, in order, all in one folder.
    width_ns : int
        Length of the merged intervals. [ns]
    read : callable
        Function that receives the complete lines of the merged recording.

    Returns
    -------
    bool
        False if the engine failed, so that the lines are not complete.
    """
    return _through_engine(["--width", str(width_ns)], paths, read)


def within(paths: Sequence[Path], from_s: float, until_s: float, read: Callable[[Iterator[bytes]], None]) -> bool:
    """Read only the intervals of one load thread that overlap a time span of the run. [s] Parameters and result are as
    for `merged`.
    """
    span = [str(max(0, int(at * _NS))) for at in (from_s, until_s)]
    return _through_engine(["--from", span[0], "--until", span[1]], paths, read)


def has_torn_tail(path: Path) -> bool:
    """Return True if the last line of a file is not complete. Raise `NotAFileError` if it is not a regular file."""
    with open_regular(path) as stream:
        size = path.stat().st_size
        stream.seek(max(0, size - 1))
        return size > 0 and stream.read(1) != b"\n"


def _through_engine(options: list[str], paths: Sequence[Path], read: Callable[[Iterator[bytes]], None]) -> bool:
    # Names of segments are ASCII; the name of their folder may be any bytes.
    command = [str(binary().absolute()), "merge", *options, *(path.name for path in paths)]
    try:
        with subprocess.Popen(
            command,
            cwd=paths[0].parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            read(iter(process.stdout))
    except OSError:
        return False
    return process.returncode == 0
