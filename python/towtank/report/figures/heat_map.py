"""Builds the heat map of the response times of one run over time, whose colours show the number of responses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import ground, timeline
from towtank.report.runs_over_time import Cell, choose, timeline_of
from towtank.report.source import Results
from towtank.report.vega import Channel, Encoding, Layer, Legend, Specification, nominal, quantitative

NAME = "heat-map"
_HEIGHT = 260


@dataclass(frozen=True)
class Numbers:
    """Data of the heat map of response times: responses by range of time and of response time."""

    course: timeline.Numbers
    cells: tuple[Cell, ...]

    @property
    def unit(self) -> tuple[float, str]:
        """Factor from seconds to the unit of the axis of response times, and name of this unit."""
        return people.seconds_unit(max(cell.high_s for cell in self.cells) / 2)


def compute(results: Results) -> Numbers | None:
    """Collect the heat map of the main run; None without such a run, or if its recordings are missing."""
    run = choose(results)
    found = None if run is None else results.recorded.get(run.run_id)
    if run is None or found is None or not found.cells:
        return None
    return Numbers(timeline.of_run(results, run), found.cells)


def draw(numbers: Numbers) -> Specification:
    """Draw the heat map, with lines of the median and the 95th percentile, on the background of the load stages."""
    factor, unit = numbers.unit
    x = quantitative(
        "t",
        title="time since the start of the run [s]",
        scale={"domain": [0, numbers.course.ground.end_s], "nice": False},
        axis={"grid": False, "format": theme.EXACT},
    )
    low = min(cell.low_s for cell in numbers.cells) * factor
    high = max(cell.high_s for cell in numbers.cells) * factor
    y = quantitative(
        "low",
        title=f"response time [{unit}], logarithmic",
        scale={"type": "log", "domain": [low, high], "nice": False},
        axis={"values": _ticks(low, high), "format": theme.MEASURED, "grid": False},
    )
    stages, *marks = ground.layers(numbers.course.ground, x, names=True)
    layers = [stages, _cells(numbers, factor, x, y), _lines(numbers, factor, x, y), *marks]
    return vega.specification(
        description(numbers),
        width=ground.WIDTH,
        height=_HEIGHT,
        layer=layers,
        resolve={"scale": {"color": "independent", "strokeDash": "independent"}},
    )


def _ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for decade in decades for digit in (1, 2, 5) if low <= (tick := digit * 10.0**decade) <= high]


def _cells(numbers: Numbers, factor: float, x: Channel, y: Channel) -> Layer:
    values = [
        {
            "t": round(cell.start_s, 3),
            "end": round(cell.end_s, 3),
            "low": _short(cell.low_s * factor),
            "high": _short(cell.high_s * factor),
            "rate": _short(cell.per_s),
        }
        for cell in numbers.cells
    ]
    legend: Legend = {
        "title": "responses per second",
        "orient": "right",
        "gradientLength": _HEIGHT - 40,
        "tickCount": 5,
        "format": "~r",
    }
    colour = quantitative("rate", scale={"type": "log", "range": list(theme.HEAT), "interpolate": "lab"}, legend=legend)
    place = Encoding(x=x, x2={"field": "end"}, y=y, y2={"field": "high"}, color=colour)
    return vega.layer("rect", place, rows=values, aria=False)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _lines(numbers: Numbers, factor: float, x: Channel, y: Channel) -> Layer:
    """Return a layer of the median and the 95th percentile of each second, with gaps at seconds without responses."""
    found = timeline_of(numbers.course.run)
    lines = {"median": found.p50_s, "95th percentile": found.p95_s}
    values = [
        {"t": time, "value": None if not value else _short(value * factor), "line": name}
        for name, each in lines.items()
        for time, value in zip(numbers.course.times, each, strict=False)
    ]
    names = list(lines)
    legend: Legend = {"title": None, "symbolType": "stroke", "symbolSize": 250, "symbolStrokeWidth": 2}
    dashes = list(map(list, theme.DASHES[:2]))
    place: Encoding = {
        "x": x,
        "y": {**y, "field": "value"},
        "color": nominal("line", scale={"domain": names, "range": [theme.INK, theme.EVENT]}, legend=legend),
        "strokeDash": nominal("line", scale={"domain": names, "range": dashes}, legend=legend),
    }
    return vega.layer("line", place, rows=values, strokeWidth=1.4, clip=True)


def description(numbers: Numbers) -> str:
    """Return a description of the heat map in words, for readers who cannot see the figure."""
    longest = max(numbers.cells, key=lambda cell: cell.high_s)
    shortest = min(numbers.cells, key=lambda cell: cell.low_s)
    densest = max(numbers.cells, key=lambda cell: cell.per_s)
    return (
        f"Heat map of the response times of run {numbers.course.run.run_id}, from {people.seconds(shortest.low_s)} to "
        f"{people.seconds(longest.high_s)}. Most responses of one second took {people.seconds(densest.low_s)} to "
        f"{people.seconds(densest.high_s)}: {people.rate(densest.per_s)} at {people.number(densest.start_s)} s. The "
        f"longest ended at {people.number(longest.start_s)} s."
    )


def figure(results: Results) -> Figure | None:
    """Return the figure of the heat map; None without a main run, or if its recordings are missing."""
    numbers = compute(results)
    if numbers is None:
        return None
    course, run = numbers.course, numbers.course.run
    return Figure(
        name=NAME,
        title=f"Response times of run {run.run_id} over time: {course.label}, {people.plain(run.load)} "
        f"{results.load_factor}",
        description=description(numbers),
        note=f"Each cell counts the responses that ended in its seconds. The scale of colours is logarithmic. "
        f"{ground.note(course.ground)}{timeline.verdict_note(run)}",
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    """Return the table of responses by range of time and of response time, sorted by time."""
    columns = headings(
        "#From | s", "#To | s", "#Response time from", "#Response time to", "#Responses per second | 1/s"
    )
    rows = tuple(
        (
            people.number(cell.start_s),
            people.number(cell.end_s),
            people.seconds(cell.low_s),
            people.seconds(cell.high_s),
            people.number(cell.per_s),
        )
        for cell in numbers.cells
    )
    return Table(f"Responses of run {numbers.course.run.run_id} by time and size", columns, rows)
