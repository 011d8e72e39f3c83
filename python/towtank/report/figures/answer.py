"""Builds the main figure: throughput and, below it, response time against load, with bounds, knees and an objective.

If configurations are drawn as rows (with one load only, or too many configurations), it shows only throughput.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from towtank.analysis import Objective
from towtank.digging import dig
from towtank.estimates import FEW_DIGITS
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series, throughput
from towtank.report.source import Results
from towtank.report.vega import Encoding, Layer, Mark, Scale, Specification, View, nominal

_STATISTICS = {
    "mean": "mean response time",
    "p50": "median response time",
    "p90": "90th percentile of response time",
    "p95": "95th percentile of response time",
    "p99": "99th percentile of response time",
}
# Sizes of the panels with which the figure fits beside the tables of the first screen. [px]
_HEIGHT, _TIMES_HEIGHT = 190, 115
_WIDTH = 480
_BETWEEN = 32
# Largest number of configurations that are all drawn. [1]
_ROWS_AT_MOST = 16
# Styles of knees: open if they depend on a suspect run, otherwise filled.
_TRIANGLES: dict[bool, Mark] = {
    False: {"filled": True},
    True: {"filled": False, "fill": "white", "strokeWidth": 2},
}


@dataclass(frozen=True)
class Knee:
    """Knee of a configuration with its interval [users], and the state of the load level whose demands give it."""

    configuration: str
    state: str
    load: float
    low: float
    high: float


@dataclass(frozen=True)
class Numbers:
    """Data of the main figure of the report: throughput with bounds, a statistic of the response times [s], and the
    knees whose interval is within the measured loads.

    The statistic is `mean`, or the percentile that `objective` limits: the first objective for the response time of all
    transactions at every load.
    """

    rates: throughput.Numbers
    times: list[series.Point]
    statistic: str
    objective: Objective | None
    knees: list[Knee]


def compute(results: Results) -> Numbers:
    objective = next(filter(is_drawn, map(Objective.read, results.study.get("objectives") or ())), None)
    statistic = "mean" if objective is None else objective.quantity
    rates = throughput.compute(results)
    times = series.response_time_of(results, statistic)
    return Numbers(rates, times, statistic, objective, _knees(results, rates))


def is_drawn(objective: Objective) -> bool:
    """Return True if an objective limits the response time of all transactions, and applies to every load."""
    restrictions = (objective.transaction, objective.load, objective.of_limit)
    is_for_all = not objective.is_scoped and all(each is None for each in restrictions)
    return is_for_all and objective.quantity in _STATISTICS and objective.limit is not None and objective.limit > 0


def _knees(results: Results, rates: throughput.Numbers) -> list[Knee]:
    """Return the knees, by the service demands at the lowest load, of the configurations that reach their limit."""
    top = max((point.load for point in rates.points), default=0.0)
    found = []
    for configuration in results.configurations:
        if configuration.limit is None or not configuration.limit.reached:
            continue
        knee = configuration.limit.knee_users
        ends = [float(end) for end in (knee.value, knee.low, knee.high) if end is not None and 0 < end <= top]
        if len(ends) == 3:
            # The demands at the lowest load level that counts give the knee.
            state = next((point.state for point in configuration.usable), "invalid")
            found.append(Knee(configuration.label, state, *ends))
    return found


def draw(numbers: Numbers) -> Specification:
    """Draw a panel of throughput above a panel of response time, with a common load axis."""
    valid = [point for point in numbers.times if point.state != "invalid"]
    factor, unit = people.seconds_unit(max((point.value for point in valid or numbers.times), default=0.0))
    times = [point.scaled(factor) for point in numbers.times]
    title = f"{_STATISTICS[numbers.statistic]} [{unit}]"
    upper = throughput.picture(numbers.rates, height=_HEIGHT, width=_WIDTH)
    upper["layer"] += _drawn_knees(numbers)
    below = _objective(numbers, title, times, factor)
    load_factor = numbers.rates.load_factor
    lower = panel.panel(
        times, value_title=title, load_factor=load_factor, width=_WIDTH, height=_TIMES_HEIGHT, below=below, times=True
    )
    _without_load_title(upper)
    # `bounds="flush"` ignores the title of the load axis, which may be wider than the panel and would misalign the
    # panels.
    return vega.specification(description(numbers), vconcat=[upper, lower], spacing=_BETWEEN, bounds="flush")


def _without_load_title(picture: View) -> None:
    """Remove the title of the load axis from the upper panel, because the lower panel has the same axis."""
    for layer in picture["layer"]:
        if "x" in layer.get("encoding", {}):
            layer["encoding"] = {**layer["encoding"], "x": {**layer["encoding"]["x"], "title": None}}


def _drawn_knees(numbers: Numbers) -> list[Layer]:
    """Return layers that show knees on the load axis, each with its interval."""
    if not numbers.knees:
        return []
    labels = series.labels(numbers.rates.points)
    hues = dict(zip(labels, theme.cycle(theme.COLOURS, len(labels)), strict=True))
    # The load of a knee is an estimate, so it is rounded.
    rows = [
        {
            **vars(knee),
            **{key: float(f"{getattr(knee, key):.{FEW_DIGITS}g}") for key in ("load", "low", "high")},
            "foot": 0.0,
            "colour": hues.get(knee.configuration, theme.INK),
        }
        for knee in numbers.knees
    ]
    x = panel.load_axis(numbers.rates.load_factor, [point.load for point in numbers.rates.points])
    place: Encoding = {
        "x": x,
        "y": {**panel.value_axis("throughput [1/s]"), "field": "foot"},
        "color": nominal("colour", scale=None),
    }
    point = Mark(type="point", shape="triangle-up", size=70, opacity=1)
    return [
        vega.layer("rule", vega.between(place, "x"), rows=rows, strokeWidth=5, opacity=0.45),
        *(
            vega.layer({**point, **style}, place, rows=[row for row in rows if (row["state"] == "suspect") == is_open])
            for is_open, style in _TRIANGLES.items()
        ),
        vega.layer("text", place, rows=rows, text="knee", baseline="bottom", dy=-7, fontSize=10),
    ]


def _objective(numbers: Numbers, title: str, times: list[series.Point], factor: float) -> list[Layer]:
    """Return layers of a line at the limit of the objective, or of its name at the edge if the limit is beyond the
    axis.
    """
    if numbers.objective is None or numbers.objective.limit is None:
        return []
    axis, value = panel.time_axis(title, times, _TIMES_HEIGHT), numbers.objective.limit * factor
    scale: Scale = axis["scale"] or {}
    low, high = map(float, scale.get("domain", (0.0, scale.get("domainMax", value))))
    words = numbers.objective.text or "objective"
    text = Mark(type="text", align="right", dx=-4, fontSize=10, color=theme.INK)
    rows = [{"value": min(max(value, low), high)}]
    corner = Encoding(x={"value": "width"}, y=axis)
    if not low <= value <= high:
        words, beyond = f"{words} ({'above' if value > high else 'below'} this axis)", 1 if value > high else -1
        return [vega.layer(text, corner, rows=rows, text=words, dy=8 * beyond)]
    return [
        vega.layer("rule", {"y": axis}, rows=rows, strokeDash=[6, 3], color=theme.INK),
        vega.layer(text, corner, rows=rows, text=words, dy=-7),
    ]


def description(numbers: Numbers) -> str:
    """Return a description of the main figure in words, for readers who cannot see the figure."""
    parts = []
    for label in series.labels(numbers.times):
        own = [point for point in numbers.times if point.configuration == label and point.state != "invalid"]
        if own:
            last = max(own, key=lambda point: point.load)
            parts.append(f"{label}: {people.seconds_estimate(last)} at {people.plain(last.load)}")
    said = throughput.description(numbers.rates)
    return f"{said} Below it {_STATISTICS[numbers.statistic]}: {'; '.join(parts)}." if parts else said


def of_first_claim(results: Results) -> tuple[Results, str]:
    """Return the results without the configurations that the first claim does not compare, and the levels of the
    others in words.

    All results and an empty text are returned if the configurations fit the first screen.
    """
    configurations = results.configurations
    measures = (claim.measure for claim in results.claims.claims if claim.measure)
    given = next(iter(next(measures, {}).values()), {})
    free = {dig(given, "over"), dig(given, "total_over"), *(dig(given, "to") or {})}
    fixed = {name: level for name, level in (dig(given, "at") or {}).items() if name not in free}
    own = [
        document
        for document, each in zip(results.summary.get("configurations") or (), configurations, strict=True)
        if all(each.key.get(name) == level for name, level in fixed.items())
    ]
    if len(configurations) <= _ROWS_AT_MOST or not 1 < len(own) < len(configurations):
        return results, ""
    names = ", ".join(f"{name} {level}" for name, level in fixed.items())
    return replace(results, summary={**results.summary, "configurations": own}), f", {names}".replace("_", " ")


def figure(results: Results) -> Figure | None:
    """Return the figure of throughput and response time; None if there is no figure of throughput.

    Of more configurations than fit the first screen, it shows those that the first claim compares.
    """
    results, which = of_first_claim(results)
    made = throughput.figure(results)
    if made is not None and which:
        return replace(made, title=f"{made.title}{which}")
    if made is None:
        return None
    numbers = compute(results)
    points = numbers.rates.points
    if not numbers.times or panel.is_crowded(points) or panel.one_load(points) is not None:
        return made
    statistic = _STATISTICS[numbers.statistic]
    note = made.note
    if numbers.knees:
        note += " Triangles are knees computed from the demands at the lowest load, bars are their intervals."
    return replace(
        made,
        title=f"Throughput and {statistic} against {panel.load_title(results.load_factor)}",
        description=description(numbers),
        note=note.strip(),
        spec=draw(numbers),
        table=_table(made.table, numbers, statistic),
    )


def _table(table: Table | None, numbers: Numbers, statistic: str) -> Table | None:
    """Add a column of response times to the table of the throughput figure."""
    if table is None:
        return None
    times = {(point.configuration, point.load, point.runs): point.stated for point in numbers.times}
    place = 1 + [column.title for column in table.columns].index("Throughput")
    rows = tuple(
        (*row[:place], people.seconds_estimate(times.get((point.configuration, point.load, point.runs))), *row[place:])
        for point, row in zip(numbers.rates.points, table.rows, strict=True)
    )
    column = Column(statistic.capitalize(), numeric=True)
    columns = (*table.columns[:place], column, *table.columns[place:])
    return replace(table, caption="Throughput and response time", columns=columns, rows=rows)
