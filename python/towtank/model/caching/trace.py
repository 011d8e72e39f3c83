"""Computes the miss ratios of caches for a trace of references. The trace is a CSV file, an access log or a
stream of CSV lines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.errors import Fault, StudyError
from towtank.model.caching.answer import CacheAnswer, TraceOutcome
from towtank.model.caching.disk import CacheDisk
from towtank.model.caching.engine import run_caches

SCHEMA = "towtank/model-cache/1"
STREAM = "-"
_READ = 200, 206
"""HTTP status codes of the responses for which a web server reads a file."""


@dataclass(frozen=True)
class CacheRequest:
    """Settings for the analysis of a trace: cache sizes in `entries` [1] and `bytes` [byte], with a table of all pairs
    if both are given; metadata of an entry, which count towards the size in bytes [byte]; share of the keys to sample,
    in (0, 1], or the highest number of sampled keys [1]. The caches are filled by `warm_up` references, which are not
    counted [1]. The visits and demands of `disk` are added to the result.
    """

    entries: tuple[int, ...] = ()
    bytes: tuple[int, ...] = ()
    metadata_bytes: int = 0
    rate: float | None = None
    samples: int | None = None
    warm_up: int = 0
    disk: CacheDisk | None = None

    def options(self) -> list[str]:
        """Return these settings as command-line options of the engine."""
        options = ["--metadata-bytes", str(self.metadata_bytes), "--warm-up", str(self.warm_up)]
        for name, sizes in (("--entries", self.entries), ("--bytes", self.bytes)):
            if sizes:
                options += [name, ",".join(map(str, sizes))]
        if self.rate is not None:
            options += ["--shards", repr(self.rate)]
        if self.samples is not None:
            options += ["--samples", str(self.samples)]
        return options


@dataclass
class _LogLines:
    """Converts the file reads that an access log records into the lines of a trace of references."""

    path: Path
    left_out: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[bytes]:
        from towtank.workload import ImportNotes, read_access_log  # noqa: PLC0415

        notes = ImportNotes(str(self.path))
        yield b"key,bytes,time\n"
        for hit in read_access_log(self.path, notes):
            if hit.method != "GET" or hit.status not in _READ:
                why = f"status {hit.status}" if hit.method == "GET" else f"method {hit.method}"
                self.left_out[why] = self.left_out.get(why, 0) + 1
                continue
            url = hit.url.replace('"', '""')
            yield f'"{url}",{hit.bytes},{hit.start}\n'.encode()
        self.unreadable = [f"{note.times} times in the log, {note.what} {note.why}" for note in notes.sorted()]

    def warnings(self) -> list[str]:
        """Return warnings about unreadable log lines, and about log lines that do not record the read of a file."""
        if not self.left_out:
            return self.unreadable
        parts = ", ".join(f"{count} with {why}" for why, count in sorted(self.left_out.items()))
        return [*self.unreadable, f"log lines that do not record a successful read of a file were skipped: {parts}"]


def trace_document(source: str, request: CacheRequest) -> dict[str, object]:
    """Return a JSON document with the miss ratios of a trace, as in `docs/reference/model-cache.md`.

    The source is the path of a CSV file or an access log, or `-` for CSV on standard input.

    Raises
    ------
    StudyError
        If the trace is invalid; contains every fault.
    """
    outcome, warnings = _read(source, request.options())
    if outcome.answer is None:
        faults = [Fault(source, fault.line, fault.column, fault.where, fault.message) for fault in outcome.faults]
        raise StudyError(faults, hint=f"{outcome.more} more faults are not shown" if outcome.more else None)
    answer = CacheAnswer.model_validate(outcome.answer)
    document = {"schema": SCHEMA, "source": source, **outcome.answer, "warnings": [*answer.warnings, *warnings]}
    if request.disk is None:
        return document
    rate = None if answer.trace is None else answer.trace.references_per_s
    curves = {"curve": answer.curve, "curve_by_bytes": answer.curve_by_bytes, "limits": answer.limits}
    for key, points in curves.items():
        document[key] = [{**point.document(), **request.disk.figures(point.miss_ratio, rate)} for point in points]
    return document


def _read(source: str, options: list[str]) -> tuple[TraceOutcome, list[str]]:
    """Analyse a trace with the engine; return the engine's answer, and warnings about skipped log lines."""
    from towtank.workload import is_access_log  # noqa: PLC0415

    if source == STREAM:
        return _outcome(options, source=sys.stdin.buffer), []
    path = Path(source)
    if path.is_dir() or not path.exists():
        got = "a folder" if path.is_dir() else "a path that does not exist"
        raise StudyError.at(path, f"must be a file with a trace, got {got}")
    if not path.is_file():
        # A pipe can be read only once: if its first line were read to detect an access log, the line would be lost.
        with path.open("rb") as stream:
            return _outcome(options, source=stream), []
    try:
        log = is_access_log(path)
    except OSError as error:
        raise StudyError.at(path, f"must be a file that can be read, got: {error.strerror}") from None
    if not log:
        # The path is made absolute, because the engine would mistake a path that begins with a dash for an option.
        return _outcome([str(path.absolute()), *options]), []
    lines = _LogLines(path)
    outcome = _outcome(options, lines=lines)
    # The line numbers of the faults are those of the generated trace and not of the log, so they are removed.
    faults = tuple(fault.model_copy(update={"line": 0, "column": 0}) for fault in outcome.faults)
    return outcome.model_copy(update={"faults": faults}), lines.warnings()


def _outcome(options: list[str], **source: Any) -> TraceOutcome:
    return TraceOutcome.model_validate(run_caches(options, **source))


def zipf_document(keys: int, skew: float, request: CacheRequest) -> dict[str, object]:
    """Return a JSON document with the miss ratios for references that follow Zipf's law, by Che's approximation.

    References to key i of `keys` are proportional to i^-skew, where `skew` is at least 0. The request has at least one
    of `entries`.
    """
    rows = zipf_hit_ratios(keys, skew, request.entries)
    curve = [
        {"entries": entries, "miss_ratio": 1 - ratio} for entries, ratio in zip(request.entries, rows, strict=True)
    ]
    if request.disk is not None:
        curve = [{**point, **request.disk.figures(point["miss_ratio"], None)} for point in curve]
    return {
        "schema": SCHEMA,
        "source": f"Zipf's law of {keys:,} keys, skew {skew:g}",
        "method": "Che's approximation, independent references",
        "exact": False,
        "curve": curve,
        "warnings": [],
    }


def zipf_hit_ratios(keys: int, skew: float, entries: tuple[int, ...]) -> list[float]:
    """Return the hit ratio for each cache size in `entries`, by Che's approximation for Zipf's law. [ratio]"""
    options = ["--zipf", f"{keys}:{skew!r}", "--entries", ",".join(map(str, entries))]
    return [row["hit_ratio"] for row in run_caches(options)["answer"]]
