"""Builds the figure of one run over time: users, throughput, response time, CPU, disk and errors.

The CPU use of a tier is drawn as utilization if its CPU limit is known, otherwise as number of CPUs. The CPU use of
other programs is drawn if the run is not valid, or if this use exceeds its limit. Errors are drawn by kind and by
transaction if the recordings of the run were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.analysis import NOT_ATTRIBUTED_SHARE
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import ground
from towtank.report.figures.ground import Ground
from towtank.report.runs_over_time import choose
from towtank.report.source import Json, Results, RunResult
from towtank.results import THIS_MACHINE

NAME = "timeline"
# Largest number of lines of error rates in a panel; the last line is the sum of all further rates. [1]
_ERRORS_AT_MOST = 5
_WITHOUT_UNIT = ("1", "CPUs")


@dataclass(frozen=True)
class Line:
    """Values of a quantity for each second of a run; None for seconds without a record."""

    name: str
    values: list[float | None]


@dataclass(frozen=True)
class Track:
    """Panel of a timeline, with one or several lines.

    Attributes
    ----------
    title, unit : str
        Quantity, and its unit.
    lines : list of Line
        Lines to draw.
    limit : float or None
        Limit of the values, drawn as a dashed line; None if they have no limit.
    """

    title: str
    unit: str
    lines: list[Line]
    limit: float | None = None


@dataclass(frozen=True)
class Numbers:
    """Data of the timeline: run, times [s], panels, load stages, measurement window and events."""

    run: RunResult
    label: str
    times: list[float]
    tracks: list[Track]
    stages: list[Json]
    window: tuple[float, float] | None
    events: list[Json] = field(default_factory=list)

    @property
    def ground(self) -> Ground:
        """Background of the panels: load stages, measurement window and events."""
        ends = [float(stage["end_s"]) for stage in self.stages if stage.get("end_s") is not None]
        return Ground(self.stages, self.window, self.events, max([*self.times, *ends], default=1.0))


def compute(results: Results) -> Numbers | None:
    """Collect the panels of the main run; None if no run has a timeline."""
    run = choose(results)
    return None if run is None else of_run(results, run)


def of_run(results: Results, run: RunResult) -> Numbers:
    """Collect the panels of a run that has a timeline."""
    timeline = run.summary["timeline"]
    start, end = dig(run.summary, "window", "start_s"), dig(run.summary, "window", "end_s")
    window = (float(start), float(end)) if isinstance(start, (int, float)) and isinstance(end, (int, float)) else None
    return Numbers(
        run=run,
        label=results.label(run),
        times=[float(time) for time in timeline["t_s"]],
        tracks=[track for track in _tracks(results, run) if track.lines],
        stages=list(timeline.get("stages") or ()),
        window=window,
        events=[event for event in (run.summary.get("events") or {}).values() if event.get("begin_s") is not None],
    )


def _tracks(results: Results, run: RunResult) -> list[Track]:
    timeline = run.summary["timeline"]
    utilization, unlimited = _tiers(run)
    return [
        Track("virtual users", "1", _lines(timeline, {"users": "users"})),
        Track("throughput", "1/s", _lines(timeline, {"throughput_per_s": "throughput"})),
        _response_times(timeline),
        Track("utilization", "%", utilization, limit=100.0),
        Track("CPUs used", "CPUs", unlimited),
        _other_programs(results, run),
        _disks(timeline),
        *_errors(results, run),
    ]


def _tiers(run: RunResult) -> tuple[list[Line], list[Line]]:
    """Return lines of the utilization [%] of tiers with a CPU limit, and of the CPUs used by all other tiers."""
    limited, unlimited = [], []
    for name, used in (dig(run.summary, "timeline", "tiers_cpus_used") or {}).items():
        allotted = dig(run.summary, "tiers", str(name), "cpus_allotted")
        if not used:
            continue
        if isinstance(allotted, (int, float)) and allotted > 0:
            limited.append(Line(str(name), _scaled(used, 100 / allotted)))
        else:
            unlimited.append(Line(str(name), list(used)))
    return limited, unlimited


def _other_programs(results: Results, run: RunResult) -> Track:
    """Return the panel of the CPU use of other programs than the system and Towtank, by machine.

    It has no lines if the run is valid and the CPU use is within its limit.
    """
    limit = 100 * float(dig(results.study, "limits", "not_attributed") or NOT_ATTRIBUTED_SHARE)
    lines = []
    for machine, used in (dig(run.summary, "timeline", "not_attributed_cpus_used") or {}).items():
        cpus = dig(run.summary, "not_attributed", str(machine), "cpus")
        if isinstance(cpus, (int, float)) and cpus > 0 and used:
            name = "this machine" if machine == THIS_MACHINE else str(machine)
            # The CPU time of the host is counted in ticks of 10 ms, so the difference may be slightly negative.
            not_negative = [None if value is None else max(0.0, value) for value in used]
            lines.append(Line(name, _scaled(not_negative, 100 / cpus)))
    is_shown = run.verdict != "valid" or _largest(lines) > limit
    return Track("other programs", "% of CPUs", lines if is_shown else [], limit)


def _errors(results: Results, run: RunResult) -> list[Track]:
    """Return panels of error rates by kind and by transaction; without recordings, of the total error rate. [1/s]"""
    recorded = results.recorded.get(run.run_id)
    if recorded is None or not recorded.errors_by_kind:
        errors = _lines(run.summary["timeline"], {"errors_per_s": "errors"})
        return [Track("errors", "1/s", [line for line in errors if any(line.values)])]
    return [
        Track("errors by kind", "1/s", _most(recorded.errors_by_kind)),
        Track("errors by transaction", "1/s", _most(recorded.errors_by_transaction)),
    ]


def _most(rates: Mapping[str, list[float | None]]) -> list[Line]:
    """Return a line for each rate, at most `_ERRORS_AT_MOST`; the last line may be the sum of all further rates."""
    lines = [Line(name.replace("_", " "), values) for name, values in rates.items()]
    if len(lines) <= _ERRORS_AT_MOST:
        return lines
    shown, others = lines[: _ERRORS_AT_MOST - 1], lines[_ERRORS_AT_MOST - 1 :]
    seconds = zip(*(line.values for line in others), strict=True)
    summed = [None if None in values else sum(value or 0.0 for value in values) for values in seconds]
    return [*shown, Line(f"{len(others)} others", summed)]


def _scaled(values: list[float | None], factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values]


def _lines(timeline: Json, names: dict[str, str], factor: float = 1.0) -> list[Line]:
    """Return lines of the named quantities, as far as the timeline contains them; `factor` converts their unit."""
    return [Line(title, _scaled(timeline[key], factor)) for key, title in names.items() if timeline.get(key)]


def _largest(lines: list[Line]) -> float:
    return max((value for line in lines for value in line.values if value is not None), default=0.0)


def _response_times(timeline: Json) -> Track:
    names = {"response_mean_s": "mean", "p50_s": "median", "p95_s": "95th percentile"}
    factor, unit = people.seconds_unit(_largest(_lines(timeline, names)))
    return Track("response time", unit, _lines(timeline, names, factor))


def _disks(timeline: Json) -> Track:
    names = {"disk_read_bytes_per_s": "disk reads", "disk_write_bytes_per_s": "disk writes"}
    factor, unit = people.bytes_unit(_largest(_lines(timeline, names)))
    return Track("disk", f"{unit}/s", _lines(timeline, names, factor))


def draw(numbers: Numbers) -> dict[str, Any]:
    """Draw the panels above each other, with a common time axis."""
    panels = [_panel(numbers, index, track) for index, track in enumerate(numbers.tracks)]
    return theme.specification(
        description(numbers),
        vconcat=panels,
        spacing=12,
        resolve={"scale": {"color": "independent", "strokeDash": "independent"}},
    )


def _panel(numbers: Numbers, index: int, track: Track) -> dict[str, Any]:
    last = index == len(numbers.tracks) - 1
    x = {
        "field": "t",
        "type": "quantitative",
        "title": "time since the start of the run [s]" if last else None,
        "scale": {"domain": [0, numbers.ground.end_s], "nice": False},
        "axis": {"grid": False, "labels": last, "ticks": last, "format": theme.EXACT},
    }
    values = [
        {"t": time, "value": value, "line": line.name}
        for line in track.lines
        for time, value in zip(numbers.times, line.values, strict=False)
    ]
    unit = "" if track.unit in _WITHOUT_UNIT else f" [{track.unit}]"
    y = {
        "field": "value",
        "type": "quantitative",
        "title": f"{track.title}{unit}",
        "scale": {"zero": True},
        "axis": {"tickCount": 3},
    }
    return {
        "width": ground.WIDTH,
        "height": 100,
        "layer": [
            *ground.layers(numbers.ground, x, names=index == 0),
            *_limit(track, y),
            {
                "data": {"values": values},
                "mark": {"type": "line", "strokeWidth": 1.6},
                "encoding": {"x": x, "y": y, **_styles(track)},
            },
        ],
    }


def _limit(track: Track, y: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a layer with a dashed line at the limit of a panel; empty if the panel has no limit."""
    if track.limit is None:
        return []
    return [
        {
            "data": {"values": [{"value": track.limit}]},
            "mark": {"type": "rule", "strokeDash": [5, 3], "color": theme.MUTED, "strokeWidth": 1.5},
            "encoding": {"y": y},
        }
    ]


