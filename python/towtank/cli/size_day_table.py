"""Renders the hardware for each interval of a day, for `towtank size --profile`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from towtank.estimates import few_digits
from towtank.sizing import SizedDay, SizedInterval, interval_load_text, share_text


def day_table(day: SizedDay, cost_unit: str) -> Iterator[RenderableType]:
    """Render the hardware by interval, and the cost of the day."""
    table = Table(
        "interval", "load", "hardware", "objectives", "probability", title="hardware by interval of the day",
        title_justify="left",
    )  # fmt: skip
    for row in day.intervals:
        chance = "-" if row.probability is None else share_text(row.probability)
        load = interval_load_text(row, day.load_unit)
        table.add_row(row.interval, load, hardware(row), ", ".join(row.objectives) or "-", chance)
    yield table
    if day.cost_hours is not None and day.cost_hours_fixed is not None:
        yield (
            f"cost of the day by interval: {few_digits(day.cost_hours, 4)} {cost_unit} x hours; with the hardware of "
            f"the busiest interval all day: {few_digits(day.cost_hours_fixed, 4)}"
        )


def hardware(row: SizedInterval) -> str:
    """Render the hardware of an interval, or the reasons why no candidate suffices."""
    return row.configuration or f"none: {'; '.join(row.why_not)}"
