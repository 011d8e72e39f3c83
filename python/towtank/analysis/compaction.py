"""Writes the Parquet tables of a run; the columns include quantiles of the histograms."""

from __future__ import annotations

from pathlib import Path

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import Decoded
from towtank.results import INTERVALS_FILE, METRICS_FILE, Records, RunFolder, write_tables

_QUANTILES = {"response_p50_s": 0.5, "response_p95_s": 0.95, "response_p99_s": 0.99, "response_max_s": 1.0}


def compact(run: RunFolder, records: Records) -> tuple[Path, Path]:
    """Write `intervals.parquet` and `metrics.parquet` from the records of a run, and return the paths of the tables."""
    return write_tables(run, records, lambda encoded: described(histograms.decode_all(encoded)))


def is_compacted(run: RunFolder) -> bool:
    """Return True if both Parquet tables of a run exist, that is, if `compact` has run."""
    return (run.path / INTERVALS_FILE).is_file() and (run.path / METRICS_FILE).is_file()


def described(found: Decoded) -> list[dict[str, object]]:
    """Return the count, the quantiles and the maximum of each histogram as table columns. Return no columns for a
    histogram that is empty or could not be read.
    """
    columns = found.quantiles(_QUANTILES.values()).tolist()
    totals = found.totals().tolist()
    return [
        {"timed": total, **dict(zip(_QUANTILES, quantiles, strict=True))} if total else {}
        for total, quantiles in zip(totals, columns, strict=True)
    ]
