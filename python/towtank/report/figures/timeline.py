"""One run over its time, its stages shaded: users, throughput, response time, CPU, disk, errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.source import Json, Results, RunResult, dig

NAME = "timeline"
_WIDTH = 590
_PREFERENCE = ("valid", "suspect", "invalid", "none")


@dataclass(frozen=True)
class Line:
    """One quantity over the time of the run; None where nothing was recorded in a second."""

    name: str
    values: list[float | None]


@dataclass(frozen=True)
class Track:
    """Lines that share a panel; `unit` is that of the values as drawn."""

    title: str
    unit: str
    lines: list[Line]


@dataclass(frozen=True)
class Numbers:
    """What is drawn: the run, its times [s], tracks, stages, steady window and events."""

    run: RunResult
    label: str
    times: list[float]
    tracks: list[Track]
    stages: list[Json]
    window: tuple[float, float] | None
    events: list[Json] = field(default_factory=list)


def choose(results: Results) -> RunResult | None:
    """Pick the run to show: the best verdict there is, of these the highest load, of these the first."""
    shown = [run for run in results.measured if dig(run.summary, "timeline", "t_s")]
    return min(shown, key=lambda run: (_PREFERENCE.index(run.verdict), -(run.load or 0.0), run.run_id), default=None)


def compute(results: Results) -> Numbers | None:
    """Gather the tracks of the chosen run."""
    run = choose(results)
    return None if run is None else of_run(results, run)


def of_run(results: Results, run: RunResult) -> Numbers:
    """Gather the tracks of a run that left a timeline."""
    timeline = run.summary["timeline"]
    start, end = dig(run.summary, "window", "start_s"), dig(run.summary, "window", "end_s")
    window = (float(start), float(end)) if isinstance(start, (int, float)) and isinstance(end, (int, float)) else None
    return Numbers(
        run=run,
        label=results.label(run),
        times=[float(time) for time in timeline["t_s"]],
        tracks=[track for track in _tracks(timeline) if track.lines],
        stages=list(timeline.get("stages") or ()),
        window=window,
        events=[one for one in (run.summary.get("events") or {}).values() if one.get("begin_s") is not None],
    )


def _tracks(timeline: Json) -> list[Track]:
    times = _response_times(timeline)
    tiers = timeline.get("tiers_cpus_used") or {}
    errors = _lines(timeline, {"errors_per_s": "errors"})
    return [
        Track("virtual users", "1", _lines(timeline, {"users": "users"})),
        Track("throughput", "1/s", _lines(timeline, {"throughput_per_s": "throughput"})),
        times,
        Track("CPUs used", "CPUs", [Line(str(name), list(values)) for name, values in tiers.items() if values]),
        _disks(timeline),
        Track("errors", "1/s", [line for line in errors if any(line.values)]),
    ]


def _lines(timeline: Json, names: dict[str, str], factor: float = 1.0) -> list[Line]:
    """Lines of the keys that are there, times a factor."""
    return [
        Line(title, [value if value is None else value * factor for value in timeline[key]])
        for key, title in names.items()
        if timeline.get(key)
    ]


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
    """Draw the tracks below each other on one time axis."""
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
        "scale": {"domain": [0, _end(numbers)], "nice": False},
        "axis": {"grid": False, "labels": last, "ticks": last},
    }
    values = [
        {"t": time, "value": value, "line": line.name}
        for line in track.lines
        for time, value in zip(numbers.times, line.values, strict=False)
    ]
    unit = "" if track.unit in ("1", "CPUs") else f" [{track.unit}]"
    y = {
        "field": "value",
        "type": "quantitative",
        "title": f"{track.title}{unit}",
        "scale": {"zero": True},
        "axis": {"tickCount": 3},
    }
    return {
        "width": _WIDTH,
        "height": 100,
        "layer": [
            *_shading(numbers, x, names=index == 0),
            {
                "data": {"values": values},
                "mark": {"type": "line", "strokeWidth": 1.6},
                "encoding": {"x": x, "y": y, **_styles(track)},
            },
        ],
    }


def _styles(track: Track) -> dict[str, Any]:
    names = [line.name for line in track.lines]
    legend = (
        {"title": None, "symbolType": "stroke", "symbolSize": 250, "symbolStrokeWidth": 2, "offset": 2}
        if len(names) > 1 or track.unit == "CPUs"
        else None
    )
    colour = {"domain": names, "range": theme.cycle(theme.COLOURS, len(names))}
    dash = {"domain": names, "range": [list(dash) for dash in theme.cycle(theme.DASHES, len(names))]}
    return {
        "color": {"field": "line", "type": "nominal", "scale": colour, "legend": legend},
        "strokeDash": {"field": "line", "type": "nominal", "scale": dash, "legend": legend},
    }


def _end(numbers: Numbers) -> float:
    ends = [float(stage["end_s"]) for stage in numbers.stages if stage.get("end_s") is not None]
    return max([*numbers.times, *ends], default=1.0)


def _shading(numbers: Numbers, x: dict[str, Any], *, names: bool) -> list[dict[str, Any]]:
    """Stages as coloured ground, the steady window between two lines, and the names of the stages on top."""
    stages = [
        {
            "t": stage.get("start_s"),
            "end": stage.get("end_s"),
            "name": str(stage.get("name", "")).replace("_", "-"),
            "colour": theme.PHASES.get(str(stage.get("phase")), "#ffffff"),
        }
        for stage in numbers.stages
    ]
    place = {"x": x, "x2": {"field": "end"}}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": stages},
            "mark": {"type": "rect"},
            "encoding": {**place, "color": {"field": "colour", "type": "nominal", "scale": None}},
        }
    ]
    if numbers.window:
        edges = [{"t": edge} for edge in numbers.window]
        rule = {"type": "rule", "strokeDash": [4, 3], "color": theme.INK}
        layers.append({"data": {"values": edges}, "mark": rule, "encoding": {"x": x}})
    layers += _events(numbers, x, names=names)
    if names:
        layers.append(_names(stages, x, _end(numbers)))
    return layers


def _events(numbers: Numbers, x: dict[str, Any], *, names: bool) -> list[dict[str, Any]]:
    """Events as darker ground from a line where they begin, and their names inside the uppermost panel."""
    spans = [
        {
            "t": one["begin_s"],
            "end": one["until_s"] or one["begin_s"],
            "name": f"{one['do']} {one['on']}",
            "row": 4 + 13 * number,
        }
        for number, one in enumerate(numbers.events)
    ]
    if not spans:
        return []
    span = {"type": "rect", "color": theme.EVENT, "opacity": 0.22}
    edge = {"type": "rule", "color": theme.EVENT, "strokeWidth": 1.6}
    layers: list[dict[str, Any]] = [
        {"data": {"values": spans}, "mark": span, "encoding": {"x": x, "x2": {"field": "end"}}},
        {"data": {"values": spans}, "mark": edge, "encoding": {"x": x}},
    ]
    if names:
        label = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "fontSize": 11, "color": theme.INK}
        row = {"field": "row", "type": "quantitative", "scale": None}
        text = {"field": "name", "type": "nominal"}
        layers.append({"data": {"values": spans}, "mark": label, "encoding": {"x": x, "y": row, "text": text}})
    return layers


def _names(stages: list[dict[str, Any]], x: dict[str, Any], end: float) -> dict[str, Any]:
    """Names of the stages that are wide enough to carry one (about 6 pixels a letter)."""
    fitting = [
        {"t": (stage["t"] + stage["end"]) / 2, "name": stage["name"]}
        for stage in stages
        if stage["t"] is not None
        and stage["end"] is not None
        and (stage["end"] - stage["t"]) / end * _WIDTH > 6.2 * len(stage["name"])
    ]
    return {
        "data": {"values": fitting},
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": theme.INK},
        "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "name", "type": "nominal"}},
    }


def description(numbers: Numbers) -> str:
    """The picture in words."""
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
        f" {one['do'].capitalize()} {one['on']} from {people.number(one['begin_s'])} to "
        f"{people.number(one['until_s'])} s."
        for one in numbers.events
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
    """The figure, or None where no run left a timeline."""
    numbers = compute(results)
    return None if numbers is None or not numbers.tracks else make(results, numbers, NAME)


def make(results: Results, numbers: Numbers, name: str) -> Figure:
    """The figure of numbers, under a name of its own."""
    run = numbers.run
    verdict = (
        "" if run.verdict == "valid" else f" This run is {run.verdict if run.verdict != 'none' else 'not judged'}."
    )
    window = " Dashed lines bound the window that counts." if numbers.window else " No window of this run counts."
    events = " Orange ground shows events, from a line where each begins." if numbers.events else ""
    return Figure(
        name=name,
        title=f"Run {run.run_id} over time: {numbers.label}, {people.plain(run.load)} {results.load_factor}",
        description=description(numbers),
        note=f"One value a second; the ground shows the stages.{events}{window}{verdict}",
        spec=draw(numbers),
        table=_table(numbers),
    )


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
