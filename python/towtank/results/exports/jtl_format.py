"""Exports samples for JMeter. The samples are computed from histograms, because individual requests are not recorded.

The label `expanded from a histogram` in each row prevents the rows from being mistaken for recorded requests.
`docs/guides/export.md` states which values are exact.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from towtank.results.exports.format import ExportFile, ExportFormat
from towtank.results.exports.material import HistogramReader, Material, RunMaterial
from towtank.results.exports.seconds import RecordedSecond, SecondItem, seconds

_COLUMNS = (
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "success",
    "bytes",
    "grpThreads",
    "allThreads",
    "Latency",
    "Hostname",
    "Connect",
)
_LABEL = "expanded from a histogram"
_THREAD = "towtank (expanded from histograms) 1-1"
_UNTIMED = f"{_LABEL}; no time was recorded, so it is 0"
# Multiples of the golden ratio, modulo 1, are the positions of the samples within a second. They spread the samples
# evenly, and slow and fast requests alternate.
_GOLDEN = 0.6180339887498949
# Kinds of failure for which the engine records a response time. Timeouts come first, because the slowest requests are
# assumed to be timeouts.
_TIMED = ("timeout", "status_5xx", "status_4xx", "status_other", "check", "extract", "refused")


def _files(material: Material) -> list[ExportFile]:
    material.notes.append(
        "jtl: single requests are not recorded; the rows are expanded from the histograms of each second,"
        " as their label states (docs/guides/export.md lists the exact values)"
    )
    return [_file(material, run) for run in material.runs]


def _file(material: Material, run: RunMaterial) -> ExportFile:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for rows in _rows(material, run):
                writer.writerows(rows)

    return ExportFile(f"{run.name}.jtl", write)


def _rows(material: Material, run: RunMaterial) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows of each second, sorted by time stamp."""
    recording = run.recording()
    origin_ms = (run.wall_ns(recording) or 0) / 1e6
    for second in seconds(recording):
        samples = [
            (round(origin_ms + start_ms), cells)
            for item in second.of("step")
            for start_ms, cells in _samples(item, second, material.histograms)
        ]
        yield [(start_ms, *cells) for start_ms, cells in sorted(samples, key=lambda sample: sample[0])]


def _samples(
    item: SecondItem, second: RecordedSecond, histograms: HistogramReader
) -> Iterator[tuple[float, tuple[object, ...]]]:
    """Yield the start since the start of the run [ms] and the other cells for each request of a step that ended in a
    given second, in ascending order of response times.
    """
    elapsed = _values_ms(item.response, histograms)
    untimed = max(0, item.ended - len(elapsed))
    outcomes = _outcomes(item, len(elapsed), untimed)
    times = np.concatenate([np.zeros(untimed), elapsed])
    latency = _latencies(item, times, untimed, histograms)
    users = round(second.users)
    for place, kind in enumerate(outcomes):
        end_ms = 1e3 * (second.start_s + (place * _GOLDEN + 0.5) % 1.0 * (second.end_s - second.start_s))
        took = round(float(times[place]))
        message, success = _UNTIMED if place < untimed else _LABEL, "true" if kind == "ok" else "false"
        size = _share(item.bytes_in, len(outcomes), place)
        first_byte = min(took, round(float(latency[place])))
        yield (
            end_ms - took,
            (took, item.name, kind, message, _THREAD, success, size, users, users, first_byte, "", 0),
        )


def _values_ms(encoded: list[str], histograms: HistogramReader) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return all values of the histograms in ascending order. Each value is the middle of its bucket. [ms]"""
    merged = histograms.merged(encoded)
    return np.zeros(0) if merged is None else np.repeat(1e3 * merged.middles_s, merged.counts)


def _outcomes(item: SecondItem, timed: int, untimed: int) -> list[str]:
    """Return the outcome of each sample: first of the samples without a response time, then of all others in ascending
    order of response time.

    Timeouts are the slowest requests and come last. Other failures that have a response time are spread evenly over the
    samples, because it is unknown which response times belong to them.
    """
    order = [*(kind for kind in _TIMED if kind in item.failed), *sorted(set(item.failed) - set(_TIMED))]
    kinds = [kind for kind in order for _ in range(item.failed[kind])]
    # The end of the list contains the kinds of failure that never have a response time.
    without, known = kinds[max(0, len(kinds) - untimed) :], kinds[: max(0, len(kinds) - untimed)]
    waited = known.count("timeout")
    spread = known[waited:]
    answered = ["ok"] * max(0, timed - waited)
    for number, kind in enumerate(spread[: len(answered)]):
        answered[int((number + 0.5) / len(spread) * len(answered))] = kind
    return [*without, *["ok"] * (untimed - len(without)), *answered, *["timeout"] * min(waited, timed)]


def _latencies(
    item: SecondItem, times: np.ndarray[Any, np.dtype[np.float64]], untimed: int, histograms: HistogramReader
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the time to the first byte of each sample. The times and the samples are sorted, and the shortest time is
    assigned to the fastest sample, and so on. As in JMeter, the time is 0 if it is unknown or no byte arrived. [ms]
    """
    first = _values_ms(item.first_byte, histograms)
    found = np.zeros(len(times))
    count = min(len(first), len(times) - untimed)
    found[untimed : untimed + count] = first[:count]
    return found


def _share(whole: int, parts: int, place: int) -> int:
    """Return part number `place` of a whole number that is divided into `parts` nearly equal parts. The sum of all
    parts is the whole number.
    """
    return whole * (place + 1) // parts - whole * place // parts


FORMAT = ExportFormat(
    "jtl", "JMeter samples, expanded from histograms and labelled as expanded", _files, needs_records=True
)
