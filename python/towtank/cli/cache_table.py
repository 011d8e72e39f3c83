"""Renders the output of `towtank model cache` as text."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number, percent
from towtank.units import format_duration, format_rate, format_size

Json = dict[str, Any]
_DISK = {"disk_visits": "visits", "disk_demand_s": "demand", "disk_utilization": "disk busy"}


def cache_lines(document: Json) -> list[RenderableType]:
    """Render the result of a cache model: source, method, tables of miss ratios, and warnings."""
    lines: list[RenderableType] = []
    if "trace" in document:
        lines += [_trace(document), _method(document)]
        lines += _curve(document)
        if document["limits"]:
            lines.append(_limits(document["limits"]))
    elif "index" in document:
        lines += [_fits(document["index"]), _by_skew(document["by_skew"])]
    else:
        lines += [f"{document['source']}: {document['method']}", _entries(document["curve"], {})]
    return [*lines, *(f"warning: {text}" for text in document["warnings"])]


def _trace(document: Json) -> str:
    trace = document["trace"]
    about = "" if document["exact"] else "about "
    parts = [f"{trace['references']:,} references to {about}{trace['keys']:,.0f} keys"]
    if trace["requested_bytes"] is not None:
        asked, whole = format_size(trace["requested_bytes"]), format_size(trace["footprint_bytes"])
        parts.append(f"{asked} requested, {about}{whole} of distinct entries")
    if trace["references_per_s"] is not None:
        parts.append(format_rate(trace["references_per_s"]))
    if trace["warm_up_references"]:
        parts.append(f"after {trace['warm_up_references']:,} references of warm-up")
    first = percent(trace["first_reference_ratio"])
    return f"{document['source']}: {', '.join(parts)}; {first} are first references"


def _method(document: Json) -> str:
    sampling = document["sampling"]
    if sampling is None:
        return f"exact: {document['method']}"
    text = (
        f"estimate: {document['method']}, {sampling['keys']:,} keys, final sampling rate {100 * sampling['rate']:.3g} %"
    )
    if sampling["mean_half_width"] is None:
        return f"{text}; the sample is too small to estimate the error"
    mean, largest = sampling["mean_half_width"], sampling["largest_half_width"]
    return f"{text}; 95 % intervals are ± {mean:.2g} on average, ± {largest:.2g} at most"


def _curve(document: Json) -> list[RenderableType]:
    """Render the miss ratio curve at cache sizes that are powers of two, at the requested sizes, and at the largest
    size.
    """
    asked = {
        key: {limit[key] for limit in document["limits"] if limit[key] is not None} for key in ("entries", "bytes")
    }
    curves: list[RenderableType] = [_entries(document["curve"], asked)]
    if document["curve_by_bytes"]:
        points = _doubling(document["curve_by_bytes"], "bytes", asked["bytes"])
        table = Table("bytes", "miss ratio", "bytes missed", *_interval_head(points), *_disk_heads(points))
        for point in points:
            cells = [percent(point["miss_ratio"]), percent(point["byte_miss_ratio"])]
            table.add_row(format_size(point["bytes"]), *cells, *_interval(point, points), *_disk_cells(point))
        curves.append(table)
    return curves


def _doubling(points: list[Json], key: str, asked: set[int]) -> list[Json]:
    last = points[-1]
    return [point for point in points if point[key] & (point[key] - 1) == 0 or point[key] in asked or point is last]


def _entries(curve: list[Json], asked: dict[str, set[int]]) -> Table:
    points = _doubling(curve, "entries", asked["entries"]) if asked else curve
    independent = points[0].get("independent_miss_ratio") is not None
    table = Table("entries", "miss ratio", *_interval_head(points), *_disk_heads(points))
    if independent:
        table.add_column("if independent")
    for point in points:
        row = [f"{point['entries']:,}", percent(point["miss_ratio"]), *_interval(point, points), *_disk_cells(point)]
        table.add_row(*row, *([percent(point["independent_miss_ratio"])] if independent else []))
    return table


def _limits(rows: list[Json]) -> Table:
    weighted, metadata = rows[0]["byte_miss_ratio"] is not None, any(row["metadata_bytes"] for row in rows)
    table = Table("bytes", "entries", "miss ratio", *_interval_head(rows), "no entry")
    if weighted:
        table.add_column("bytes missed")
    if metadata:
        table.add_column("metadata")
    for head in _disk_heads(rows):
        table.add_column(head)
    for row in rows:
        table.add_row(
            "no limit" if row["bytes"] is None else format_size(row["bytes"]),
            "no limit" if row["entries"] is None else f"{row['entries']:,}",
            percent(row["miss_ratio"]),
            *_interval(row, rows),
            percent(row["entry_miss_ratio"]),
            *([percent(row["byte_miss_ratio"])] if weighted else []),
            *([format_size(row["metadata_bytes"])] if metadata else []),
            *_disk_cells(row),
        )
    return table


def _interval_head(points: list[Json]) -> list[str]:
    return ["95 %"] if any(point.get("half_width") is not None for point in points) else []


def _interval(point: Json, points: list[Json]) -> list[str]:
    if not _interval_head(points):
        return []
    return ["-" if point["half_width"] is None else f"± {100 * point['half_width']:.2g} %"]


def _disk_heads(points: list[Json]) -> list[str]:
    return [title for key, title in _DISK.items() if key in points[0]]


def _disk_cells(point: Json) -> list[str]:
    form = {"disk_visits": number, "disk_demand_s": format_duration, "disk_utilization": percent}
    return [form[key](point[key]) for key in _DISK if key in point]


def _fits(index: Json) -> str:
    room = f"{format_size(index['room_bytes'])} of memory that programs leave free"
    if index["fits"]:
        spare = format_size(index["spare_bytes"])
        return f"the index of {format_size(index['index_bytes'])} fits into {room}; {spare} remain"
    needed = format_size(index["memory_needed_bytes"])
    return (
        f"the index of {format_size(index['index_bytes'])} does not fit into {room}: the host needs more than {needed}"
    )


def _by_skew(rows: list[Json]) -> Table:
    table = Table("skew of its pages", "hit ratio", "miss ratio", *_disk_heads(rows))
    for row in rows:
        table.add_row(f"{row['skew']:g}", percent(row["hit_ratio"]), percent(row["miss_ratio"]), *_disk_cells(row))
    return table
