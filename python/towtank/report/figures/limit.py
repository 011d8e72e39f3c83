"""The plateaus of a search for the limit: what was seen of the binding objective at each load, and the limit found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel
from towtank.report.source import Json, Results, RunResult, dig

PASSED, FAILED = "passed", "failed"
_FAILED_COLOUR, _PASSED_COLOUR, _BAND = theme.COLOURS[1], theme.COLOURS[0], "#d8ecdf"


@dataclass(frozen=True)
class Numbers:
    """What is drawn: for each plateau the load and what was seen, in the unit named; limits of objective and load."""

    run: str
    rows: list[dict[str, Any]]
    title: str
    objective: str
    limit: float | None
    found: Json
    load_factor: str


def compute(results: Results, run: RunResult) -> Numbers | None:
    """Gather the plateaus of one run; None where it made none."""
    found = run.summary.get("limit") or {}
    plateaus = list(found.get("plateaus") or ())
    if not plateaus:
        return None
    binding = found.get("binding")
    title, seen, limit = _quantity(plateaus, binding)
    rows = [
        {
            "load": float(one["level"]),
            "value": value,
            "outcome": PASSED if one["passed"] else FAILED,
            "order": number,
            "why": dig(one, "failure", "text") or "",
        }
        for number, (one, value) in enumerate(zip(plateaus, seen, strict=True), start=1)
        if value is not None
    ]
    objective = str(binding["text"]) if binding else ""
    return Numbers(run.run_id, rows, title, objective, limit, found, results.load_factor)


def _quantity(plateaus: list[Json], binding: Json | None) -> tuple[str, list[float | None], float | None]:
    """Title with unit, values, and the limit: of the objective, or the throughput where there is none."""
    if not binding:
        return "throughput [1/s]", [dig(one, "throughput_per_s", "value") for one in plateaus], None
    texts = [one.get("objective") or {} for one in plateaus]
    values = [one.get("seen") if one.get("text") == binding["text"] else None for one in texts]
    metric = str(binding.get("metric", ""))
    factor, unit = 1.0, "1/s"
    if metric == "errors":
        factor, unit = 100.0, "%"
    elif metric != "throughput":
        factor, unit = people.seconds_unit(max((value for value in values if value is not None), default=1.0))
    scaled = [None if value is None else factor * float(value) for value in values]
    return f"{binding['text'].partition('<')[0].partition('>')[0].strip()} [{unit}]", scaled, factor * binding["limit"]


def draw(numbers: Numbers) -> dict[str, object]:
    """Band of the interval, line of the objective, a mark for each plateau."""
    axis = panel.load_axis(numbers.load_factor, [row["load"] for row in numbers.rows])
    place = {"x": axis, "y": panel.value_axis(numbers.title)}
    outcome = {
        "field": "outcome",
        "type": "nominal",
        "title": None,
        "scale": {"domain": [PASSED, FAILED], "range": [_PASSED_COLOUR, _FAILED_COLOUR]},
    }
    shape = {**outcome, "scale": {"domain": [PASSED, FAILED], "range": ["circle", "cross"]}}
    marks = {
        "data": {"values": numbers.rows},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 0.85},
        "encoding": {**place, "color": outcome, "shape": shape, "tooltip": _tooltip(numbers)},
    }
    return theme.specification(
        description(numbers), layer=[*_band(numbers, axis), *_line(numbers), marks], width=590, height=280
    )


def _tooltip(numbers: Numbers) -> list[dict[str, Any]]:
    return [
        {"field": "order", "type": "quantitative", "title": "plateau"},
        {"field": "load", "type": "quantitative", "title": panel.load_title(numbers.load_factor)},
        {"field": "value", "type": "quantitative", "title": numbers.title, "format": ",.3~r"},
        {"field": "outcome", "type": "nominal", "title": "outcome"},
        {"field": "why", "type": "nominal", "title": "why"},
    ]


def _band(numbers: Numbers, axis: dict[str, Any]) -> list[dict[str, Any]]:
    value, low, high = (numbers.found.get(key) for key in ("value", "low", "high"))
    layers: list[dict[str, Any]] = []
    if low is not None and high is not None:
        layers.append(
            {
                "data": {"values": [{"load": low, "end": high}]},
                "mark": {"type": "rect", "color": _BAND, "opacity": 0.9},
                "encoding": {"x": axis, "x2": {"field": "end"}},
            }
        )
    if value is not None:
        layers.append(
            {
                "data": {"values": [{"load": value}]},
                "mark": {"type": "rule", "color": theme.COLOURS[2], "strokeWidth": 2},
                "encoding": {"x": axis},
            }
        )
    return layers


def _line(numbers: Numbers) -> list[dict[str, Any]]:
    if numbers.limit is None:
        return []
    return [
        {
            "data": {"values": [{"value": numbers.limit}]},
            "mark": {"type": "rule", "color": theme.INK, "strokeDash": [6, 3]},
            "encoding": {"y": panel.value_axis(numbers.title)},
        }
    ]


def description(numbers: Numbers) -> str:
    """The picture in words."""
    failed = sum(row["outcome"] == FAILED for row in numbers.rows)
    loads = [row["load"] for row in numbers.rows]
    if not loads:
        return "No plateau has a value."
    what = panel.load_title(numbers.load_factor)
    text = (
        f"{numbers.title} of {len(loads)} plateaus from {people.plain(min(loads))} to {people.plain(max(loads))} "
        f"{what}, of which {failed} failed"
    )
    value = numbers.found.get("value")
    return f"{text}; the limit is at {people.number(value, 4)}." if value is not None else f"{text}."


def figure(results: Results, run: RunResult) -> Figure | None:
    """The figure of one run, or None where it made no plateau."""
    numbers = compute(results, run)
    if numbers is None or not numbers.rows:
        return None
    note = "The green line is the limit, the band its interval. "
    if numbers.objective:
        note += f"The dashed line is the objective, {numbers.objective}."
    return Figure(
        name=f"limit-{numbers.run}".lower(),
        title=f"Plateaus of {numbers.run}",
        description=description(numbers),
        note=note,
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Plateau"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column(numbers.title, numeric=True),
        Column("Outcome"),
    )
    rows = tuple(
        (str(row["order"]), people.plain(row["load"]), people.number(row["value"]), row["outcome"])
        for row in numbers.rows
    )
    return Table("What was seen at each plateau", columns, rows)
