"""Builds small plots of throughput and mean response time over time for every run.

The plots are written as SVG without a chart library, because a study may have a hundred runs. Every plot has its own
scale, from zero to the largest value, which is printed beside the plot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from xml.etree import ElementTree

from towtank.report import bidi, theme
from towtank.report import format as people
from towtank.report.document import Figure, Table, headings
from towtank.report.drawing import canvas
from towtank.report.figures.panel import load_title
from towtank.report.runs_over_time import Stage, has_timeline, timeline_of, window_of
from towtank.report.source import Results, RunResult

NAME = "every-run"
RAMP_DOWN = "ramp_down"
SHOWN_AT_MOST = 12
"""Largest number of runs in a figure. Further runs are in additional figures, which are collapsed. [1]"""
POINTS_AT_MOST = 120
"""Largest number of points in a line. In long runs, a point is the mean over several seconds. [1]"""
_ORDER = ("invalid", "none", "suspect", "valid")
_WORDS = {"none": "not judged"}
_COLUMNS = 3
_WIDTH, _PLOT, _HEAD, _FOOT, _GAP_X, _GAP_Y = 264, 46, 34, 16, 20, 20
_BETWEEN = 6
_LETTER = 6.2  # Mean width of a letter at a font size of 11 px. [px]
_COLOURS = (theme.COLOURS[0], theme.COLOURS[1])


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class TimedRun:
    """Throughput [1/s] and mean response time [s] of a run over time; None if not recorded.

    `times` are the middles of the intervals since the start of the run [s], of the same length as `rates`, `responses`
    and `failed`, which is True for points with a failed transaction. `end_s` is the end of the time axis.
    """

    run: RunResult
    label: str
    load: str
    times: list[float]
    rates: list[float | None]
    responses: list[float | None]
    failed: list[bool]
    end_s: float
    stages: Sequence[Stage] = ()


def compute(results: Results) -> list[TimedRun]:
    """Collect all runs that have a timeline; invalid and suspect runs come first."""
    runs = [run for run in results.measured if has_timeline(run)]
    runs.sort(key=lambda run: (_ORDER.index(run.verdict), run.run_id))
    return [_timed(results, run) for run in runs]


def _timed(results: Results, run: RunResult) -> TimedRun:
    timeline = timeline_of(run)
    times = [time for time in timeline.t_s if time is not None]
    end = _end(timeline.stages, times)
    count = sum(time <= end for time in times)
    step = math.ceil(count / POINTS_AT_MOST) or 1
    errors = timeline.errors_per_s or [None] * len(times)
    return TimedRun(
        run,
        results.label(run),
        _load(results, run),
        [sum(part) / len(part) for part in _parts(times[:count], step)],
        _means(timeline.throughput_per_s, step, count),
        _means(timeline.response_mean_s, step, count),
        [any(part) for part in _parts(errors[:count], step)],
        end,
        timeline.stages,
    )


def _end(stages: Sequence[Stage], times: Sequence[float]) -> float:
    """Return the end of the time axis, where the ramp-down of the load begins, because its rates would distort the
    scale. [s]"""
    ends = [(stage.end_s, stage.phase) for stage in stages if stage.end_s is not None]
    held = [end for end, phase in ends if phase != RAMP_DOWN]
    return max(held) if held else max([*times, *(end for end, _ in ends)])


def _load(results: Results, run: RunResult) -> str:
    if run.load is None:
        return ""
    return people.rate(run.load) if results.load_factor == "rate" else f"{people.plain(run.load)} {results.load_factor}"


def _means(values: Sequence[float | None] | None, step: int, count: int) -> list[float | None]:
    """Return the mean of each group of `step` successive values; None for a group without values."""
    parts = _parts((values or [None] * count)[:count], step)
    known = ([value for value in part if value is not None] for part in parts)
    return [sum(part) / len(part) if part else None for part in known]


def _parts(values: Sequence[_Item], size: int) -> list[Sequence[_Item]]:
    """Split values into groups of `size` values; the last group may be smaller."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def draw(timed_runs: Sequence[TimedRun], title: str) -> str:
    """Draw the plots of runs as SVG, three in each row."""
    rows = math.ceil(len(timed_runs) / _COLUMNS)
    cell = _HEAD + 2 * _PLOT + _BETWEEN + _FOOT
    width = min(len(timed_runs), _COLUMNS) * (_WIDTH + _GAP_X) - _GAP_X + 12
    height = rows * (cell + _GAP_Y) - _GAP_Y + 12
    svg = canvas(width, height, title, 11)
    for number, timed in enumerate(timed_runs):
        row, column = divmod(number, _COLUMNS)
        place = f"translate({6 + column * (_WIDTH + _GAP_X)} {6 + row * (cell + _GAP_Y)})"
        _draw_run(ElementTree.SubElement(svg, "g", {"transform": place}), timed)
    return ElementTree.tostring(svg, encoding="unicode")


