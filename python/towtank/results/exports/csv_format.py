"""Exports all runs as one CSV file, with one row per second and transaction, page or step."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from towtank.results.exports.format import ExportFile, ExportFormat
from towtank.results.exports.material import HistogramReader, Material, RunMaterial
from towtank.results.exports.seconds import RecordedSecond, SecondItem, seconds, total

_QUANTILES = {
    "response_p50_s": 0.5,
    "response_p90_s": 0.9,
    "response_p95_s": 0.95,
    "response_p99_s": 0.99,
    "response_p99.9_s": 0.999,
}
_PLACE = ("start_s", "end_s", "started_at", "stage", "phase", "users")
_COUNTS = (
    "offered",
    "started",
    "ok",
    "failed",
    "failed_by_kind",
    "status_codes",
    "not_started",
    "bytes_out",
    "bytes_in",
)
_TIMES = ("timed", "response_mean_s", "response_min_s", *_QUANTILES, "response_max_s")
# Spreadsheets evaluate texts that begin with these characters as formulas. Names may come from untrusted sources.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _files(material: Material) -> list[ExportFile]:
    return [ExportFile("intervals.csv", lambda path: _write(path, material))]


def _write(path: Path, material: Material) -> None:
    factors = {name: f"factor_{name}" for name in material.factors}
    columns = ["run", *factors.values(), *_PLACE, "of", "name", *_COUNTS, *_TIMES]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for run in material.runs:
            levels = {column: _text(run.factors.get(name, "")) for name, column in factors.items()}
            for row in _rows(run, material.histograms):
                writer.writerow({"run": run.name, **levels, **row})


def _rows(run: RunMaterial, histograms: HistogramReader) -> Iterator[Mapping[str, object]]:
    recording = run.recording()
    wall_ns = run.wall_ns(recording)
    for second in seconds(recording):
        place = _place(second, wall_ns)
        every = total(second.of("transaction"), "all", "all transactions")
        for item in [every, *second.items]:
            yield {**place, "of": item.of, "name": _text(item.name), **_counts(item), **_times(item, histograms)}


def _place(second: RecordedSecond, wall_ns: int | None) -> Mapping[str, object]:
    started = "" if wall_ns is None else _moment(wall_ns + round(second.start_s * 1e9))
    return {
        "start_s": _number(second.start_s),
        "end_s": _number(second.end_s),
        "started_at": started,
        "stage": _text(second.stage),
        "phase": second.phase,
        "users": _number(second.users),
    }


def _text(text: str) -> str:
    """Return the text with the prefix `'` if spreadsheets would evaluate it as a formula. Numbers get no prefix."""
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(_FORMULAS) else text
    return text


def _moment(wall_ns: int) -> str:
    """Render a time as ISO 8601 in UTC, to the millisecond."""
    moment = _EPOCH + timedelta(milliseconds=wall_ns // 1_000_000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _counts(item: SecondItem) -> Mapping[str, object]:
    """Return the counts of a step, page or transaction.

    Some counts are recorded only for steps. For pages and transactions these counts stay empty, because zero would be
    wrong.
    """
    counted = {
        "ok": item.ok,
        "failed": sum(item.failed.values()),
        "failed_by_kind": " ".join(f"{kind}={count}" for kind, count in sorted(item.failed.items()) if count),
    }
    if item.of != "step":
        return counted
    return {
        **counted,
        "status_codes": " ".join(f"{code}={count}" for code, count in (item.status_codes or {}).items()),
        "offered": item.offered,
        "started": item.started,
        "not_started": sum(item.not_started.values()),
        "bytes_out": item.bytes_out,
        "bytes_in": item.bytes_in,
    }


def _times(item: SecondItem, histograms: HistogramReader) -> Mapping[str, object]:
    merged = histograms.merged(item.response)
    if merged is None:
        return {"timed": 0}
    quantiles = zip(_QUANTILES, merged.quantiles(_QUANTILES.values()), strict=True)
    return {
        "timed": merged.total,
        "response_mean_s": _number(item.response_sum_s / merged.total),
        "response_min_s": _number(merged.minimum_s),
        **{name: _number(value) for name, value in quantiles},
        "response_max_s": _number(merged.maximum_s),
    }


FORMAT = ExportFormat("csv", "every second of every transaction, page and step as a row", _files, needs_records=True)