def _styles(track: Track) -> dict[str, Any]:
    names = [line.name for line in track.lines]
    legend = (
        {"title": None, "symbolType": "stroke", "symbolSize": 250, "symbolStrokeWidth": 2, "offset": 2}
        if len(names) > 1 or (track.title not in names and track.unit != "1")
        else None
    )
    colour = {"domain": names, "range": theme.cycle(theme.COLOURS, len(names))}
    dash = {"domain": names, "range": [list(dash) for dash in theme.cycle(theme.DASHES, len(names))]}
    return {
        "color": {"field": "line", "type": "nominal", "scale": colour, "legend": legend},
        "strokeDash": {"field": "line", "type": "nominal", "scale": dash, "legend": legend},
    }


def description(numbers: Numbers) -> str:
    """Return a description of the timeline of a run in words, for readers who cannot see the figure."""
    parts = []
    for track in numbers.tracks:
        for line in track.lines:
            steady = _within(numbers, line)
            if steady:
                unit = f" {track.unit}" if track.unit != "1" else ""
                name = line.name if line.name in (track.title, "users") else f"{track.title}, {line.name}"
                parts.append(f"{name}: {people.number(min(steady))} to {people.number(max(steady))}{unit}")
    where = "in the steady window" if numbers.window else "over the run"
    happened = "".join(
        f" {event['do'].capitalize()} {event['on']} from {people.number(event['begin_s'])} to "
        f"{people.number(event['until_s'])} s."
        for event in numbers.events
    )
    return f"Time lines of run {numbers.run.run_id}. Ranges {where}: " + "; ".join(parts) + f".{happened}"


