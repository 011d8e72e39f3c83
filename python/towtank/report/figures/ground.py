"""Builds the background of figures over time: load stages, the measurement window, and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.report import theme
from towtank.report.source import Json

WIDTH = 590
"""Width of figures over time. [px]"""


@dataclass(frozen=True)
class Ground:
    """Stages, window and events of one run.

    Attributes
    ----------
    stages : list of dict
        Stages of the load with `name`, `phase`, `start_s` and `end_s`.
    window : (float, float) or None
        Start and end of the measurement window since the start of the run; None if no window was analysed. [s]
    events : list of dict
        Events that the study caused.
    end_s : float
        End of the time axis. [s]
    """

    stages: list[Json]
    window: tuple[float, float] | None
    events: list[Json]
    end_s: float


def layers(ground: Ground, x: dict[str, Any], *, names: bool) -> list[dict[str, Any]]:
    """Return the chart layers of the background; with `names`, also the names of stages and events."""
    stages = [
        {
            "t": stage.get("start_s"),
            "end": stage.get("end_s"),
            "name": str(stage.get("name", "")).replace("_", "-"),
            "colour": theme.PHASES.get(str(stage.get("phase")), "#ffffff"),
        }
        for stage in ground.stages
    ]
    place = {"x": x, "x2": {"field": "end"}}
    drawn: list[dict[str, Any]] = [
        {
            "data": {"values": stages},
            "mark": {"type": "rect"},
            "encoding": {**place, "color": {"field": "colour", "type": "nominal", "scale": None}},
        }
    ]
    if ground.window:
        edges = [{"t": edge} for edge in ground.window]
        rule = {"type": "rule", "strokeDash": [4, 3], "color": theme.INK}
        drawn.append({"data": {"values": edges}, "mark": rule, "encoding": {"x": x}})
    drawn += _events(ground, x, names=names)
    if names:
        drawn.append(_names(stages, x, ground.end_s))
    return drawn


def _events(ground: Ground, x: dict[str, Any], *, names: bool) -> list[dict[str, Any]]:
    """Return chart layers of events: a line at the beginning, a coloured background and, with `names`, the name."""
    spans = [
        {
            "t": event["begin_s"],
            "end": event["until_s"] or event["begin_s"],
            "name": f"{event['do']} {event['on']}",
            "row": 4 + 13 * number,
        }
        for number, event in enumerate(ground.events)
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
    """Return a chart layer with the names of the stages that are wide enough for their names."""
    fitting = [
        {"t": (stage["t"] + stage["end"]) / 2, "name": stage["name"]}
        for stage in stages
        if stage["t"] is not None
        and stage["end"] is not None
        and (stage["end"] - stage["t"]) / end * WIDTH > 6.2 * len(stage["name"])
    ]
    return {
        "data": {"values": fitting},
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": theme.INK},
        "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "name", "type": "nominal"}},
    }


def note(ground: Ground) -> str:
    """Explain the background of a figure over time."""
    window = "Dashed lines limit the analysed window." if ground.window else "No window of this run was analysed."
    events = " An orange background shows an event, with a line at its beginning." if ground.events else ""
    return f"The background shows the stages.{events} {window}"
