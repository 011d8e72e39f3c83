"""CPU by tier, stacked, with the parts of a tier that could be told apart, over load and by configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Json, Results, dig, label_of

NAME = "cpu-by-tier"


@dataclass(frozen=True)
class Slice:
    """CPUs used by one tier, or by one part of it, at one point.

    Attributes
    ----------
    configuration : str
        Label of the configuration.
    load : float
        Users, or rate [1/s].
    part : str
        `content`, or, where parts are known, `content: database` and `content: rest`.
    cpus : float
        CPU time per time. [CPUs]
    interval : dict or None
        The estimate, with its interval; None for a rest, which is a difference.
    state : str
        Verdict of the point.
    """

    configuration: str
    load: float
    part: str
    cpus: float
    interval: Mapping[str, Any] | None
    state: str


@dataclass(frozen=True)
class Numbers:
    """What is drawn: slices, CPUs that the system may use (None where unknown), load, and points left out."""

    slices: list[Slice]
    capacity: int | None
    load_factor: str
    dropped: list[str]
    loads: list[float]

    @property
    def is_at_one_load(self) -> bool:
        """Whether several configurations were compared at one load."""
        return len(self.loads) == 1 and len({one.configuration for one in self.slices}) > 1


def compute(results: Results) -> Numbers:
    """Split the CPU of every tier at every point into its known parts and the rest."""
    slices: list[Slice] = []
    dropped: list[str] = []
    loads: set[float] = set()
    for configuration in results.configurations:
        for point in configuration.get("points") or ():
            loads.add(float(point.get("users") or 0))
            if series.point_state(point) == "invalid":
                dropped.append(f"{label_of(configuration)} at {people.plain(point.get('users'))}")
                continue
            for name, tier in (point.get("tiers") or {}).items():
                slices += _tier(label_of(configuration), point, str(name), tier)
    return Numbers(slices, capacity(results), results.load_factor, dropped, sorted(loads))


def _tier(label: str, point: Json, name: str, tier: Json) -> Iterator[Slice]:
    total = dig(tier, "cpus_used", "value")
    if not isinstance(total, (int, float)):
        return
    load, state = float(point.get("users") or 0), series.point_state(point)
    rest = float(total)
    for part, estimates in (tier.get("parts") or {}).items():
        used = dig(estimates, "cpus_used", "value")
        if isinstance(used, (int, float)):
            rest -= used
            yield Slice(label, load, f"{name}: {part}", float(used), estimates["cpus_used"], state)
    if rest == total:
        yield Slice(label, load, name, rest, tier["cpus_used"], state)
    else:
        # Parts are sampled by another clock than the tier; a part a little above its tier leaves no
        # rest, not a negative one.
        yield Slice(label, load, f"{name}: rest", max(rest, 0.0), None, state)


def capacity(results: Results) -> int | None:
    """CPUs that the system may use: those it is pinned to in every run; None where runs differ."""
    pinned = {len(set(dig(run.manifest, "pinning", "system") or ())) for run in results.measured}
    return pinned.pop() if len(pinned) == 1 and pinned != {0} else None


def colours(parts: list[str]) -> list[str]:
    """One hue per tier; the parts of a tier are shades of it."""
    tiers = list(dict.fromkeys(part.split(": ")[0] for part in parts))
    hues = dict(zip(tiers, theme.cycle(theme.COLOURS, len(tiers)), strict=True))
    seen: dict[str, int] = {}
    chosen = []
    for part in parts:
        tier = part.split(": ")[0]
        chosen.append(_lighter(hues[tier], 0.45 * seen.get(tier, 0)))
        seen[tier] = seen.get(tier, 0) + 1
    return chosen


def _lighter(colour: str, amount: float) -> str:
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(channel + (255 - channel) * min(amount, 0.8)):02x}" for channel in channels)


def draw(numbers: Numbers) -> dict[str, object]:
    """Draw stacked bars, one panel for each configuration, all on one scale."""
    labels = list(dict.fromkeys(one.configuration for one in numbers.slices))
    parts = list(dict.fromkeys(one.part for one in numbers.slices))
    values = [
        {
            "configuration": one.configuration,
            "load": one.load,
            "part": one.part,
            "order": parts.index(one.part),
            "cpus": one.cpus,
            "state": one.state,
            "capacity": numbers.capacity,
        }
        for one in numbers.slices
    ]
    is_row = numbers.is_at_one_load
    layers = [_bars(numbers, parts, labels)]
    if numbers.capacity:
        layers += _capacity(numbers.capacity, across="x" if is_row else "y")
    picture = {"width": 520, "height": {"step": 24}, "layer": layers}
    return theme.specification(
        description(numbers),
        data={"values": values},
        **(picture if is_row else panel.each_configuration(labels, layers)),
    )


def _bars(numbers: Numbers, parts: list[str], labels: list[str]) -> dict[str, Any]:
    """Bars over load; where there is one load only, rows of configurations."""
    loads = {
        "field": "load",
        "type": "ordinal",
        "title": panel.load_title(numbers.load_factor),
        "axis": {"labelAngle": 0, "grid": False},
        "scale": {"domain": numbers.loads, "paddingInner": 0.35, "paddingOuter": 0.25},
    }
    cpus = {"field": "cpus", "type": "quantitative", "title": "CPUs used", "stack": "zero"}
    is_row = numbers.is_at_one_load
    return {
        "mark": {"type": "bar", "maxBandSize": 16 if is_row else 70, "stroke": theme.INK, "strokeWidth": 0.6},
        "encoding": {
            "x": cpus if is_row else loads,
            "y": panel.configuration_axis(labels) if is_row else cpus,
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": parts, "range": colours(parts)},
                "legend": {"title": None, "symbolType": "square", "columns": 4},
            },
            "order": {"field": "order", "type": "quantitative"},
            "fillOpacity": {"condition": {"test": "datum.state === 'suspect'", "value": 0.35}, "value": 1},
            "tooltip": [
                {"field": "part", "type": "nominal", "title": "tier"},
                {"field": "load", "type": "quantitative", "title": panel.load_title(numbers.load_factor)},
                {"field": "cpus", "type": "quantitative", "title": "CPUs used", "format": ".3~r"},
                {"field": "state", "type": "nominal", "title": "verdict"},
            ],
        },
    }


def _capacity(cpus: int, across: str) -> list[dict[str, Any]]:
    """A line at the CPUs there are, across one axis; taken from the data so that it stands in every panel."""
    at = {"field": "capacity", "type": "quantitative", "aggregate": "max"}
    words = f"{people.plural(cpus, 'CPU')} of the system"
    text = {"type": "text", "text": words, "dy": -7, "color": theme.MUTED}
    placed = {"y": {**text, "align": "left", "dx": 4}, "x": {**text, "align": "right", "baseline": "bottom", "dy": -2}}
    beside = "x" if across == "y" else "y"
    return [
        {
            "mark": {"type": "rule", "strokeDash": [5, 3], "color": theme.MUTED, "strokeWidth": 1.5},
            "encoding": {across: at},
        },
        {"mark": placed[across], "encoding": {beside: {"value": 0}, across: at}},
    ]


def description(numbers: Numbers) -> str:
    """The picture in words."""
    top = max((one.load for one in numbers.slices), default=0.0)
    parts = [
        f"{one.configuration}, {one.part}: {people.plain_estimate(one.interval or {'value': one.cpus}, 'CPUs')}"
        for one in numbers.slices
        if one.load == top
    ]
    return (
        f"Stacked bars of CPUs used by tier. At {people.plain(top)} {panel.load_title(numbers.load_factor)}: "
        + "; ".join(parts)
        + "."
    )


def figure(results: Results) -> Figure | None:
    """The figure, or None where no tier was observed."""
    numbers = compute(results)
    if not numbers.slices:
        return None
    notes = ["Mean CPU time per time in the steady window."]
    if any(one.state == "suspect" for one in numbers.slices):
        notes.append("Pale bars lean on a suspect run.")
    if numbers.dropped:
        notes.append(f"No bar, because no run counts: {people.listing(numbers.dropped)}.")
    hows = sorted(_methods(results))
    notes += [f"{part}: {how}." for part, how in hows]
    return Figure(
        name=NAME,
        title=f"CPU by tier {_against(numbers)}",
        description=description(numbers),
        note=" ".join(notes),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _against(numbers: Numbers) -> str:
    title = panel.load_title(numbers.load_factor)
    if numbers.is_at_one_load:
        return f"and configuration, at {people.plain(numbers.loads[0])} {title}"
    return f"against {title}"


def _methods(results: Results) -> set[tuple[str, str]]:
    """How the parts of a tier were told apart."""
    return {
        (f"The part {part} of {tier}", str(one["how"]).rstrip("."))
        for run in results.measured
        for tier, figures in (run.summary.get("tiers") or {}).items()
        for part, one in (figures.get("parts") or {}).items()
        if one.get("how")
    }


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Configuration"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column("Tier or part"),
        Column("CPUs used", numeric=True),
        Column("Verdict"),
    )
    rows = tuple(
        (
            one.configuration,
            people.plain(one.load),
            one.part,
            people.plain_estimate(one.interval or {"value": one.cpus}, "CPUs"),
            one.state,
        )
        for one in numbers.slices
    )
    return Table("CPUs used by tier", columns, rows)
