"""Builds the figure of a search for the load limit: the value of an objective at each plateau (period of constant
load).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.analysis import FoundLimit
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel
from towtank.report.source import Json, Results, RunResult

PASSED, FAILED, SILENT = "passed", "failed", "failed without a response"
_FAILED_COLOUR, _PASSED_COLOUR, _BAND = theme.COLOURS[1], theme.COLOURS[0], "#d8ecdf"


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: plateaus, title with unit, limit of the objective, and load limit.

    The plateaus of an invalid run, which has no load limit, are drawn as crosses.
    """

    run: str
    rows: list[dict[str, Any]]
    title: str
    objective: str
    limit: float | None
    found: FoundLimit | None
    load_factor: str
    is_invalid: bool = False


def compute(results: Results, run: RunResult) -> Numbers | None:
    """Collect the plateaus of a run; None if the run has no plateau."""
    found, is_invalid = run.summary.get("limit") or {}, run.verdict not in ("valid", "suspect")
    plateaus = list(found.get("plateaus") or ())
    if not plateaus:
        return None
    binding = found.get("binding")
    title, seen, limit = _quantity(plateaus, binding)
    rows = [
        {
            "load": float(plateau["level"]),
            "value": value,
            "outcome": PASSED if plateau["passed"] else FAILED if value is not None else SILENT,
            "order": number,
            "why": dig(plateau, "failure", "text") or "",
        }
        for number, (plateau, value) in enumerate(zip(plateaus, seen, strict=True), start=1)
        if value is not None or _is_silent(plateau)
    ]
    objective = str(binding["text"]) if binding else ""
    shown = None if is_invalid else FoundLimit.model_validate(found)
    return Numbers(run.run_id, rows, title, objective, limit, shown, results.load_factor, is_invalid)


def _is_silent(plateau: Json) -> bool:
    """Return True if a plateau without a measured value failed although its objective has a limit: requests were in
    flight for longer than this limit, and none ended.
    """
    return not plateau["passed"] and "objective" in plateau and dig(plateau, "objective", "limit") is not None


def _quantity(plateaus: list[Json], binding: Json | None) -> tuple[str, list[float | None], float | None]:
    """Return title, value at each plateau, and limit of the objective that determined the load limit.

    Without such an objective, return title and values of the throughput, and None as limit.
    """
    if not binding:
        return "throughput [1/s]", [dig(plateau, "throughput_per_s", "value") for plateau in plateaus], None
    texts = [plateau.get("objective") or {} for plateau in plateaus]
    values = [content.get("seen") if content.get("text") == binding["text"] else None for content in texts]
    metric = str(binding.get("metric", ""))
    factor, unit = 1.0, "1/s"
    if metric == "errors":
        factor, unit = 100.0, "%"
    elif metric != "throughput":
        factor, unit = people.seconds_unit(max((value for value in values if value is not None), default=1.0))
    scaled = [None if value is None else factor * float(value) for value in values]
    return f"{binding['text'].partition('<')[0].partition('>')[0].strip()} [{unit}]", scaled, factor * binding["limit"]


def draw(numbers: Numbers) -> dict[str, object]:
    """Draw a mark for each plateau, the interval of the load limit as a band, and the limit of the objective as a
    line.
    """
    axis = panel.load_axis(numbers.load_factor, [row["load"] for row in numbers.rows])
    place = {"x": axis, "y": panel.value_axis(numbers.title)}
    outcome = {
        "field": "outcome",
        "type": "nominal",
        "title": None,
        "scale": {"domain": [PASSED, FAILED], "range": [_PASSED_COLOUR, _FAILED_COLOUR]},
    }
    shape = {**outcome, "scale": {"domain": [PASSED, FAILED], "range": ["circle", "cross"]}}
    seen = [row for row in numbers.rows if row["value"] is not None]
    silent = [row for row in numbers.rows if row["value"] is None]
    marks: dict[str, Any] = {
        "data": {"values": seen},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 0.85},
        "encoding": {**place, "color": outcome, "shape": shape, "tooltip": _tooltip(numbers)},
    }
    if numbers.is_invalid:
        marks["mark"] = {"type": "text", "text": "✕", "fontSize": 14, "fontWeight": "bold", "color": _PASSED_COLOUR}
        marks["encoding"] = {**place, "tooltip": _tooltip(numbers)}
    # At a plateau without a response, the value is unknown but larger than all others, so its mark is at the top edge.
    above: dict[str, Any] = {
        "data": {"values": silent},
        "mark": {"type": "text", "text": "▲", "dy": 8, "fontSize": 13, "color": _FAILED_COLOUR},
        "encoding": {"x": axis, "y": {"value": 0}, "tooltip": _tooltip(numbers)},
    }
    layers = [*_band(numbers, axis), *_line(numbers), marks, *([above] if silent else [])]
    return theme.specification(description(numbers), layer=layers, width=590, height=280)


