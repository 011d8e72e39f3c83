"""Renders the output of `towtank history` as text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from towtank.analysis import History, Series
from towtank.estimates import few_digits
from towtank.terminal import visible

_COLUMNS = ("study", "configuration and load", "figure", "transaction", "since", "after / before", "p-value")


def history_table(history: History) -> Iterator[RenderableType]:
    """Yield the output: the numbers of series, the table of changes, and notes."""
    changed = [series for series in history.series if series.steps]
    yield visible(
        f"{history.folders:,} results folders, {len(history.series):,} series, {history.searched:,} of them searched; "
        f"{len(changed):,} with a change of level"
    )
    if changed:
        table = Table(*_COLUMNS)
        for series in changed:
            for row in _rows(series):
                table.add_row(*(escape(visible(cell)) for cell in row))
        yield table
    yield from (visible(line) for line in _lines(history))


def _rows(series: Series) -> Iterator[tuple[str, ...]]:
    key = series.key
    for step in series.steps:
        since = series.points[step.index].started.strftime("%Y-%m-%d %H:%M")
        ratio = f"{math.exp(step.after - step.before):.3f}"
        what = (key.study, key.cell or "-", key.metric, key.transaction or "all")
        yield (*what, since, ratio, few_digits(step.p_value))


def _lines(history: History) -> Iterator[str]:
    if history.searched:
        chance = few_digits(history.expected_by_chance)
        yield f"without any change, at most about {chance} series would have one by chance (1 % of those searched)"
    if history.searched < len(history.series):
        yield f"{len(history.series) - history.searched:,} series have fewer than 10 results and were not searched"
    correlated = sum(series.is_correlated for series in history.series)
    if correlated:
        yield f"in {correlated:,} series neighbouring results resemble each other, so more changes are found by chance"
    machines = sorted({series.key.machine for series in history.series})
    if len(machines) > 1:
        yield f"results of {len(machines)} machines are not compared with each other: {'; '.join(machines)}"
    yield from (f"left out: {reason}" for reason in history.left_out)
