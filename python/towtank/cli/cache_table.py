"""Renders the output of `towtank model cache` as text."""

from __future__ import annotations

from collections.abc import Sequence, Set

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number, percent
from towtank.model import (
    BytesPoint,
    CacheAnswer,
    CachedIndexAnswer,
    CacheLimit,
    CachePoint,
    DiskLoad,
    EntriesPoint,
    Sampling,
    SkewRow,
    TraceAnswer,
)
from towtank.units import format_duration, format_rate, format_size


def cache_lines(answer: CacheAnswer) -> list[RenderableType]:
    """Render the result of a cache model: source, method, tables of miss ratios, and warnings."""
    lines: list[RenderableType] = []
    if answer.trace is not None:
        lines += [_trace(answer, answer.trace), _method(answer, answer.sampling)]
        lines += _curves(answer)
        if answer.limits:
            lines.append(_limits(answer.limits))
    elif answer.index is not None:
        lines += [_fits(answer.index), _by_skew(answer.by_skew)]
    else:
        lines += [f"{answer.source}: {answer.method}", _entries(answer.curve)]
    return [*lines, *(f"warning: {text}" for text in answer.warnings)]


def _trace(answer: CacheAnswer, trace: TraceAnswer) -> str:
    about = "" if answer.exact else "about "
    parts = [f"{trace.references:,} references to {about}{trace.keys:,.0f} keys"]
    if trace.requested_bytes is not None and trace.footprint_bytes is not None:
        asked, whole = format_size(trace.requested_bytes), format_size(trace.footprint_bytes)
        parts.append(f"{asked} requested, {about}{whole} of distinct entries")
    if trace.references_per_s is not None:
        parts.append(format_rate(trace.references_per_s))
    if trace.warm_up_references:
        parts.append(f"after {trace.warm_up_references:,} references of warm-up")
    first = percent(trace.first_reference_ratio)
    return f"{answer.source}: {', '.join(parts)}; {first} are first references"


def _method(answer: CacheAnswer, sampling: Sampling | None) -> str:
    if sampling is None:
        return f"exact: {answer.method}"
    text = f"estimate: {answer.method}, {sampling.keys:,} keys, final sampling rate {100 * sampling.rate:.3g} %"
    mean, largest = sampling.mean_half_width, sampling.largest_half_width
    if mean is None:
        return f"{text}; the sample is too small to estimate the error"
    return f"{text}; 95 % intervals are ± {mean:.2g} on average, ± {largest:.2g} at most"


def _curves(answer: CacheAnswer) -> list[RenderableType]:
    """Render the miss ratio curve at cache sizes that are powers of two, at the requested sizes, and at the largest
    size.
    """
    entries = {limit.entries for limit in answer.limits}
    curves: list[RenderableType] = [
        _entries([each for each in answer.curve if _kept(each.entries, entries, answer.curve[-1].entries)])
    ]
    if answer.curve_by_bytes:
        asked, last = {limit.bytes for limit in answer.limits}, answer.curve_by_bytes[-1].bytes
        curves.append(_bytes([each for each in answer.curve_by_bytes if _kept(each.bytes, asked, last)]))
    return curves


def _kept(size: int, asked: Set[int | None], last: int) -> bool:
    return size & (size - 1) == 0 or size in asked or size == last


def _bytes(points: Sequence[BytesPoint]) -> Table:
    table = Table("bytes", "miss ratio", "bytes missed", *_interval_head(points), *_disk(points[0]))
    for point in points:
        cells = [percent(point.miss_ratio), percent(point.byte_miss_ratio)]
        table.add_row(format_size(point.bytes), *cells, *_interval(point, points), *_disk(point).values())
    return table


def _entries(points: Sequence[EntriesPoint]) -> Table:
    independent = points[0].independent_miss_ratio is not None
    table = Table("entries", "miss ratio", *_interval_head(points), *_disk(points[0]))
    if independent:
        table.add_column("if independent")
    for point in points:
        row = [f"{point.entries:,}", percent(point.miss_ratio), *_interval(point, points), *_disk(point).values()]
        table.add_row(*row, *([percent(point.independent_miss_ratio or 0.0)] if independent else []))
    return table


def _limits(rows: Sequence[CacheLimit]) -> Table:
    weighted, metadata = rows[0].byte_miss_ratio is not None, any(row.metadata_bytes for row in rows)
    table = Table("bytes", "entries", "miss ratio", *_interval_head(rows), "no entry")
    if weighted:
        table.add_column("bytes missed")
    if metadata:
        table.add_column("metadata")
    for head in _disk(rows[0]):
        table.add_column(head)
    for row in rows:
        table.add_row(
            "no limit" if row.bytes is None else format_size(row.bytes),
            "no limit" if row.entries is None else f"{row.entries:,}",
            percent(row.miss_ratio),
            *_interval(row, rows),
            percent(row.entry_miss_ratio),
            *([percent(row.byte_miss_ratio or 0.0)] if weighted else []),
            *([format_size(row.metadata_bytes or 0)] if metadata else []),
            *_disk(row).values(),
        )
    return table


def _interval_head(points: Sequence[CachePoint]) -> list[str]:
    return ["95 %"] if any(point.half_width is not None for point in points) else []


def _interval(point: CachePoint, points: Sequence[CachePoint]) -> list[str]:
    if not _interval_head(points):
        return []
    return ["-" if point.half_width is None else f"± {100 * point.half_width:.2g} %"]


def _disk(load: DiskLoad) -> dict[str, str]:
    """Render the load of the disk by heading; empty if it was not requested."""
    texts = {
        "visits": None if load.disk_visits is None else number(load.disk_visits),
        "demand": None if load.disk_demand_s is None else format_duration(load.disk_demand_s),
        "disk busy": None if load.disk_utilization is None else percent(load.disk_utilization),
    }
    return {head: text for head, text in texts.items() if text is not None}


def _fits(index: CachedIndexAnswer) -> str:
    room = f"{format_size(index.room_bytes)} of memory that programs leave free"
    if index.fits:
        return (
            f"the index of {format_size(index.index_bytes)} fits into {room}; {format_size(index.spare_bytes)} remain"
        )
    needed = format_size(index.memory_needed_bytes)
    return f"the index of {format_size(index.index_bytes)} does not fit into {room}: the host needs more than {needed}"


def _by_skew(rows: Sequence[SkewRow]) -> Table:
    table = Table("skew of its pages", "hit ratio", "miss ratio", *_disk(rows[0]))
    for row in rows:
        table.add_row(f"{row.skew:g}", percent(row.hit_ratio), percent(row.miss_ratio), *_disk(row).values())
    return table
