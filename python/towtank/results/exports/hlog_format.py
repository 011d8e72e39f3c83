"""Exports one HdrHistogram interval log, version 1.3, for each run.

The log contains transactions only. If it contained steps too, a reader that ignores tags would count each request
twice: in its step and in its transaction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from towtank.results.exports.format import ExportFile, ExportFormat
from towtank.results.exports.material import Material, RunMaterial
from towtank.results.exports.seconds import seconds

_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
# Characters that a tag must not contain, because a reader would end the tag there: commas, blanks and line breaks.
_NOT_IN_A_TAG = re.compile(r"[,\s]+")
_NS_PER_MS = 1e6


def _files(material: Material) -> list[ExportFile]:
    return [_file(material, run) for run in material.runs]


def _file(material: Material, run: RunMaterial) -> ExportFile:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in _lines(material, run))

    return ExportFile(f"{run.name}.hlog", write)


def _lines(material: Material, run: RunMaterial) -> Iterator[str]:
    recording = run.recording()
    start_s = (run.wall_ns(recording) or 0) / 1e9
    day = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(start_s))
    yield f"#[Towtank {material.version}: response times of transactions in nanoseconds, run {_line(run.name)}]"
    yield "#[Histogram log format version 1.3]"
    yield f"#[StartTime: {start_s:.3f} (seconds since epoch), {day}]"
    yield f"#[BaseTime: {start_s:.3f} (seconds since epoch)]"
    yield _LEGEND
    tags = _Tags()
    for second in seconds(recording):
        for item in second.of("transaction"):
            encoded = material.histograms.encoded(item.response)
            merged = material.histograms.merged([encoded]) if encoded else None
            if merged is not None:
                most_ms = merged.maximum_s * 1e9 / _NS_PER_MS
                length = second.end_s - second.start_s
                yield f"Tag={tags[item.name]},{second.start_s:.3f},{length:.3f},{most_ms:.3f},{encoded}"


def _line(text: str) -> str:
    return " ".join(text.split())


class _Tags:
    """Assigns a tag to each name. If the tag of another name is the same, a number is appended."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            plain = _NOT_IN_A_TAG.sub("_", name) or "_"
            tag, number = plain, 1
            while tag in self._known.values():
                number += 1
                tag = f"{plain}_{number}"
            self._known[name] = tag
        return self._known[name]


FORMAT = ExportFormat("hlog", "HdrHistogram log 1.3 with a tag for each transaction", _files, needs_records=True)
