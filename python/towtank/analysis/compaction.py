"""Writes the Parquet tables of a run; the columns include quantiles of the histograms."""

from __future__ import annotations

from pathlib import Path

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import BadHistogramError
from towtank.results import INTERVALS_FILE, METRICS_FILE, RunFolder, write_tables

_QUANTILES = {"response_p50_s": 0.5, "response_p95_s": 0.95, "response_p99_s": 0.99}


def compact(run: RunFolder) -> tuple[Path, Path]:
    """Write `intervals.parquet` and `metrics.parquet` from the streams of a run, and return the paths of the tables."""
    return write_tables(run, described)


def is_compacted(run: RunFolder) -> bool:
    """Return True if both Parquet tables of a run exist, that is, if `compact` has run."""
    return (run.path / INTERVALS_FILE).is_file() and (run.path / METRICS_FILE).is_file()


def described(encoded: str) -> dict[str, object]:
    """Return the count, the quantiles and the maximum of one encoded histogram as table columns. Return no columns if
    the histogram is empty or cannot be read.
    """
    try:
        histogram = histograms.decode(encoded)
    except BadHistogramError:
        return {}
    if not histogram.total:
        return {}
    quantiles = dict(zip(_QUANTILES, histogram.quantiles(_QUANTILES.values()), strict=True))
    return {"timed": histogram.total, "response_max_s": histogram.maximum_s, **quantiles}
