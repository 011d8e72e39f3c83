"""Builds the figure of one run over time: users, throughput, response time, CPU, disk and errors.

The CPU use of a tier is drawn as utilization if its CPU limit is known, otherwise as number of CPUs. The CPU use of
other programs is drawn if the run is not valid, or if this use exceeds its limit. Errors are drawn by kind and by
transaction if the recordings of the run were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towtank.analysis import NOT_ATTRIBUTED_SHARE, EventResult
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import ground
from towtank.report.figures.ground import Ground
from towtank.report.runs_over_time import Stage, Timeline, Values, choose, timeline_of, window_of
from towtank.report.source import Results, RunResult
from towtank.report.vega import Channel, Encoding, Layer, Mark, Specification, View, nominal, quantitative
from towtank.results import THIS_MACHINE

NAME = "timeline"
# Largest number of lines of error rates in a panel; the last line is the sum of all further rates. [1]
_ERRORS_AT_MOST = 5
_WITHOUT_UNIT = ("1", "CPUs")


@dataclass(frozen=True)
class Line:
    """Values of a quantity for each second of a run; None for seconds without a record."""

    name: str
    values: Values


@dataclass(frozen=True)
class Track:
    """Panel of a timeline, with one or several lines, and with the limit of their values as a dashed line, if any."""

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
    stages: Sequence[Stage]
    window: tuple[float, float] | None
    events: list[EventResult] = field(default_factory=list)

    @property
    def ground(self) -> Ground:
        """Background of the panels: load stages, measurement window and events."""
        ends = [stage.end_s for stage in self.stages if stage.end_s is not None]
        return Ground(self.stages, self.window, self.events, max([*self.times, *ends], default=1.0))


def compute(results: Results) -> Numbers | None:
    """Collect the panels of the main run; None if no run has a timeline."""
    run = choose(results)
    return None if run is None else of_run(results, run)


def of_run(results: Results, run: RunResult) -> Numbers:
    """Collect the panels of a run that has a timeline."""
    timeline = timeline_of(run)
    return Numbers(
        run=run,
        label=results.label(run),
        times=[time for time in timeline.t_s if time is not None],
        tracks=[track for track in _tracks(results, run, timeline) if track.lines],
        stages=timeline.stages,
        window=window_of(run),
        events=[event for event in run.record.events.values() if event.begin_s is not None],
    )


def _tracks(results: Results, run: RunResult, timeline: Timeline) -> list[Track]:
    utilization, unlimited = _tiers(run, timeline)
    return [
        Track("virtual users", "1", _lines({"users": timeline.users})),
        Track("throughput", "1/s", _lines({"throughput": timeline.throughput_per_s})),
        _response_times(timeline),
        Track("utilization", "%", utilization, limit=100.0),
        Track("CPUs used", "CPUs", unlimited),
        _other_programs(results, run, timeline),
        _disks(timeline),
        *_errors(results, run, timeline),
    ]


def _tiers(run: RunResult, timeline: Timeline) -> tuple[list[Line], list[Line]]:
    """Return lines of the utilization [%] of tiers with a CPU limit, and of the CPUs used by all other tiers."""
    limited, unlimited = [], []
    for name, used in timeline.tiers_cpus_used.items():
        tier = run.record.tiers.get(name)
        allotted = None if tier is None else tier.cpus_allotted
        if not used:
            continue
        if allotted is not None and allotted > 0:
            limited.append(Line(name, _scaled(used, 100 / allotted)))
        else:
            unlimited.append(Line(name, used))
    return limited, unlimited


def _other_programs(results: Results, run: RunResult, timeline: Timeline) -> Track:
    """Return the panel of the CPU use of other programs than the system and Towtank, by machine.

    It has no lines if the run is valid and the CPU use is within its limit.
    """
    limit = 100 * float(dig(results.study, "limits", "not_attributed") or NOT_ATTRIBUTED_SHARE)
    lines = []
    for machine, used in timeline.not_attributed_cpus_used.items():
        known = run.record.not_attributed.get(machine)
        cpus = None if known is None else known.cpus
        if cpus is not None and cpus > 0 and used:
            name = "this machine" if machine == THIS_MACHINE else machine
            # The CPU time of the host is counted in ticks of 10 ms, so the difference may be slightly negative.
            not_negative = [None if value is None else max(0.0, value) for value in used]
            lines.append(Line(name, _scaled(not_negative, 100 / cpus)))
    is_shown = run.verdict != "valid" or _largest(lines) > limit
    return Track("other programs", "% of CPUs", lines if is_shown else [], limit)


def _errors(results: Results, run: RunResult, timeline: Timeline) -> list[Track]:
    """Return panels of error rates by kind and by transaction; without recordings, of the total error rate. [1/s]"""
    recorded = results.recorded.get(run.run_id)
    if recorded is None or not recorded.errors_by_kind:
        errors = timeline.errors_per_s if any(timeline.errors_per_s) else ()
        return [Track("errors", "1/s", _lines({"errors": errors}))]
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


def _scaled(values: Values, factor: float) -> Values:
    return [None if value is None else value * factor for value in values]


def _lines(values: Mapping[str, Values], factor: float = 1.0) -> list[Line]:
    """Return lines of the values by name, as far as the timeline contains them; `factor` converts their unit."""
    return [Line(name, _scaled(each, factor)) for name, each in values.items() if each]


def _largest(lines: list[Line]) -> float:
    return max((value for line in lines for value in line.values if value is not None), default=0.0)


def _response_times(timeline: Timeline) -> Track:
    values = {"mean": timeline.response_mean_s, "median": timeline.p50_s, "95th percentile": timeline.p95_s}
    factor, unit = people.seconds_unit(_largest(_lines(values)))
    return Track("response time", unit, _lines(values, factor))


def _disks(timeline: Timeline) -> Track:
    values = {"disk reads": timeline.disk_read_bytes_per_s, "disk writes": timeline.disk_write_bytes_per_s}
    factor, unit = people.bytes_unit(_largest(_lines(values)))
    return Track("disk", f"{unit}/s", _lines(values, factor))


def draw(numbers: Numbers) -> Specification:
    """Draw the panels above each other, with a common time axis."""
    panels = [_panel(numbers, index, track) for index, track in enumerate(numbers.tracks)]
    return vega.specification(
        description(numbers),
        vconcat=panels,
        spacing=12,
        resolve={"scale": {"color": "independent", "strokeDash": "independent"}},
    )


def _panel(numbers: Numbers, index: int, track: Track) -> View:
    last = index == len(numbers.tracks) - 1
    x = quantitative(
        "t",
        title="time since the start of the run [s]" if last else None,
        scale={"domain": [0, numbers.ground.end_s], "nice": False},
        axis={"grid": False, "labels": last, "ticks": last, "format": theme.EXACT},
    )
    values = [
        {"t": time, "value": value, "line": line.name}
        for line in track.lines
        for time, value in zip(numbers.times, line.values, strict=False)
    ]
    unit = "" if track.unit in _WITHOUT_UNIT else f" [{track.unit}]"
    y = quantitative("value", title=f"{track.title}{unit}", scale={"zero": True}, axis={"tickCount": 3})
    return {
        "width": ground.WIDTH,
        "height": 100,
        "layer": [
            *ground.layers(numbers.ground, x, names=index == 0),
            *_limit(track, y),
            vega.layer("line", {"x": x, "y": y, **_styles(track)}, rows=values, strokeWidth=1.6),
        ],
    }


def _limit(track: Track, y: Channel) -> list[Layer]:
    """Return a layer with a dashed line at the limit of a panel; empty if the panel has no limit."""
    if track.limit is None:
        return []
    dashed = Mark(type="rule", strokeDash=[5, 3], color=theme.MUTED, strokeWidth=1.5)
    return [vega.layer(dashed, {"y": y}, rows=[{"value": track.limit}])]


def _styles(track: Track) -> Encoding:
    names = [line.name for line in track.lines]
    legend: vega.Legend | None = (
        {"title": None, "symbolType": "stroke", "symbolSize": 250, "symbolStrokeWidth": 2, "offset": 2}
        if len(names) > 1 or (track.title not in names and track.unit != "1")
        else None
    )
    colour: vega.Scale = {"domain": names, "range": theme.cycle(theme.COLOURS, len(names))}
    dash: vega.Scale = {"domain": names, "range": list(map(list, theme.cycle(theme.DASHES, len(names))))}
    return {
        "color": nominal("line", scale=colour, legend=legend),
        "strokeDash": nominal("line", scale=dash, legend=legend),
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
        f" {event.do.capitalize()} {event.on} from {people.number(event.begin_s)} to {people.number(event.until_s)} s."
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