def _tooltip(numbers: Numbers) -> list[dict[str, Any]]:
    return [
        {"field": "order", "type": "quantitative", "title": "plateau", "format": theme.EXACT},
        {
            "field": "load",
            "type": "quantitative",
            "title": panel.load_title(numbers.load_factor),
            "format": theme.EXACT,
        },
        {"field": "value", "type": "quantitative", "title": numbers.title, "format": theme.MEASURED},
        {"field": "outcome", "type": "nominal", "title": "outcome"},
        {"field": "why", "type": "nominal", "title": "why"},
    ]


def _band(numbers: Numbers, axis: dict[str, Any]) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = []
    found = numbers.found
    if found is None:
        return layers
    if found.low is not None and found.high is not None and not found.is_lower_bound:
        layers.append(
            {
                "data": {"values": [{"load": found.low, "end": found.high}]},
                "mark": {"type": "rect", "color": _BAND, "opacity": 0.9},
                "encoding": {"x": axis, "x2": {"field": "end"}},
            }
        )
    if found.value is not None:
        layers.append(
            {
                "data": {"values": [{"load": found.value}]},
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
    """Return a description of the figure of a search for the load limit, for readers who cannot see the figure."""
    failed = sum(row["outcome"] != PASSED for row in numbers.rows)
    loads = [row["load"] for row in numbers.rows]
    if not loads:
        return "No plateau has a value."
    what = panel.load_title(numbers.load_factor)
    text = (
        f"{numbers.title} of {len(loads)} plateaus from {people.plain(min(loads))} to {people.plain(max(loads))} "
        f"{what}, of which {failed} failed"
    )
    found = numbers.found
    return f"{text}; the limit is {found.in_words}." if found is not None and found.value is not None else f"{text}."


def figure(results: Results, run: RunResult) -> Figure | None:
    """Return the figure of the plateaus of a run; None if the run has no plateau with a value."""
    numbers = compute(results, run)
    if numbers is None or not numbers.rows:
        return None
    note = (
        "Crosses are plateaus of an invalid run, on which no result depends. "
        if numbers.found is None
        else f"The green line is the limit, the band its {_band_is(numbers.found)}. "
    )
    if any(row["outcome"] == SILENT for row in numbers.rows):
        note += "Triangles at the top are plateaus at which no request ended within the limit. "
    if numbers.objective:
        note += f"The dashed line is the objective, {numbers.objective}. "
    if run.verdict == "suspect":
        note += "The run is suspect; see the section on limits of the conclusions."
    return Figure(
        name=f"limit-{numbers.run}".lower(),
        title=f"Plateaus of {numbers.run}",
        description=description(numbers),
        note=note.rstrip(),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _band_is(found: FoundLimit) -> str:
    return "interval" if found.confidence else "bracket, which has no confidence level"


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Plateau"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column(numbers.title, numeric=True),
        Column("Outcome"),
    )
    rows = tuple(
        (str(row["order"]), people.plain(row["load"]), _value_text(row["value"]), row["outcome"])
        for row in numbers.rows
    )
    return Table("Measured value at each plateau", columns, rows)


def _value_text(value: float | None) -> str:
    return people.ABSENT if value is None else people.number(value)
