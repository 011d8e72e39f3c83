"""Builds the figure of throughput against load, with two bounds for each configuration: ideal scaling N / (R + Z), and
1 / D_max.

The highest throughput 1 / D_max comes from the capacity model, so that the whole report states the same value. Without
a model, it is computed from the CPU demands at the highest valid or suspect load; D_max is then the largest ratio of a
tier's CPU demand to its number of CPUs. This is the bottleneck law of Denning and Buzen, "The Operational Analysis of
Queueing Network Models", 1978, doi:10.1145/356733.356735. The law assumes that demands do not depend on the load. If
demands fall as the load grows, a measured throughput may exceed the bound of the model, which is not drawn then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from towtank.analysis import Configuration
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel, series
from towtank.report.source import Results
from towtank.report.vega import Encoding, Layer, Mark, Specification, View, nominal, quantitative

NAME = "throughput"
# Largest ratio of a drawn bound to the highest measured throughput; a higher bound would compress the points. [ratio]
_HIGHEST_AT_MOST = 2.0
# Width of the panel, and of a panel with the names of configurations beside it, so that the figure fits on the first
# screen. [px]
_WIDTH, _BESIDE_NAMES = 620, 390
# Smallest ratio of two bounds that are both named; the names of closer bounds would overlap. [ratio]
_NAME_APART = 1.1


@dataclass(frozen=True)
class Numbers:
    """Data of the figure of throughput [1/s], with single runs of the points that combine several runs.

    By configuration, `ideal` has the throughput per unit of load on the line of ideal scaling [1/s], and `highest` the
    bound 1 / D_max [1/s], unless a measured throughput exceeds it significantly. `exceeded` has the bounds of the
    capacity model that a measured throughput exceeds significantly.
    """

    points: list[series.Point]
    ideal: dict[str, float]
    load_factor: str
    highest: dict[str, float] = field(default_factory=dict)
    runs: list[series.Point] = field(default_factory=list)
    exceeded: list[Exceeded] = field(default_factory=list)


@dataclass(frozen=True)
class Exceeded:
    """Throughput limit of the capacity model that a measured throughput exceeds, because demands fall as the load
    grows: the limit 1 / D_max [1/s], and the point that exceeds it most.
    """

    point: series.Point
    limit: float


def compute(results: Results) -> Numbers:
    """Collect the throughput at each load, the slopes of ideal scaling, and the bounds 1 / D_max."""
    points = series.throughput_of(results)
    counting = {(point.configuration, point.load) for point in points if point.state != "invalid"}
    levels = Counter(label for label, _ in counting)
    # For a single level, the line of ideal scaling would contain no information.
    ideal = {label: slope for label, slope in slopes(results).items() if levels[label] > 1}
    runs = series.single_runs(results, series.throughput_of_run)
    of_models = _of_models(results)
    found = [worst for label, limit in of_models.items() if limit and (worst := _exceeding(points, label, limit))]
    return Numbers(points, ideal, results.load_factor, _highest_of(results, points, of_models), runs, found)


def _of_models(results: Results) -> dict[str, float | None]:
    """Return the throughput limit of the capacity model of each configuration; None for a model without a limit.
    [1/s]
    """
    labels = {configuration.label for configuration in results.configurations}
    known: dict[str, float | None] = {}
    for model in results.capacity.modelled:
        label, limit = model.label or "all runs", model.limit_throughput
        if label in labels:
            known[label] = limit if limit is not None and limit > 0 else None
    return known


def _highest_of(results: Results, points: list[series.Point], of_models: dict[str, float | None]) -> dict[str, float]:
    """Return the bound 1 / D_max of each configuration. [1/s]

    It is the limit of the model or, if a measured throughput exceeds this limit, computed from the demands at the
    highest load. A bound that a measured throughput exceeds is left out.
    """
    known: dict[str, float] = {}
    for configuration in results.configurations:
        label = configuration.label
        limit = of_models.get(label)
        if label not in of_models or (limit is not None and _exceeding(points, label, limit)):
            limit = _of_demands(configuration)
        if limit is not None and _exceeding(points, label, limit) is None:
            known[label] = limit
    return known


def _exceeding(points: list[series.Point], label: str, limit: float) -> Exceeded | None:
    """Return the point of a configuration that exceeds a limit most; None if no point exceeds it with its whole
    interval.
    """
    beyond = [
        point
        for point in points
        if point.configuration == label
        and point.state != "invalid"
        and (point.value if point.low is None else point.low) > limit
    ]
    return Exceeded(max(beyond, key=lambda point: point.value), limit) if beyond else None


def _of_demands(configuration: Configuration) -> float | None:
    """Return 1 / D_max from the CPU demands at the highest valid or suspect load; None if a number of CPUs is unknown.
    [1/s]
    """
    top = max(configuration.usable, key=lambda point: point.level, default=None)
    tiers = [] if top is None else list(top.tiers.values())
    limits = [
        tier.cpus_allotted / tier.cpu_demand_s.value
        for tier in tiers
        if tier.cpus_allotted and tier.cpu_demand_s.value and tier.cpus_allotted > 0 and tier.cpu_demand_s.value > 0
    ]
    return min(limits) if limits and len(limits) == len(tiers) else None


def slopes(results: Results) -> dict[str, float]:
    """Return the slope of the line of ideal scaling, by configuration. [1/s]"""
    return {
        configuration.label: float(configuration.ideal.per_user_per_s)
        for configuration in results.configurations
        if configuration.ideal is not None and configuration.ideal.per_user_per_s
    }


def draw(numbers: Numbers) -> Specification:
    """Draw the measured throughput, lines of ideal scaling, and bounds 1 / D_max."""
    has_rows = panel.is_crowded(numbers.points) or panel.one_load(numbers.points) is not None
    return vega.specification(description(numbers), **picture(numbers, width=_BESIDE_NAMES if has_rows else _WIDTH))


def picture(numbers: Numbers, height: int = 300, width: int = _WIDTH) -> View:
    """Return the panel of throughput with its data, as part of a Vega-Lite specification."""
    loads = [point.load for point in numbers.points]
    slopes = _apart(sorted(numbers.ideal.values()))
    ideal = [
        {"load": load, "value": slope * load, "slope": slope} for slope in slopes for load in panel.line_loads(loads)
    ]
    lines = ideal_lines(ideal, numbers.load_factor, loads, "throughput [1/s]")
    return panel.panel(
        numbers.points,
        value_title="throughput [1/s]",
        load_factor=numbers.load_factor,
        width=width,
        height=height,
        below=[*lines, *_highest(numbers, loads)],
        runs=numbers.runs,
    )


def _drawn_highest(numbers: Numbers) -> dict[str, float]:
    """Return the bounds 1 / D_max that are not too high to be drawn. [1/s]"""
    top = max((point.value for point in numbers.points if point.state != "invalid"), default=0.0)
    return {label: value for label, value in numbers.highest.items() if value <= _HIGHEST_AT_MOST * top}


def _highest(numbers: Numbers, loads: list[float]) -> list[Layer]:
    """Return layers of dashed lines at 1 / D_max, with names, in the colours of the configurations."""
    labels = series.labels(numbers.points)
    hues = dict(zip(labels, theme.cycle(theme.COLOURS, len(labels)), strict=True))
    bounds = {label: value for label, value in _drawn_highest(numbers).items() if label in hues}
    if not bounds:
        return []
    rows = [{"load": 0.0, "value": value, "colour": hues[label]} for label, value in bounds.items()]
    y = panel.value_axis("throughput [1/s]")
    colour = nominal("colour", scale=None)
    apart = _apart(sorted(bounds.values()), _NAME_APART)
    x = panel.load_axis(numbers.load_factor, loads)
    name = Mark(type="text", text="1 / D_max", align="left", dx=6, dy=-6)
    return [
        vega.layer("rule", {"y": y, "color": colour}, rows=rows, strokeDash=[7, 4], strokeWidth=1.3, opacity=0.8),
        vega.layer(name, {"x": x, "y": y, "color": colour}, rows=[row for row in rows if row["value"] in apart]),
    ]


def _apart(slopes: list[float], ratio: float = 1.02) -> list[float]:
    """Select from ascending values those that exceed the previously selected value by a factor above `ratio`."""
    kept: list[float] = []
    for slope in slopes:
        if not kept or slope > ratio * kept[-1]:
            kept.append(slope)
    return kept


def ideal_lines(rows: list[dict[str, float]], load_factor: str, loads: list[float], value_title: str) -> list[Layer]:
    """Return layers of dotted grey lines of ideal scaling, and of their name at the last line; empty without a row."""
    if not rows:
        return []
    place = Encoding(x=panel.load_axis(load_factor, loads), y=panel.value_axis(value_title))
    lines: Encoding = {**place, "detail": quantitative("slope")}
    middle = {"load": rows[-1]["load"] * 0.72, "value": rows[-1]["value"] * 0.72}
    name: Mark = {"type": "text", "text": "ideal scaling", "description": "ideal scaling", "align": "right"}
    return [
        vega.layer("line", lines, rows=rows, color=theme.MUTED, strokeDash=[2, 3], strokeWidth=1.5),
        vega.layer(name, place, rows=[middle], dx=-8, dy=-4, color=theme.MUTED),
    ]


def description(numbers: Numbers) -> str:
    """Return a description of the figure of throughput in words, for readers who cannot see the figure."""
    parts = []
    for label in series.labels(numbers.points):
        own = sorted(
            (p for p in numbers.points if p.configuration == label and p.state != "invalid"),
            key=lambda p: p.load,
        )
        if own:
            ends = [f"{people.rate_estimate(end)} at {people.plain(end.load)}" for end in (own[0], own[-1])]
            parts.append(f"{label}: {', '.join(dict.fromkeys(ends))} {panel.load_title(numbers.load_factor)}")
    against = panel.against(numbers.points, numbers.load_factor)
    return f"Chart of throughput {against}. " + ("; ".join(parts) + "." if parts else "No valid point.")


def figure(results: Results) -> Figure | None:
    """Return the figure of throughput; None if there is only one load point, with a single run."""
    numbers = compute(results)
    if panel.is_single(numbers.points) and not numbers.runs:
        return None
    return Figure(
        name=NAME,
        title=f"Throughput {panel.against(numbers.points, numbers.load_factor)}",
        description=description(numbers),
        note=_note(numbers) + panel.states_note(numbers.points, numbers.runs),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _note(numbers: Numbers) -> str:
    if panel.one_load(numbers.points) is not None:
        return ""
    if panel.is_crowded(numbers.points):
        return "Darker cells are larger values. "
    notes = ""
    if numbers.ideal:
        notes += "The dotted line is ideal scaling, N / (R + Z): the throughput with the response time of "
        notes += "the lowest level. "
    if _drawn_highest(numbers):
        notes += "Dashed lines are the bound 1 / D_max, from the capacity model or else from the measured demands. "
    return notes + "".join(map(_exceeded_note, numbers.exceeded))


def _exceeded_note(found: Exceeded) -> str:
    """Explain why the limit of a model, which a measured throughput exceeds, is not drawn."""
    return (
        f"{found.point.configuration}: the limit of the capacity model, {people.rate(found.limit)}, is not drawn, "
        f"because {people.rate_estimate(found.point.stated)} was measured at {people.plain(found.point.load)}; the "
        "model assumes the same demands at all loads. "
    )


def _table(numbers: Numbers) -> Table:
    columns = headings(
        "Configuration",
        f"#{panel.load_title(numbers.load_factor).capitalize()}",
        "#Throughput",
        "#Ideal",
        "Verdict",
        "Runs",
    )
    rows = []
    for point in numbers.points:
        slope = numbers.ideal.get(point.configuration)
        ideal = people.rate(slope * point.load) if slope else people.ABSENT
        rows.append(
            (
                point.configuration,
                people.plain(point.load),
                people.rate_estimate(point.stated),
                ideal,
                point.state,
                ", ".join(point.runs),
            )
        )
    return Table("Throughput of completed transactions", columns, tuple(rows))
