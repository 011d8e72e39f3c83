"""Reads the tables of metrics from the reference page, so that tests compare them with samples and scrapes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
_ROW = re.compile(r"\| `([^`]+)` \| (\S+) \| (counter|gauge|fact) \| .+ \| .+ \|")


@dataclass(frozen=True)
class Metric:
    """Row of a table: name of the series in the stream, its unit and its kind."""

    name: str
    unit: str
    kind: str


def metric_tables() -> dict[str, list[Metric]]:
    """Return the rows of each table of the page, by the heading of its section."""
    made: dict[str, list[Metric]] = {}
    for section in _PAGE.read_text("utf-8").split("\n## ")[1:]:
        title, *lines = section.splitlines()
        head = next((number for number, line in enumerate(lines) if line.startswith("| name | unit | kind |")), None)
        if head is not None:
            rows = [line for line in lines[head + 2 :] if line]
            found = [_ROW.fullmatch(row) for row in rows]
            assert all(found), f"{title}: not a row of a table: {rows[found.index(None)]}"
            made[title] = [Metric(*match.groups()) for match in found if match is not None]
    return made


def metric_names(title: str) -> set[str]:
    """Return the names of the series in a table."""
    return {metric.name for metric in metric_tables()[title]}
