"""Shortens the records of long runs while they are read, so that the analysis of a day needs no more time and memory
than that of less than an hour.

The engine and the probes record every second. If a run is longer than `LONG_S`, the intervals of the engine are merged
into longer ones, and only one sample in each of these is read. Counts, sums and histograms of merged intervals are
exact, and so is the growth of a counter between two samples. Gauges are known at fewer times. The records on disk do
not change.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import fsencode
from pathlib import Path
from typing import Any, TypeVar

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.files import open_regular

LONG_S = 7_200.0
"""Length of a run above which its records are shortened. [s]"""
INTERVALS_AT_MOST = 1_440
"""Approximate number of intervals of a shortened recording. [1]"""
_EDGE_BYTES = 1 << 20
_NS = 10**9
_Value = TypeVar("_Value")


def width_ns(first_ns: int | None, last_ns: int | None) -> int | None:
    """Return the length of the merged intervals of a recording between two times; None if it is not long. [ns]"""
    if first_ns is None or last_ns is None or last_ns - first_ns <= LONG_S * _NS:
        return None
    return math.ceil((last_ns - first_ns) / INTERVALS_AT_MOST / _NS) * _NS


def first_time(path: Path, key: str) -> int | None:
    """Return the first time with a given key in the first lines of a recorded stream; None if there is none. [ns]"""
    with open_regular(path) as stream:
        return next(_times(stream.read(_EDGE_BYTES), key), None)


def last_time(path: Path, key: str) -> int | None:
    """Return the last time with a given key in the last lines of a recorded stream; None if there is none. [ns]"""
    with open_regular(path) as stream:
        stream.seek(max(0, path.stat().st_size - _EDGE_BYTES))
        return max(_times(stream.read(), key), default=None)


def _times(text: bytes, key: str) -> Iterator[int]:
    for found in re.finditer(rb'"%s":(\d{1,19})\b' % key.encode(), text):
        yield int(found[1])


@dataclass
class _Kept:
    """What was read of the long run that was read last, by key."""

    folder: Path | None = None
    values: dict[object, Any] = field(default_factory=dict)


_kept = _Kept()


def kept(folder: Path, key: object, read: Callable[[], _Value]) -> _Value:
    """Return what `read` returns for a long run; the second time from memory, unless another long run was read since.
    The key contains the version of the files that are read (`version_of`).
    """
    if _kept.folder != folder:
        _kept.folder, _kept.values = folder, {}
    if key not in _kept.values:
        _kept.values[key] = read()
    found: _Value = _kept.values[key]
    return found


def merged(paths: Sequence[Path], width: int, read: Callable[[Iterator[bytes]], None]) -> bool:
    """Merge the intervals of one load thread.

    Parameters
    ----------
    paths : sequence of Path
        Segments of the thread, in order.
    width : int
        Length of the merged intervals. [ns]
    read : callable
        Function that receives the lines of the merged recording.

    Returns
    -------
    bool
        False if the engine is missing or failed, so that the lines are not complete.
    """
    return _through_engine(["--width", str(width)], paths, read)


def cut(paths: Sequence[Path], from_s: float, until_s: float, read: Callable[[Iterator[bytes]], None]) -> bool:
    """Read only the intervals of one load thread that overlap a time span of the run. [s] Parameters and result are as
    for `merged`.
    """
    span = [str(max(0, int(at * _NS))) for at in (from_s, until_s)]
    return _through_engine(["--from", span[0], "--until", span[1]], paths, read)


def _through_engine(options: list[str], paths: Sequence[Path], read: Callable[[Iterator[bytes]], None]) -> bool:
    try:
        command = [str(binary()), "merge", *options, *(str(path.absolute()) for path in paths)]
        with subprocess.Popen(
            list(map(fsencode, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            read(iter(process.stdout))
    except (EngineError, OSError):
        return False
    return process.returncode == 0
