"""Builds the figure of disk reads and writes against load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from towtank.analysis import Estimate, LoadPoint, RunSummary, disks_counted_once
from towtank.report import format as people
from towtank.report import vega
from towtank.report.document import Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Results
from towtank.report.vega import Specification

NAME = "disk"
DIRECTIONS = {"read": "reads", "write": "writes"}


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: disk reads and writes [B/s], factor to the unit of the axis, this unit, and load factor."""

    points: dict[str, list[series.Point]]
    factor: float
    unit: str
    load_factor: str


def compute(results: Results) -> Numbers:
    """Collect the data rates of reads and writes on the disks of the hosts."""
    points = {
        direction: series.collect(
            results,
            partial(_estimate, direction),
            partial(disks_total, f"{direction}_bytes_per_s"),
        )
        for direction in DIRECTIONS
    }
    largest = max((point.value for each in points.values() for point in each), default=0.0)
    factor, unit = people.bytes_unit(largest)
    return Numbers(points, factor, unit, results.load_factor)


def _estimate(direction: str, point: LoadPoint) -> Estimate:
    return point.disk_read_bytes_per_s if direction == "read" else point.disk_write_bytes_per_s


def disks_total(key: str, summary: RunSummary) -> Estimate:
    """Return the sum of a quantity over the disks of a run; without a value if no disk has one."""
    disks = disks_counted_once({name: vars(disk) for name, disk in summary.host.disks.items()})
    values = [disk[key] for disk in disks.values() if disk[key] is not None]
    return Estimate(sum(values) if values else None)


def draw(numbers: Numbers) -> Specification:
    """Draw a panel of disk reads beside a panel of disk writes, each with a separate scale."""
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
    return vega.specification(description(numbers), hconcat=panels, spacing=28)


def _drawn(numbers: Numbers) -> dict[str, list[series.Point]]:
    return {direction: points for direction, points in numbers.points.items() if points}


def description(numbers: Numbers) -> str:
    """Return a description of the figure of disk traffic in words, for readers who cannot see the figure."""
    parts = [
        f"{DIRECTIONS[direction]} are at most {people.size_rate(max(counting))}"
        for direction, points in numbers.points.items()
        if (counting := [point.value for point in points if point.state != "invalid"])
    ]
    everything = [point for points in numbers.points.values() for point in points]
    against = panel.against(everything, numbers.load_factor)
    return f"Charts of bytes per second on the disks {against}: {people.listing(parts) or 'no valid point'}."


def figure(results: Results) -> Figure | None:
    """Return the figure of disk traffic; None if disks were observed at fewer than two points."""
    numbers = compute(results)
    everything = [point for points in numbers.points.values() for point in points]
    if panel.is_single(everything):
        return None
    return Figure(
        name=NAME,
        title=f"Disk reads and writes {panel.against(everything, numbers.load_factor)}",
        description=description(numbers),
        note="Bytes that all programs read from and wrote to the disks of the host; reads from a cache are not "
        "included. " + panel.states_note(everything),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    by_words = {DIRECTIONS[kind]: points for kind, points in numbers.points.items()}
    caption, titles = "Bytes read from and written to disk", ("Direction", "Bytes per second")
    return panel.points_table(caption, numbers.load_factor, titles, by_words, people.size_rate_estimate)