def _draw_run(group: ElementTree.Element, timed: TimedRun) -> None:
    verdict = _WORDS.get(timed.run.verdict, timed.run.verdict)
    about = ", ".join(part for part in (timed.label, timed.load) if part)
    lower, bottom = _HEAD + _PLOT + _BETWEEN, _HEAD + 2 * _PLOT + _BETWEEN
    _ground(group, timed, bottom)
    _text(group, 0, 11, f"{timed.run.run_id}: {verdict}", {"font-weight": "bold"})
    muted = ElementTree.SubElement(group, "g", {"fill": theme.MUTED})
    _text(muted, 0, 26, about, {})
    _text(muted, 0, bottom + 12, "0 s", {})
    right = ElementTree.SubElement(group, "g", {"text-anchor": "end"})
    _text(right, _WIDTH, bottom + 12, f"{people.plain(round(timed.end_s))} s", {"fill": theme.MUTED})
    lines = ElementTree.SubElement(group, "g", {"fill": "none", "stroke-width": "1.4"})
    for top, values, show in ((_HEAD, timed.rates, people.rate), (lower, timed.responses, people.seconds)):
        largest = max((value for value in values if value is not None), default=0.0)
        for points in _lines(timed, values, top, largest):
            drawn = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
            ElementTree.SubElement(lines, "polyline", {"points": drawn, "stroke": _COLOURS[top != _HEAD]})
        _text(right, _WIDTH - 2, top + 10, show(largest), {})
    _failures(group, timed)


def _ground(group: ElementTree.Element, timed: TimedRun, bottom: float) -> None:
    """Draw the background of a run's plots: the stages of the load, and lines at the ends of the window."""
    height = f"{bottom - _HEAD:g}"
    for stage in timed.stages:
        colour = theme.PHASES.get(str(stage.phase))
        if stage.start_s is not None and stage.end_s is not None and colour:
            left, right = _x(timed, stage.start_s), _x(timed, stage.end_s)
            box = {"x": f"{left:.0f}", "y": f"{_HEAD}", "width": f"{right - left:.0f}", "height": height}
            ElementTree.SubElement(group, "rect", {**box, "fill": colour})
    edges = [_x(timed, end) for end in window_of(timed.run) or ()]
    if edges:
        path = "".join(f"M{edge:.0f} {_HEAD}v{height}" for edge in edges)
        dashes = {"stroke": theme.INK, "stroke-dasharray": "3 3", "stroke-width": ".8"}
        ElementTree.SubElement(group, "path", {"d": path, **dashes})
    # A white area covers the background between the two plots.
    gap = {"y": f"{_HEAD + _PLOT}", "width": f"{_WIDTH}", "height": f"{_BETWEEN}", "fill": "white"}
    ElementTree.SubElement(group, "rect", gap)


def _failures(group: ElementTree.Element, timed: TimedRun) -> None:
    """Draw marks below the throughput at times with failed transactions."""
    width = max(1.5, _WIDTH / max(len(timed.times), 1))
    places = [_x(timed, time) - width / 2 for time, failed in zip(timed.times, timed.failed, strict=True) if failed]
    if places:
        path = "".join(f"M{place:.0f} {_HEAD + _PLOT - 2}h{width:.1f}" for place in places)
        ElementTree.SubElement(group, "path", {"d": path, "stroke": theme.INK, "stroke-width": "4"})


