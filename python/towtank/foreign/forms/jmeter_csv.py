"""Reads JMeter's result file (JTL) as CSV with a header: one sample per row, times in milliseconds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.tables import cells, has_columns, truth
from towtank.foreign.requests import BadRowError, Collector, number, number_of, text_of
from towtank.foreign.source import Source

NAME = "JMeter JTL (CSV)"
SUMS_UP = "Number of samples in transaction"
"""Beginning of the response message of a sample that a Transaction Controller wrote."""
_FORMATS = ("%Y/%m/%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S")


def recognises(head: str) -> bool:
    """Return True if the header has the columns that JMeter always writes."""
    return has_columns(head, ("timestamp", "elapsed")) and not has_columns(head, ("start_s",))


@dataclass(frozen=True)
class Sample:
    """Sample of JMeter: one measured request or, with `sums_up`, the sum of several samples, which a Transaction
    Controller wrote.
    """

    start_s: float
    elapsed_s: float
    ok: bool
    label: str
    thread: str
    sums_up: bool


def read(source: Source, rows: Collector) -> Found:
    """Read the samples of a file, without the sums of samples that the file also contains individually."""
    samples = []
    for line, row in cells(source, rows):
        try:
            sample = _sample(row)
            rows.add(sample.start_s, sample.elapsed_s, sample.ok, sample.label)
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
            continue
        samples.append(sample)
    return Found(notes=leave_out_sums(samples, rows))


def _sample(row: Mapping[str, str]) -> Sample:
    return Sample(
        _stamp(text_of(row, "timestamp")),
        number_of(row, "elapsed") / 1e3,
        truth(text_of(row, "success"), "success"),
        text_of(row, "label"),
        text_of(row, "threadname"),
        text_of(row, "responsemessage").startswith(SUMS_UP),
    )


def _stamp(text: str) -> float:
    """Parse the start time of a sample, in milliseconds since 1970 or as a date; return seconds since 1970. [s]"""
    for form in _FORMATS if "-" in text[1:] or "/" in text else ():
        try:
            return datetime.strptime(text, form).timestamp()
        except ValueError:
            continue
    return number(text, "timeStamp") / 1e3


def leave_out_sums(samples: list[Sample], rows: Collector) -> tuple[str, ...]:
    """Remove samples of Transaction Controllers that are sums of other samples in the file; return a note.

    Otherwise the summed requests would count twice.
    """
    starts: dict[str, list[float]] = {}
    for sample in samples:
        if not sample.sums_up:
            starts.setdefault(sample.thread, []).append(sample.start_s)
    for times in starts.values():
        times.sort()
    kept = [not (sample.sums_up and _contains(sample, starts.get(sample.thread, ()))) for sample in samples]
    left_out = len(kept) - sum(kept)
    if not left_out:
        return ()
    rows.keep(kept)
    return (f"{left_out:,} samples of Transaction Controllers sum up other samples of the file and are left out",)


def _contains(sample: Sample, starts: list[float] | tuple[()]) -> bool:
    place = bisect_left(starts, sample.start_s - 1e-4)
    return place < len(starts) and starts[place] <= sample.start_s + sample.elapsed_s + 1e-4
