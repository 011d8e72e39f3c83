"""Disk reads and writes against load by configuration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from towtank.analysis.system.disks import counted_once
from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Json, Results, dig

NAME = "disk"
DIRECTIONS = {"read": "reads", "write": "writes"}


@dataclass(frozen=True)
class Numbers:
    """What is drawn: points of reads and of writes [B/s], the unit to show them in, the load."""

    points: dict[str, list[series.Point]]
    factor: float
    unit: str
    load_factor: str


def compute(results: Results) -> Numbers:
    """Gather bytes read from and written to the disks of the hosts per second."""
    points = {
        direction: series.collect(
            results,
            partial(_estimate, f"disk_{direction}_bytes_per_s"),
            partial(disks_total, f"{direction}_bytes_per_s"),
        )
        for direction in DIRECTIONS
    }
    largest = max((point.value for each in points.values() for point in each), default=0.0)
    factor, unit = people.bytes_unit(largest)
    return Numbers(points, factor, unit, results.load_factor)


def _estimate(key: str, point: Json) -> Any:
    return point.get(key)


def disks_total(key: str, summary: Json) -> dict[str, float] | None:
    """Sum one figure over the disks of a run."""
    disks = counted_once(dig(summary, "host", "disks") or {})
    values = [disk[key] for disk in disks.values() if isinstance(disk.get(key), (int, float))]
    return {"value": sum(values)} if values else None


def draw(numbers: Numbers) -> dict[str, object]:
    """Draw reads and writes side by side, each with its own scale."""
    panels = [
        panel.panel(
            [point.scaled(numbers.factor) for point in points],
            value_title=f"disk {DIRECTIONS[direction]} [{numbers.unit}/s]",
            load_factor=numbers.load_factor,
            width=270,
            height=240,
            names=number == 0,
        )
        for number, (direction, points) in enumerate(_drawn(numbers).items())
    ]
    return theme.specification(description(numbers), hconcat=panels, spacing=28)


def _drawn(numbers: Numbers) -> dict[str, list[series.Point]]:
    return {direction: points for direction, points in numbers.points.items() if points}


def description(numbers: Numbers) -> str:
    """The picture in words."""
    parts = [
        f"{DIRECTIONS[direction]} are at most {people.size_rate(max(point.value for point in points))}"
        for direction, points in numbers.points.items()
        if points
    ]
    everything = [point for points in numbers.points.values() for point in points]
    against = panel.against(everything, numbers.load_factor)
    return f"Charts of bytes per second on the disks {against}: {people.listing(parts)}."


def figure(results: Results) -> Figure | None:
    """The figure, or None where no disk was observed."""
    numbers = compute(results)
    if not any(numbers.points.values()):
        return None
    everything = [point for points in numbers.points.values() for point in points]
    return Figure(
        name=NAME,
        title=f"Disk reads and writes {panel.against(everything, numbers.load_factor)}",
        description=description(numbers),
        note="Bytes that reached the disks of the host, whoever caused them; what a cache answered is "
        "not in them. " + series.states_note(everything),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    by_words = {DIRECTIONS[kind]: points for kind, points in numbers.points.items()}
    caption, titles = "Bytes read from and written to disk", ("Direction", "Bytes per second")
    return panel.points_table(caption, numbers.load_factor, titles, by_words, people.size_rate_estimate)