def _x(timed: TimedRun, time: float) -> float:
    return _WIDTH * min(max(time / timed.end_s, 0.0), 1.0) if timed.end_s > 0 else 0.0


def _lines(
    timed: TimedRun, values: Sequence[float | None], top: float, largest: float
) -> list[list[tuple[float, float]]]:
    """Return the lines of a plot as lists of coordinates; a missing value interrupts a line."""
    found: list[list[tuple[float, float]]] = [[]]
    for time, value in zip(timed.times, values, strict=True):
        if value is None:
            found.append([])
        else:
            share = value / largest if largest > 0 else 0.0
            found[-1].append((_x(timed, time), top + _PLOT - 1 - share * (_PLOT - 14)))
    return [points for points in found if points]


def _text(group: ElementTree.Element, x: float, y: float, words: str, style: dict[str, str]) -> None:
    room = int(_WIDTH / _LETTER)
    shown = words if len(words) <= room else f"{words[: room - 1]}…"
    # XML does not allow control characters, which names may contain.
    shown = "".join(letter if letter.isprintable() else "�" for letter in shown)
    ElementTree.SubElement(group, "text", {"x": f"{x:g}", "y": f"{y:g}", **style}).text = bidi.plain(shown)


def figures(results: Results) -> list[Figure]:
    """Return figures of all runs, at most `SHOWN_AT_MOST` in each; empty for a single run."""
    timed_runs = compute(results)
    parts = _parts(timed_runs, SHOWN_AT_MOST) if len(timed_runs) > 1 else []
    return [_figure(results, part, number, len(parts)) for number, part in enumerate(parts, 1)]


def _figure(results: Results, timed_runs: Sequence[TimedRun], number: int, of: int) -> Figure:
    verdicts = dict.fromkeys(_WORDS.get(timed.run.verdict, timed.run.verdict) for timed in timed_runs)
    first = "Every run over time" if number == 1 else "Further runs over time"
    which = f" ({number} of {of})" if of > 1 else ""
    description = (
        f"Small charts of throughput and mean response time of {people.plural(len(timed_runs), 'run')} over time: "
        f"{people.listing([f'{_count(timed_runs, verdict)} {verdict}' for verdict in verdicts])}."
    )
    return Figure(
        name=NAME if number == 1 else f"{NAME}-{number}",
        title=f"{first}: throughput above, mean response time below{which}",
        description=description,
        note="Invalid runs come first. Each run has its own scales from zero; the number is the largest value. "
        "The background shows the stages, dashed lines limit the analysed window, and marks at the bottom of the "
        "throughput show failed transactions. The ramp-down is left out.",
        svg=draw(timed_runs, description),
        table=_table(results, timed_runs),
        is_detail=number > 1,
    )


def _count(timed_runs: Sequence[TimedRun], verdict: str) -> int:
    return sum(_WORDS.get(timed.run.verdict, timed.run.verdict) == verdict for timed in timed_runs)


def _table(results: Results, timed_runs: Sequence[TimedRun]) -> Table:
    columns = headings(
        "Run",
        "Configuration",
        f"#{load_title(results.load_factor).capitalize()}",
        "Verdict",
        "#Throughput over the run",
        "#Mean response time over the run",
        "#Times with failures",
    )
    rows = tuple(
        (
            timed.run.run_id,
            timed.label,
            people.plain(timed.run.load),
            _WORDS.get(timed.run.verdict, timed.run.verdict),
            _span(timed.rates, people.rate),
            _span(timed.responses, people.seconds),
            f"{sum(timed.failed)} of {len(timed.failed)}",
        )
        for timed in timed_runs
    )
    return Table("Runs over time", columns, rows)


def _span(values: Sequence[float | None], show: Callable[[float], str]) -> str:
    """Render the range of the values of a line, such as `10 to 12 /s`."""
    known = [value for value in values if value is not None]
    return f"{show(min(known))} to {show(max(known))}" if known else people.ABSENT
