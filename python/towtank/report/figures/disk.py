"""Builds the figure of disk reads and writes against load."""

from __future__ import annotations

from functools import partial

from towtank.analysis import Estimate, LoadPoint, RunSummary, disks_counted_once
from towtank.report import format as people
from towtank.report import vega
from towtank.report.document import Figure
from towtank.report.figures import panel, series
from towtank.report.source import Results

NAME = "disk"
DIRECTIONS = {"read": "reads", "write": "writes"}


def compute(results: Results) -> series.Panels:
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
    return series.Panels(points, *people.bytes_unit(largest), results.load_factor)


def _estimate(direction: str, point: LoadPoint) -> Estimate:
    return point.disk_read_bytes_per_s if direction == "read" else point.disk_write_bytes_per_s


def disks_total(key: str, summary: RunSummary) -> Estimate:
    """Return the sum of a quantity over the disks of a run; without a value if no disk has one."""
    disks = disks_counted_once({name: vars(disk) for name, disk in summary.host.disks.items()})
    values = [disk[key] for disk in disks.values() if disk[key] is not None]
    return Estimate(sum(values) if values else None)


def draw(numbers: series.Panels) -> vega.Specification:
    """Draw a panel of disk reads beside a panel of disk writes, each with a separate scale."""
    panels = [
        panel.panel(
            points,
            value_title=f"disk {DIRECTIONS[direction]} [{numbers.unit}/s]",
            load_factor=numbers.load_factor,
            width=270,
            height=240,
            names=number == 0,
        )
        for number, (direction, points) in enumerate(numbers.drawn.items())
    ]
    return vega.specification(description(numbers), hconcat=panels, spacing=28)


def description(numbers: series.Panels) -> str:
    """Return a description of the figure of disk traffic in words, for readers who cannot see the figure."""
    parts = [
        f"{DIRECTIONS[direction]} are at most {people.size_rate(max(counting))}"
        for direction, points in numbers.points.items()
        if (counting := [point.value for point in points if point.state != "invalid"])
    ]
    against = panel.against(numbers.all_points, numbers.load_factor)
    return f"Charts of bytes per second on the disks {against}: {people.listing(parts) or 'no valid point'}."


def figure(results: Results) -> Figure | None:
    """Return the figure of disk traffic; None if disks were observed at fewer than two points."""
    numbers = compute(results)
    everything = numbers.all_points
    if panel.is_single(everything):
        return None
    return Figure(
        name=NAME,
        title=f"Disk reads and writes {panel.against(everything, numbers.load_factor)}",
        description=description(numbers),
        note="Bytes that all programs read from and wrote to the disks of the host; reads from a cache are not "
        "included. " + panel.states_note(everything),
        spec=draw(numbers),
        table=panel.points_table(
            "Bytes read from and written to disk",
            numbers,
            DIRECTIONS,
            ("Direction", "Bytes per second"),
            people.size_rate_estimate,
        ),
    )
