"""Builds the table of HTTP responses by status code."""

from __future__ import annotations

from towtank.analysis import Configuration, LoadPoint
from towtank.report import format as people
from towtank.report.document import Block, Column, Table, headings
from towtank.report.figures import panel
from towtank.report.source import Results


def tables(results: Results) -> list[Block]:
    """Build the table of complete HTTP responses, by load point, transaction and status code; empty without HTTP
    responses.
    """
    points = [(c, point) for c in results.configurations for point in c.points]
    codes = sorted({code for _, point in points for counts in (point.status_codes or {}).values() for code in counts})
    if not codes:
        return []
    rows = tuple(row for configuration, point in points for row in _rows(configuration, point, codes))
    columns = headings(
        "Configuration",
        f"#{panel.load_title(results.load_factor).capitalize()}",
        "Transaction",
        *(Column(code, numeric=True) for code in codes),
    )
    note = "A redirect (3xx) counts as successful unless a check refuses it. It is not followed."
    notes = (note,) if any(code.startswith("3") for code in codes) else ()
    return [Table("Responses by status code", columns, rows, notes, is_detail=True)]


def _rows(configuration: Configuration, point: LoadPoint, codes: list[str]) -> list[tuple[str, ...]]:
    head = configuration.label, people.plain(point.level)
    if point.status_codes is None:
        return [(*head, "all", *("not recorded" for _ in codes))]
    return [
        (*head, name, *(f"{counts.get(code, 0):,}" for code in codes))
        for name, counts in point.status_codes.items()
        if counts
    ]
