"""Renders the output of `towtank judge` as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from towtank.analysis import DoubtLevel, Estimate, Judged, Judgement
from towtank.estimates import column_texts, few_digits, number_estimate
from towtank.terminal import visible

_HEADS = {DoubtLevel.INVALID: "not valid", DoubtLevel.SUSPECT: "suspect", DoubtLevel.NOTE: "note"}


def judge_table(judgement: Judgement) -> Iterator[RenderableType]:
    """Yield the output: for each result file a headline, a table of response times, doubts and notes."""
    for judged in judgement.files:
        yield visible(_headline(judged))
        yield _times(judged)
        yield from (visible(line) for line in _lines(judged))


def _headline(judged: Judged) -> str:
    verdict = {"invalid": "not valid"}.get(judged.verdict, judged.verdict)
    counts = "counts not known"
    if judged.requests is not None:
        counts = f"{judged.requests:,} requests, {'?' if judged.errors is None else f'{judged.errors:,}'} errors"
    window = ""
    if judged.window_s is not None:
        start, end = judged.window_s
        window = f" over {end - start:.4g} s" + (f" from {start:.4g} s" if start else "")
    rate = _rate(judged.figures.throughput_per_s)
    return f"{judged.file} ({judged.form}): {verdict}; {rate}{window} ({counts})"


def _rate(found: Estimate) -> str:
    if found.value is None:
        return "no throughput"
    if found.low is None or found.high is None:
        return f"{few_digits(found.value)} requests/s"
    return number_estimate(found.value, found.low, found.high, "requests/s")


def _times(judged: Judged) -> Table:
    """Render the response times, with their confidence intervals in further rows."""
    times = {name: found.scaled(1e3) for name, found in judged.figures.response_time_s.items()}
    table = Table("response time, ms", *times)
    cells = [_cell(found) for found in times.values()]
    table.add_row("value", *(value for value, _, _ in cells))
    if any(low for _, low, _ in cells):
        table.add_row("  95 % from", *(low or "-" for _, low, _ in cells))
        table.add_row("  to", *(high or "-" for _, _, high in cells))
    return table


def _cell(found: Estimate) -> tuple[str, str, str]:
    if found.value is None:
        return "-", "", ""
    if found.low is None or found.high is None:
        return few_digits(found.value), "", ""
    return column_texts(found.value, found.low, found.high, "ms")


def _lines(judged: Judged) -> Iterator[str]:
    for doubt in judged.doubts:
        yield f"{_HEADS[doubt.level]}: {doubt.message}"
        if doubt.level is not DoubtLevel.NOTE:
            yield f"  hint: {doubt.hint}"
    for note in judged.all_notes:
        yield f"about the file: {note}"
