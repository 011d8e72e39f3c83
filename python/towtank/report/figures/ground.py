"""Builds the background of figures over time: load stages, the measurement window, and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from towtank.analysis import EventResult
from towtank.report import theme, vega
from towtank.report.runs_over_time import Stage
from towtank.report.vega import Channel, Encoding, Layer, Mark, nominal, quantitative

WIDTH = 590
"""Width of figures over time. [px]"""


@dataclass(frozen=True)
class Ground:
    """Stages and events of one run, its measurement window since the start of the run [s] (None if no window was
    analysed), and the end of the time axis [s].
    """

    stages: Sequence[Stage]
    window: tuple[float, float] | None
    events: list[EventResult]
    end_s: float


def layers(ground: Ground, x: Channel, *, names: bool) -> list[Layer]:
    """Return the chart layers of the background; with `names`, also the names of stages and events."""
    stages = [
        {
            "t": stage.start_s,
            "end": stage.end_s,
            "name": _shown(stage.name),
            "colour": theme.PHASES.get(str(stage.phase), "#ffffff"),
        }
        for stage in ground.stages
    ]
    place: Encoding = {"x": x, "x2": {"field": "end"}, "color": nominal("colour", scale=None)}
    drawn = [vega.layer("rect", place, rows=stages)]
    if ground.window:
        edges = [{"t": edge} for edge in ground.window]
        drawn.append(vega.layer("rule", {"x": x}, rows=edges, strokeDash=[4, 3], color=theme.INK))
    drawn += _events(ground, x, names=names)
    if names:
        drawn.append(_names(ground, x))
    return drawn


def _shown(name: str) -> str:
    return name.replace("_", "-")


def _events(ground: Ground, x: Channel, *, names: bool) -> list[Layer]:
    """Return chart layers of events: a line at the beginning, a coloured background and, with `names`, the name."""
    spans = [
        {
            "t": event.begin_s,
            "end": event.until_s or event.begin_s,
            "name": f"{event.do} {event.on}",
            "row": 4 + 13 * number,
        }
        for number, event in enumerate(ground.events)
    ]
    if not spans:
        return []
    layers = [
        vega.layer("rect", {"x": x, "x2": {"field": "end"}}, rows=spans, color=theme.EVENT, opacity=0.22),
        vega.layer("rule", {"x": x}, rows=spans, color=theme.EVENT, strokeWidth=1.6),
    ]
    if names:
        label = Mark(type="text", align="left", baseline="top", dx=4, fontSize=11, color=theme.INK)
        place = Encoding(x=x, y=quantitative("row", scale=None), text=nominal("name"))
        layers.append(vega.layer(label, place, rows=spans))
    return layers


def _names(ground: Ground, x: Channel) -> Layer:
    """Return a chart layer with the names of the stages that are wide enough for their names."""
    fitting = [
        {"t": (stage.start_s + stage.end_s) / 2, "name": _shown(stage.name)}
        for stage in ground.stages
        if stage.start_s is not None
        and stage.end_s is not None
        and (stage.end_s - stage.start_s) / ground.end_s * WIDTH > 6.2 * len(stage.name)
    ]
    place = Encoding(x=x, y={"value": 0}, text=nominal("name"))
    return vega.layer("text", place, rows=fitting, baseline="bottom", dy=-3, fontSize=11, color=theme.INK)


def note(ground: Ground) -> str:
    """Explain the background of a figure over time."""
    window = "Dashed lines limit the analysed window." if ground.window else "No window of this run was analysed."
    events = " An orange background shows an event, with a line at its beginning." if ground.events else ""
    return f"The background shows the stages.{events} {window}"
