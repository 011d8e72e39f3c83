"""Builds the table of HTTP responses by status code."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Block, Column, Table
from towtank.report.figures import panel
from towtank.report.source import Json, Results, label_of, load_of


def tables(results: Results) -> list[Block]:
    """Build the table of complete HTTP responses, by load point, transaction and status code; empty without HTTP
    responses.
    """
    points = [(c, point) for c in results.configurations for point in c.get("points") or ()]
    codes = sorted({code for _, point in points for counts in _counts(point).values() for code in counts})
    if not codes:
        return []
    rows = tuple(row for configuration, point in points for row in _rows(configuration, point, codes))
    columns = (
        Column("Configuration"),
        Column(panel.load_title(results.load_factor).capitalize(), numeric=True),
        Column("Transaction"),
        *(Column(code, numeric=True) for code in codes),
    )
    note = "A redirect (3xx) counts as successful unless a check refuses it. It is not followed."
    notes = (note,) if any(code.startswith("3") for code in codes) else ()
    return [Table("Responses by status code", columns, rows, notes, is_detail=True)]


def _counts(point: Json) -> dict[str, dict[str, int]]:
    return point.get("status_codes") or {}


def _rows(configuration: Json, point: Json, codes: list[str]) -> list[tuple[str, ...]]:
    head = label_of(configuration), people.plain(load_of(point))
    if point.get("status_codes") is None:
        return [(*head, "all", *("not recorded" for _ in codes))]
    return [
        (*head, name, *(f"{counts.get(code, 0):,}" for code in codes))
        for name, counts in _counts(point).items()
        if counts
    ]