def _within(numbers: Numbers, line: Line) -> list[float]:
    start, end = numbers.window or (0.0, float("inf"))
    return [
        value
        for time, value in zip(numbers.times, line.values, strict=False)
        if value is not None and start <= time <= end
    ]


def figure(results: Results) -> Figure | None:
    """Return the timeline of the main run; None if no run has a timeline."""
    numbers = compute(results)
    return None if numbers is None or not numbers.tracks else make(results, numbers, NAME)


def make(results: Results, numbers: Numbers, name: str) -> Figure:
    """Return the figure of a run over time; `name` identifies it in the document."""
    run = numbers.run
    return Figure(
        name=name,
        title=f"Run {run.run_id} over time: {numbers.label}, {people.plain(run.load)} {results.load_factor}",
        description=description(numbers),
        note=f"Each value covers one second, or less at the border of a stage. "
        f"{ground.note(numbers.ground)}{_limits_note(numbers)}{verdict_note(run)}",
        spec=draw(numbers),
        table=_table(numbers),
    )


def verdict_note(run: RunResult) -> str:
    """Render the verdict on a run as a sentence; empty for a valid run."""
    return "" if run.verdict == "valid" else f" This run is {'not judged' if run.verdict == 'none' else run.verdict}."


def _limits_note(numbers: Numbers) -> str:
    """Explain the dashed lines of the panels."""
    titles = {track.title: track for track in numbers.tracks if track.limit is not None}
    notes = []
    if "utilization" in titles:
        notes.append(" Utilization refers to the CPUs that a tier may use; the dashed line is their limit.")
    if "other programs" in titles:
        share = people.plain(titles["other programs"].limit)
        notes.append(
            f" Other programs above the dashed line, {share} % on average over the window, make a run suspect."
        )
    return "".join(notes)


def _table(numbers: Numbers) -> Table:
    heads = [(track, line) for track in numbers.tracks for line in track.lines]
    columns = (
        Column("Time", "s", numeric=True),
        *(
            Column(
                line.name if line.name == track.title else f"{track.title}: {line.name}",
                track.unit,
                numeric=True,
            )
            for track, line in heads
        ),
    )
    rows = tuple(
        (
            people.number(time),
            *(people.number(line.values[index] if index < len(line.values) else None) for _, line in heads),
        )
        for index, time in enumerate(numbers.times)
    )
    return Table(f"Run {numbers.run.run_id}, second by second", columns, rows)
